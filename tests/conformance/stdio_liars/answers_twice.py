"""Answers a request twice."""

from honest import answer, run

run(send=lambda command: {"answers": [answer(command["id"]), answer(command["id"])]})
