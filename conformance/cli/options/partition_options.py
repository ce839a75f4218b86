"""`--partitions`: of one topic, or of several."""

from __future__ import annotations

import click


def _counts(
    _context: click.Context, _option: click.Parameter, given: str | None
) -> tuple[int, ...] | None:
    if given is None:
        return None
    try:
        return tuple(int(part) for part in given.split(","))
    except ValueError:
        raise click.BadParameter(
            f"{given!r} is no number of partitions; give one, or of several topics as 48,12"
        ) from None


partitions_option = click.option(
    "--partitions",
    callback=_counts,
    metavar="P[,P...]",
    help="So many partitions, of one topic or of each of several.",
)
