"""Bounds of the real model that are named, since figures are only worth something with them.

Decides which worlds stand for "small", for figures in a few seconds, and for "large": more than a
million worlds, visited one and all.
"""

from __future__ import annotations

from fencepost.properties.worlds.scope import Scope

QUICK = Scope(clients=2, dynamic=1, members=2)
"""A static and a dynamic member, with all that is done by default."""
MEDIUM = Scope(clients=3, dynamic=1, members=2)
"""Two processes of one instance and a dynamic one, any two of them in the group."""
MILLION = Scope(
    clients=4,
    instances=2,
    dynamic=1,
    members=2,
    acts=("join", "sync", "heartbeat", "restart", "tick"),
)
"""Two processes of one instance, one of another and a dynamic one; any two are in the group."""
MILLION_STATES = 2_154_427
"""Distinct worlds of kafka-4."""

BOUNDS: dict[str, Scope] = {
    "quick": QUICK,
    "medium": MEDIUM,
    "million": MILLION,
}
