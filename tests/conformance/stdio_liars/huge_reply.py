"""Writes a whole reply, well-formed but for its size."""

from honest import answer, run

run(send=lambda command: {"answers": [answer(command["id"], padding="x" * (16 * 1024 * 1024))]})
