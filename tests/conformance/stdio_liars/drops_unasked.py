"""Drops a request that nobody sent."""

from honest import run

run(disconnect=lambda _: {"answers": [], "dropped": ["r99"]})
