"""Writes two lines for one command, in one go."""

from honest import answer, run, say


def send(command: dict[str, str]) -> None:
    say({"answers": []}, {"answers": [answer(command["id"])]})


run(send=send)
