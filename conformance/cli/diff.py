"""Find the shortest sequences whose answers differ in two revisions (`diff`).

Where there is none, it says what was compared, and if the search was complete.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from fencepost.conformance.cli.cli import exit_codes
from fencepost.conformance.cli.options.common_options import (
    RevisionType,
    echo_json,
    json_option,
    report_option,
)
from fencepost.conformance.cli.options.log_options import scope_options
from fencepost.conformance.targets.target_registry import find_revision
from fencepost.model.history.words import at_most, plural
from fencepost.properties.diff.revision_diff import Comparison, compare_revisions
from fencepost.properties.judging.report import EXIT_CODES, Overall
from fencepost.properties.worlds.scope import NamedScope, Scope
from fencepost.properties.worlds.worlds_by_protocol import worlds_of
from fencepost.traces.files.difference_trace import (
    DifferenceStory,
    bounds_words,
    describe_difference,
    difference_traces,
    lost_words,
)
from fencepost.traces.files.text_files import make_folder

_LONGEST_NAME = 22
_IN_FULL = 8
"""Differences that are printed in full."""
_NOT_BEYOND = (
    "(A run ends where the answers first differ: what shows only beyond that is not searched.  "
    "Compare neighbours, such as two releases in turn; or, to compare such a rule alone, derive a "
    "revision that differs in it and in nothing else.)"
)


class _Side(RevisionType):
    """A revision to compare; a certificate is compared by another command."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name of the revision; refuse a JSON file."""
        if value.endswith(".json"):
            self.fail(
                f"{value} is no revision; to compare certificates, run `fencepost certify TARGET "
                "--diff OLD.json` or `fencepost certify-client CLIENT --diff OLD.json`",
                param,
                ctx,
            )
        return super().convert(value, param, ctx)


@click.command("diff", epilog=exit_codes("no difference was found", "the revisions differ"))
@click.argument("first", type=_Side(), metavar="A")
@click.argument("other", type=_Side(), metavar="B")
@scope_options()
@report_option("Write two traces for each difference there.")
@json_option
def diff_command(
    first: str,
    other: str,
    scope: Scope | None,
    max_depth: int | None,
    report: Path | None,
    as_json: bool,
) -> int:
    """Find the shortest runs that two revisions answer differently.

    There is one run for each pair of rules that decide the different answers.  Without options,
    several small scopes are searched; with options, their scope.

    A run ends where the answers first differ, because clients that got different answers do
    different things.  A rule whose difference needs another difference first is listed without a
    run: derive a revision that differs in this rule alone.
    """
    revisions = find_revision(first), find_revision(other)
    if revisions[0].protocol is not revisions[1].protocol:
        names = " and ".join(f"{r.name} of the {r.protocol.name} protocol" for r in revisions)
        raise click.UsageError(f"{names} can't be compared: name two of one protocol")
    bounds = worlds_of(revisions[0]).diff_scopes
    if scope is not None:
        bounds = (NamedScope("given", "as the options say", scope, max_depth),)
    elif max_depth is not None:
        bounds = tuple(replace(named, max_depth=max_depth) for named in bounds)
    comparison = compare_revisions(*revisions, bounds)
    stories = [describe_difference(comparison, difference) for difference in comparison.differences]
    if report is not None:
        _write(comparison, stories, report)
    if as_json:
        echo_json(_json(comparison, stories, bounds))
    else:
        click.echo("\n".join(_text(comparison, stories, bounds)))
    return EXIT_CODES[Overall.HOLDS if comparison.same else Overall.VIOLATED]


def _text(
    comparison: Comparison, stories: list[DifferenceStory], bounds: tuple[NamedScope, ...]
) -> list[str]:
    lines = [_verdict(comparison, len(stories)), "", "Compared:"]
    for bound, explored in zip(bounds, comparison.explored, strict=True):
        extent = "completely" if explored.complete else "as far as that"
        if explored.cut:
            extent += (
                ", but not beyond answers that are left open or that clients remember otherwise"
            )
        lines.append(f"  {bounds_words(bound)}: {explored.pairs:,} pairs, {extent}")
    lines.append("")
    for number, story in enumerate(stories[:_IN_FULL], start=1):
        lines += [f"{number}. {story.title}", *story.lines()]
        lines += [f"     {why}" for why in story.why()]
        lines.append("")
    rest = list(enumerate(stories, start=1))[_IN_FULL:]
    if rest:
        lines.append("Only titles from here on; --json and --report DIR have the runs:")
        lines += [f"{n}. {story.title} ({story.difference.steps} steps)" for n, story in rest]
        lines.append("")
    lines += [lost_words(loss) for loss in comparison.unsaid]
    if comparison.alike:
        lines.append(
            "Rules that differ, but not within these bounds: " + ", ".join(comparison.alike)
        )
        if comparison.differences:
            lines.append(_NOT_BEYOND)
    while not lines[-1]:
        lines.pop()
    return lines


def _verdict(comparison: Comparison, count: int) -> str:
    """Return the verdict on one line."""
    first, other = (at_most(_LONGEST_NAME, r.name) for r in (comparison.first, comparison.other))
    names = f"{first} and {other}"
    if count:
        return f"{names} differ in {plural(count, 'way')}."
    if comparison.unsaid:
        return f"{names} answer alike where both have the request."
    if comparison.complete:
        return f"No client sees a difference between {names} within these bounds."
    return f"No difference between {names} so far; the search is not complete."


def _json(
    comparison: Comparison, stories: list[DifferenceStory], bounds: tuple[NamedScope, ...]
) -> dict[str, Any]:
    return {
        "one": comparison.first.name,
        "other": comparison.other.name,
        "same": comparison.same,
        "complete": comparison.complete,
        "differences": [story.to_json() for story in stories],
        "unsaid": [
            {"revision": loss.revision, "api": loss.api, "acts": loss.acts, "lost": loss.lost}
            for loss in comparison.unsaid
        ],
        "alike": list(comparison.alike),
        "compared": [
            {
                "bounds": bounds_words(bound),
                "pairs": explored.pairs,
                "transitions": explored.transitions,
                "depth": explored.depth,
                "complete": explored.complete,
                "cut": explored.cut,
            }
            for bound, explored in zip(bounds, comparison.explored, strict=True)
        ],
    }


def _write(comparison: Comparison, stories: list[DifferenceStory], folder: Path) -> None:
    """Two trace files for each difference, named after its number and the revision."""
    make_folder(folder)
    for number, difference in enumerate(comparison.differences, start=1):
        story = stories[number - 1]
        for part, trace in zip(story.parts, difference_traces(comparison, difference), strict=True):
            name = re.sub(r"[:/\\]", "-", part.revision)
            trace.write(folder / f"{number:02}-{name}.json")
