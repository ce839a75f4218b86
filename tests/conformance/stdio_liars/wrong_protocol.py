"""Speaks the next protocol."""

from honest import HELLO, run

run(hello=lambda _: {**HELLO, "protocol": 2})
