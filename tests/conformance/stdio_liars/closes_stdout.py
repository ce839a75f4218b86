"""Closes its stdout and lives on."""

import os
import signal

from honest import Json, run


def send(_: Json) -> None:
    os.close(1)
    signal.pause()


run(send=send)
