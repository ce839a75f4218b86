"""Forgets what time it was."""

from honest import answer, run

run(send=lambda command: {"answers": [answer(command["id"], 0)]})
