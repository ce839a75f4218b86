"""Greets people on stdout."""

from honest import run

print("Welcome to the coordinator!", flush=True)  # noqa: T201 - the lie
run()
