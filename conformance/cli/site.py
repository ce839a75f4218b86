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

    CERTIFICATE is a certificate.json, a folder that `certify --report` wrote, whose traces the site
    then has, or a folder of certificates.  Certificates of `certify-client` can be among them.  Two
    certificates of one target and one protocol must be of different versions.

    The site needs no server.  Scripts add only a search and a theme.

    \b
    Pages:
      index.html    a heat map: areas of rules by targets
      clients.html  requirements by client libraries
      rules.html    each rule, its cases on each target, and its failures
      history.html  in which tested version each failure came and went
      compare.html  any two targets, case by case
      badges/       for each target an SVG, and JSON for shields.io
      consumer/     the same for the consumer protocol, if there are
                    certificates of both; each page has a switch

    A cell has the number of passes, of the cases that could be decided.  Amber: known failures, at
    MUST.  Red: new failures.  A badge is green if the target holds and all cases ran, olive if some
    cases did not, amber if known failures break a MUST rule, and red if a rule is violated.
    """  # noqa: D301  (click reads the mark)
    results = write_site(certificates, report)
    click.echo(f"{plural(len(results), 'certificate')}: {counted(results)}")
    click.echo(f"Read {report / INDEX}")
