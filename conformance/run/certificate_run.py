"""Run a suite from a target's name to its certificate: for the command line and for Python."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from fencepost.conformance.cases.case_registry import Entry
from fencepost.conformance.cases.suites import CATALOGUE, CaseSuite, find_suite
from fencepost.conformance.run.certify import Options, certify
from fencepost.conformance.targets.target import Target
from fencepost.conformance.targets.target_registry import (
    KnownAs,
    TargetOptions,
    TestSubject,
    judge_for,
    target_of,
)
from fencepost.model.bad_input import BadInputError
from fencepost.model.revision import Revision
from fencepost.model.suggestions import did_you_mean
from fencepost.model.table.table import Level
from fencepost.properties.judging.assumed_settings import fitting_words
from fencepost.properties.judging.known_failures import KnownFailure, aliases_of
from fencepost.properties.judging.report import Certificate, apply
from fencepost.traces.files.bounded import all_versions
from fencepost.traces.files.known_failure_lists import load


class NoCaseError(BadInputError):
    """No case of a suite matches.  `str()` names the pattern, and what lists the cases."""


def run_certificate(
    target: TestSubject,
    *,
    revision: str | None = None,
    suite: str = CATALOGUE,
    cases: Sequence[str] = (),
    skip: Sequence[str] = (),
    level: Level = Level.SHOULD,
    seed: int = 0,
    jobs: int | None = None,
    options: TargetOptions | None = None,
    known_failures: Sequence[Path] | None = (),
) -> Certificate:
    """Check a target against the decision table, as `fencepost certify` does.

    Args:
        target: A target, its name, such as `model:kafka-4` or `tcp://localhost:9092`, or a function
            that makes a `Coordinator` in this process.
        revision: The revision that judges; by default the one for that target.
        suite: `catalogue`, `cover` or `pairs`.
        cases: Patterns of case ids (`JOIN-STATIC-*`): run only these.  Then nothing is certified.
        skip: Patterns of case ids to leave out.
        level: The least binding level that decides the verdict.
        seed: Recorded in the certificate.
        jobs: How many cases run side by side; by default as many as the target takes.
        options: How to reach or start a target that has a name only.
        known_failures: Lists beside the shipped one; None: no list at all.

    Raises UnknownTargetError for a name that no target or revision has, NoCaseError,
    KnownFailuresError, KeyError for an unknown suite, and TargetUnavailableError.
    """
    chosen_options = options or TargetOptions()
    subject = target_of(target, replace(chosen_options, jobs=jobs or chosen_options.jobs))
    name = target if isinstance(target, str) else subject.name
    judge = judge_for(revision, name)
    chosen = find_suite(suite, judge)
    entries = matching_entries(chosen, cases)
    run_options = Options(level, jobs, seed, matching_ids(entries, skip))
    run = certificate_of(
        subject, judge, chosen, entries, run_options, known_failures=known_failures
    )
    return asyncio.run(run)


async def certificate_of(
    target: Target,
    revision: Revision,
    suite: CaseSuite,
    entries: Sequence[Entry],
    options: Options,
    *,
    known_failures: Sequence[Path] | None = (),
    name: str | None = None,
    known_as: KnownAs | None = None,
) -> Certificate:
    """Run cases of a suite, and mark the failures that are known.

    `name`: what the target is called in lists of known failures, if not by its own name;
    `known_as`: the target whose list applies, too.  Raises KnownFailuresError and
    TargetUnavailableError.
    """

    def listed(version: str) -> list[KnownFailure]:
        if known_failures is None:
            return []
        own = load(name or target.name, version, known_failures, aliases_of(target))
        if known_as is None:
            return own
        return [*own, *load(known_as.name, known_as.version, (), known_as.aliases)]

    certificate = await certify(
        target, revision, entries, replace(options, listed=listed, goes_on=True)
    )
    certificate = replace(certificate, versions=all_versions(), suite=suite.figures)
    # A run without all cases certifies nothing, so the certificate says it.
    not_selected = len(suite.entries) - len(entries)
    certificate = replace(certificate, not_selected=not_selected)
    known = listed(certificate.provenance.version)
    results = apply(certificate.results, known, revision)
    fitting = fitting_words(results, certificate.settings_source, revision)
    return replace(certificate, results=results, remarks=(*fitting, *certificate.remarks))


def matching_entries(suite: CaseSuite, globs: Sequence[str]) -> list[Entry]:
    """Return the matching entries in the suite's order; without globs all.  Raises NoCaseError."""
    if not globs:
        return list(suite.entries)
    matches = {entry.id for glob in globs for entry in suite.matching(glob)}
    if not matches:
        cases = f"fencepost cases --suite {suite.name}"
        near = did_you_mean(globs[0], [entry.id for entry in suite.entries])
        raise NoCaseError(f"no case matches {', '.join(globs)}{near}; see `{cases}`")
    return [entry for entry in suite.entries if entry.id in matches]


def matching_ids(entries: Sequence[Entry], globs: Sequence[str]) -> tuple[str, ...]:
    """Return the ids that match one of the globs."""
    return tuple(e.id for e in entries if any(fnmatchcase(e.id, glob) for glob in globs))
