"""An administrator's client of a broker, with the product's deadlines."""

from __future__ import annotations

from fencepost.conformance.targets.tcp.cluster_admin import DEADLINES, Admin
from fencepost.conformance.targets.tcp.security import parse_address


async def open_admin(address: str) -> Admin:
    """Open a client of the broker at HOST:PORT.  Raises AdminError."""
    admin = Admin(parse_address(address), remote=False, deadlines=DEADLINES)
    await admin.open()
    return admin
