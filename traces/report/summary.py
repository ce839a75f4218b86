"""The verdict of a certificate in one line, and the figures that every form of it shows.

A target is certified if all that was tested holds and no case was left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from fencepost.model.history.words import made_by, plural
from fencepost.model.table.table import Level
from fencepost.properties.judging.outcome import CaseResult, Certificate, Outcome, Overall

FAILED = (Outcome.FAIL, Outcome.STALE_KNOWN_FAILURE)


def left_out(certificate: Certificate) -> tuple[str, ...]:
    """What a certificate says nothing about: cases that were not run, and its own notes."""
    count = Counter(result.outcome for result in certificate.results)
    reasons = [
        f"{count[outcome]} {outcome.value}"
        for outcome in (Outcome.UNSUPPORTED, Outcome.SKIPPED)
        if count[outcome]
    ]
    return (*reasons, *certificate.notes)


def is_whole(certificate: Certificate) -> bool:
    """Whether the whole catalogue was run: no case was skipped or not chosen."""
    skipped = any(result.outcome is Outcome.SKIPPED for result in certificate.results)
    return not (certificate.suite or certificate.notes or skipped)


def certified(certificate: Certificate) -> bool:
    """Whether it holds and nothing was left out."""
    return certificate.overall() is Overall.HOLDS and not left_out(certificate)


def excused(certificate: Certificate) -> bool:
    """Whether it holds only because failures at MUST are listed as known."""
    return certificate.overall() is Overall.HOLDS and any(
        result.outcome is Outcome.KNOWN_FAILURE and result.level is Level.MUST
        for result in certificate.results
    )


def broken_versions(certificate: Certificate) -> dict[str, list[int]]:
    """API → the versions that the target advertises and can't speak."""
    broken = {}
    for api, (low, high) in sorted(certificate.advertised.items()):
        working = certificate.working.get(api)
        rest = [
            version
            for version in range(low, high + 1)
            if working is None or not working[0] <= version <= working[1]
        ]
        if rest:
            broken[api] = rest
    return broken


def spans(versions: Iterable[int]) -> str:
    """Versions in order as people write them: `version 3`, `versions 0, 4 and 7 to 9`."""
    runs: list[list[int]] = []
    for version in versions:
        if runs and version == runs[-1][-1] + 1:
            runs[-1].append(version)
        else:
            runs.append([version])
    parts: list[str] = []
    for run in runs:
        is_long = run[-1] - run[0] > 1
        parts += [f"{run[0]} to {run[-1]}"] if is_long else map(str, run)
    if len(parts) == 1:
        return f"versions {parts[0]}" if len(runs[0]) > 1 else f"version {parts[0]}"
    return f"versions {', '.join(parts[:-1])} and {parts[-1]}"


def subject(certificate: Certificate) -> str:
    """What was held to what, e.g. `mock (librdkafka 2.16.1) under kafka-4`.

    A suite other than the catalogue is named, too.
    """
    provenance = certificate.provenance
    suite = f", suite {certificate.suite['name']}" if certificate.suite else ""
    made = made_by(provenance.implementation, provenance.version)
    return f"{provenance.target} ({made}) under {certificate.revision}{suite}"


def verdict_line(certificate: Certificate) -> str:
    """The verdict, e.g. `mock (librdkafka 2.16.1) under kafka-4: holds; certified`.

    One that rests on known failures at MUST begins with how many cases pass.
    """
    deciding = Counter(r.outcome for r in certificate.results if certificate.deciding(r))
    others = [r for r in certificate.results if not certificate.deciding(r)]
    known = sum(r.outcome is Outcome.KNOWN_FAILURE for r in certificate.results)
    overall = certificate.overall()
    if overall is Overall.VIOLATED:
        failed, stale = deciding[Outcome.FAIL], deciding[Outcome.STALE_KNOWN_FAILURE]
        parts = [plural(failed, "case")] if failed else []
        parts += [plural(stale, "stale known failure")] if stale else []
        said = f"violated by {' and '.join(parts)}"
        if undecided := deciding[Outcome.UNKNOWN]:
            said += f", {undecided} undecided"
    elif not certificate.tested():
        said = f"unknown: no case {'could be tested' if certificate.results else 'was run'}"
    elif overall is Overall.UNKNOWN:
        said = f"unknown: {plural(deciding[Outcome.UNKNOWN], 'case')} could not be decided"
    elif excused(certificate):
        passed = sum(r.outcome is Outcome.PASS for r in certificate.results)
        said = f"passes {passed} of {len(certificate.results)}; {plural(known, 'known failure')}; "
        said += "holds apart from " + ("it" if known == 1 else "them")
    else:
        said = "holds"
    if known and not excused(certificate):
        said += f", with {plural(known, 'known failure')}"
    if below := _below(others):
        said += f", and {below} below {certificate.level.value} (not counted)"
    rest = ", ".join(left_out(certificate))
    if certified(certificate):
        said += "; certified"
    elif rest:
        said += f"; not certified: {rest}" if overall is Overall.HOLDS else f"; {rest}"
    return f"{subject(certificate)}: {said}"


def _below(others: Iterable[CaseResult]) -> str:
    count = Counter(r.outcome for r in others)
    failed = count[Outcome.FAIL] + count[Outcome.STALE_KNOWN_FAILURE]
    parts = [plural(failed, "failure")] if failed else []
    parts += [f"{count[Outcome.UNKNOWN]} unknown"] if count[Outcome.UNKNOWN] else []
    return " and ".join(parts)
