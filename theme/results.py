"""A hook of MkDocs: the results site, made of `docs/certificates/`, beside the documentation."""

from pathlib import Path
from typing import Any

FOLDER = "results"
"""Folder of the results in the site; docs/brokers/certify.md links to it."""


def on_post_build(config: Any) -> None:
    """Write the results site.  Needs fencepost installed, as `tox -e docs` has it."""
    from fencepost.conformance.site.site import write_site  # noqa: PLC0415  (mkdocs loads hooks early)

    kept = Path(config.docs_dir) / "certificates"
    folders = sorted(path for path in kept.iterdir() if path.is_dir())
    write_site([kept, *folders], Path(config.site_dir) / FOLDER)
