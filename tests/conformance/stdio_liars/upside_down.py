"""Advertises versions from high to low."""

from honest import HELLO, run

run(hello=lambda _: {**HELLO, "apis": {"Heartbeat": [4, 0]}})
