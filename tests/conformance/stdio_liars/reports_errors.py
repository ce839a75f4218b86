"""Admits that it failed."""

from honest import run

run(send=lambda command: {"error": "disk full", "context": {"id": command["id"]}})
