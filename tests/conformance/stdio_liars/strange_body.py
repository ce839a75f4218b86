"""Answers with a body that its version can't have."""

from honest import answer, run

run(send=lambda command: {"answers": [answer(command["id"], memberId="m")]})
