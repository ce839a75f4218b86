"""Starts a child that holds its stdout, and won't go when asked; tells both process ids."""

import signal
import subprocess
import sys

from honest import HELLO, run

STAYS = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", file=__import__("sys").stderr, flush=True)
signal.pause()
"""
child = subprocess.Popen([sys.executable, "-c", STAYS], stderr=subprocess.PIPE)
assert child.stderr is not None
child.stderr.readline()
if "stubborn" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    lies = {"bye": lambda _: signal.pause()}
else:
    lies = {}
run(hello=lambda _: {**HELLO, "version": str(child.pid)}, **lies)
