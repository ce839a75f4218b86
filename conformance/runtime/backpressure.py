"""How fast new plans may begin, so that what is late is the target.

Decides when this process keeps up: when its event loop wakes as soon as it asked for.  One that has
more to do than it can would call its own lateness the target's.
"""

from __future__ import annotations

import asyncio
import time

_BREATH_S = 0.001
_LATE_S = 0.05
"""Where this process is as late as that, nothing more is begun for a while."""


async def kept_up() -> None:
    """Until this process keeps up with what it has begun."""
    while True:
        due = time.monotonic() + _BREATH_S
        await asyncio.sleep(_BREATH_S)
        late = time.monotonic() - due
        if late <= _LATE_S:
            return
        await asyncio.sleep(late)
