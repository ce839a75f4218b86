"""Writes a line that never ends."""

import sys

from honest import Json, run


def send(_: Json) -> None:
    while True:
        sys.stdout.write("x" * 1_000_000)


run(send=send)
