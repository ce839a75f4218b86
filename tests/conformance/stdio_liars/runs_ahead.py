"""Has a virtual clock that moves by itself."""

from honest import answer, run

run(send=lambda command: {"answers": [answer(command["id"], 5000)]})
