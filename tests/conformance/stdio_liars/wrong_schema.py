"""Answers with an object where a list belongs."""

from honest import answer, run

run(send=lambda command: {"answers": answer(command["id"])})
