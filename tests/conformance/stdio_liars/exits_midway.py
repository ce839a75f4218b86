"""Dies of a bug in its first request."""

from honest import run

run(send=lambda command: command["no such key"])
