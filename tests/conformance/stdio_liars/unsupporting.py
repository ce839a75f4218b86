"""Can't do what is asked."""

from honest import run

run(send=lambda _: {"unsupported": "Heartbeat on Sundays"})
