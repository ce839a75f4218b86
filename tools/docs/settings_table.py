"""Make the table of the names of settings in `docs/operators/symptoms.md`.

`python -m tools.docs.settings_table docs/operators/symptoms.md` writes it between its two marks:
each client library, and its names of the timeouts and of the instance id.
"""

from __future__ import annotations

import sys
from pathlib import Path

from fencepost.traces.operations.client_libraries import LIBRARIES
from tools.docs.marked_part import with_part

BEGIN = "<!-- Made by `python -m tools.docs.settings_table docs/operators/symptoms.md`. -->"
END = "<!-- The end of what is made. -->"
_HEAD = """\
| library | session timeout | heartbeat interval | rebalance timeout | instance id |
|---|---|---|---|---|"""


def page(text: str) -> str:
    """Return the page with the table as it is now.  Raises ValueError without the marks."""
    rows = (
        f"| {each.name} | `{each.session_name}` | `{each.heartbeat_name}` | `{each.rebalance}` | "
        f"{f'`{each.instance}`' if each.has_static else 'no static members'} |"
        for each in LIBRARIES
    )
    return with_part(text, BEGIN, END, "\n".join((_HEAD, *rows)), "the page of symptoms")


def main() -> None:
    """Write the table into the page named by the argument."""
    path = Path(sys.argv[1])
    path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
