"""A hook of MkDocs: shows mkdocstrings the packages as `fencepost.*`, without an installation.

The folders of the checkout are installed as `fencepost.model` and so on, and most have no
`__init__.py`, without which mkdocstrings doesn't look into a folder.  The hook makes a temporary
folder that has both: links to the modules, and an empty `__init__.py` where there is none.
"""

import tempfile
from pathlib import Path
from typing import Any

from mkdocs.plugins import event_priority

FLOORS = ("model", "properties", "traces", "conformance")


@event_priority(100)  # before mkdocstrings reads its configuration
def on_config(config: Any) -> None:
    """Name the folder to mkdocstrings' handler for Python."""
    root = Path(config.config_file_path).parent
    folder = tempfile.TemporaryDirectory(prefix="fencepost-api-")
    package = Path(folder.name, "fencepost")
    for floor in FLOORS:
        for module in (root / floor).rglob("*.py"):
            link = package / module.relative_to(root)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(module)
    for inner in (package, *package.rglob("*/")):
        if not (inner / "__init__.py").exists():
            (inner / "__init__.py").touch()
    config.plugins["mkdocstrings"].config.handlers["python"]["paths"] = [folder.name]
    config.extra["api_folder"] = folder


def on_post_build(config: Any) -> None:
    """Delete the folder."""
    config.extra.pop("api_folder").cleanup()
