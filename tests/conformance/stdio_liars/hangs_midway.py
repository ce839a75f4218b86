"""Never answers a request."""

from honest import run

run(send=lambda _: None)
