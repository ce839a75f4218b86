"""A tag must name the version of the project, `v1.2.3`; without a tag there is nothing to hold."""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main(tag: str) -> str | None:
    """Return what is wrong."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    if tag in {"", f"v{version}"}:
        return None
    return f"The tag is {tag}, but pyproject.toml says {version}: correct one of them."


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2] or [""]))
