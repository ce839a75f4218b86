"""Answers a request that nobody sent."""

from honest import answer, run

run(send=lambda _: {"answers": [answer("r99")]})
