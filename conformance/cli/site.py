"""`site`: write certificates of many targets as a static site."""

from __future__ import annotations

from pathlib import Path

import click

from fencepost.conformance.cli.options.common_options import report_option
from fencepost.conformance.site.site import INDEX, counted, write_site
from fencepost.model.history.words import plural


@click.command("site")
@click.argument(
    "certificates",
    nargs=-1,
    required=True,
    metavar="CERTIFICATE...",
    type=click.Path(exists=True, path_type=Path),
)
@report_option("Write the site there; open its index.html.", required=True)
def site_command(*, certificates: tuple[Path, ...], report: Path) -> None:
    """Write certificates of many targets as a static site.

    CERTIFICATE is a file, a folder that `certify --report` wrote, with its traces, or a folder of
    certificates.  The site has a heat map, the history of each rule over versions, a page for any
    two targets, and badges.  It needs no server and no scripts.
    """
    results = write_site(certificates, report)
    click.echo(f"{plural(len(results), 'certificate')}: {counted(results)}")
    click.echo(f"Read {report / INDEX}")
