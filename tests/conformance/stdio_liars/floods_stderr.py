"""Is honest, and logs more than any pipe holds before each reply."""

import sys

from honest import HELLO, Json, answer, run


def flood() -> None:
    sys.stderr.write("a line of a log\n" * 200_000)
    sys.stderr.flush()


def hello(_: Json) -> Json:
    flood()
    return HELLO


def send(command: Json) -> Json:
    flood()
    return {"answers": [answer(command["id"])]}


run(hello=hello, send=send)
