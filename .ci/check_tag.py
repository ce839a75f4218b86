"""Check that a tag names the version of the project, `v1.2.3`, and that the changelog has it.

Without a tag there is nothing to check.
"""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main(tag: str, root: Path = ROOT) -> str | None:
    """Return what is wrong."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    version = project["project"]["version"]
    if not tag:
        return None
    if tag != f"v{version}":
        return f"The tag is {tag}, but pyproject.toml says {version}: correct one of them."
    changelog = (root / "CHANGELOG.md").read_text("utf-8")
    if not any(line.startswith(f"## {version},") for line in changelog.splitlines()):
        return (
            f"CHANGELOG.md has no section for {version}: run"
            f" tox -e changes -- --version {version}, and commit what it writes."
        )
    folder = root / project["tool"]["towncrier"]["directory"]
    left = sorted(path.name for path in folder.iterdir() if path.name != "README.md")
    if left:
        return f"{folder.name}/ still has {left[0]}: a release takes all fragments."
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2] or [""]))
