"""Say how fencepost is installed with an extra: the one place that changes when a registry has it.

On that day `SOURCE` is the name `fencepost`, `_WHERE` is empty, and `docs/install.md` says so, too.
"""

from __future__ import annotations

SOURCE = "."
"""What pip is given: the checkout in the current folder."""

_WHERE = " in a checkout of fencepost"


def pip_install(extra: str) -> str:
    """The command that installs an extra, and where to run it."""
    return f"pip install '{SOURCE}[{extra}]'{_WHERE}"
