"""Keep certificates in the repository, and make the page `docs/certificates.md` about them.

A kept certificate has only values that are equal in every run: no times, no address.  It can be
compared with a new one.  The page has a matrix of targets and areas, then for each target its known
failures, and the reasons: `python -m tools.docs.certificates_page docs/certificates
docs/certificates.md`.  Those of mixed groups and of streams groups are further parts of a page.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fencepost.conformance.cases.case_registry import AREAS, area
from fencepost.conformance.targets.brokers.kafka_version import parse_kafka_version
from fencepost.model.bridge.mixed_protocol import MIXED
from fencepost.model.consumer.consumer_protocol import CONSUMER
from fencepost.model.consumer.streams import STREAMS
from fencepost.model.history.words import plural
from fencepost.properties.judging.known_failures import note_of, read_notes
from fencepost.properties.judging.outcome import Outcome
from fencepost.traces.files.bounded import read_json

_KEPT = ("target", "implementation", "version", "revision", "verdict", "config", "apis")
_WORDS = {
    Outcome.KNOWN_FAILURE.value: "known",
    Outcome.UNSUPPORTED.value: "n/a",
    Outcome.FAIL.value: "fail",
    Outcome.STALE_KNOWN_FAILURE.value: "stale",
    Outcome.UNKNOWN.value: "unknown",
    Outcome.SKIPPED.value: "skipped",
}
_TITLES = {
    Outcome.KNOWN_FAILURE: "Known",
    Outcome.UNKNOWN: "Not decided",
    Outcome.UNSUPPORTED: "Not applicable",
}
_TITLE = """\
# Certificates

<!-- Made by `python -m tools.docs.certificates_page docs/certificates \
docs/certificates.md`; don't edit. -->

The results of each implementation in the catalogue, on real brokers that `fencepost` started.
`tox -e brokers` runs all of them again and compares case by case.  A plain number counts cases that
pass; *known* ones fail, are listed with their reason, and still run each time; *n/a* ones need what
the target doesn't have.  [The results site](brokers/certify.md#publish-results-and-a-badge) shows
the same as a heat map, by rule, and over versions.
"""


_CONSUMER_TITLE = """\
# Certificates of the consumer protocol

<!-- Made by `python -m tools.docs.certificates_page docs/certificates/consumer \
docs/certificates/mixed docs/certificates/streams docs/consumer-certificates.md`; don't edit. -->

The results of coordinators of the consumer protocol (KIP-848) in
[its catalogue](consumer-table.md), on real brokers that `fencepost` started with
`fencepost certify TARGET --revision consumer`.  The columns and words are those of
[the classic protocol's certificates](certificates.md).
[Row by row](consumer-rows.md) shows what each target answers.
"""

_MIXED_TITLE = """\
## Mixed groups

Groups with members of both protocols: upgrades, downgrades, and classic members in consumer groups,
by `fencepost certify TARGET --revision mixed`.
"""

_STREAMS_TITLE = """\
## Streams groups

Groups of Kafka Streams (KIP-1071), by `fencepost certify TARGET --revision streams`.  They have
static members since Kafka 4.4.
"""

_PARTS = {
    MIXED.name: ("mixed groups", _MIXED_TITLE),
    STREAMS.name: ("streams groups", _STREAMS_TITLE),
}
"""The words in headings, and the titles, of the parts after the first."""


def kept(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """Return the kept part of a certificate (the JSON of `certify --json`)."""
    return {
        **{key: certificate[key] for key in _KEPT},
        "rules": {key: certificate["rules"][key] for key in ("missed", "unreachable")},
        "cases": {case["id"]: _case(case) for case in certificate["cases"]},
    }


def _case(case: Mapping[str, Any]) -> dict[str, Any]:
    if case["outcome"] == Outcome.PASS.value:
        return {"outcome": case["outcome"]}
    row = {"outcome": case["outcome"], "level": case["level"]}
    if case["outcome"] in {Outcome.UNSUPPORTED.value, Outcome.UNKNOWN.value}:
        return row | {"why": case["message"]}
    return row | {
        "rule": case["rule"],
        "observed": case["observed"],
        "why": note_of(known) if (known := read_notes(case["notes"]).reason) else "",
    }


def differences(old: Mapping[str, Any], new: Mapping[str, Any], shaky: Sequence[str]) -> list[str]:
    """List the differences of another run, a sentence for each case.

    A known failure stays the same with any of its listed observations.  `shaky`: the cases whose
    known failure comes and goes; there, a pass is no difference.
    """
    different = []
    for case_id in sorted(old["cases"].keys() | new["cases"].keys()):
        before, after = (_short(certificate["cases"].get(case_id)) for certificate in (old, new))
        both = {before.partition(":")[0], after.partition(":")[0]}
        if before != after and not (
            case_id in shaky and both <= {Outcome.PASS.value, Outcome.KNOWN_FAILURE.value}
        ):
            different.append(f"{case_id}: was {before}, is {after}")
    return different


def _short(case: Mapping[str, Any] | None) -> str:
    if case is None:
        return "not there"
    observed = None if case["outcome"] == Outcome.KNOWN_FAILURE.value else case.get("observed")
    return f"{case['outcome']}: {observed}" if observed else str(case["outcome"])


def file_of(folder: Path, target: str) -> Path:
    """Return the file of a target's certificate."""
    return folder / f"{target.replace(':', '-').replace('*', 'x')}.json"


def write(folder: Path, certificate: Mapping[str, Any]) -> Path:
    """Keep a certificate in the folder."""
    return write_kept(folder, certificate["target"], kept(certificate))


def write_kept(folder: Path, target: str, document: Mapping[str, Any]) -> Path:
    """Write the kept part of a target's certificate."""
    folder.mkdir(parents=True, exist_ok=True)
    path = file_of(folder, target)
    text = json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def read_all(folder: Path) -> list[dict[str, Any]]:
    """Return the certificates of a folder: Kafka by version, then the others."""
    certificates = [read_json(path) for path in folder.glob("*.json")]
    return sorted(certificates, key=lambda c: _order(c["target"]))


def _order(target: str) -> tuple[bool, tuple[int, ...], str]:
    if not target.startswith("kafka:"):
        return True, (), target
    return False, parse_kafka_version(target.removeprefix("kafka:")).number, target


def page(certificates: Sequence[Mapping[str, Any]]) -> str:
    """Return the whole page, in Markdown; all certificates are of one protocol.

    Those of mixed groups and of streams groups are further parts.
    """
    by_part: dict[str, list[Mapping[str, Any]]] = {}
    for each in certificates:
        by_part.setdefault(_part_of(each), []).append(each)
    first = by_part.pop("", [])
    is_consumer = any(each["revision"].startswith(CONSUMER.name) for each in first)
    lines = [*_part(_CONSUMER_TITLE if is_consumer else _TITLE, first)]
    for name, (_, title) in _PARTS.items():
        lines += _part(title, by_part[name]) if name in by_part else ()
    return "\n".join(lines)


def _part(title: str, certificates: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield title
    yield from matrix_lines("target", certificates, AREAS, area)
    yield from _failures(certificates)


def _part_of(certificate: Mapping[str, Any]) -> str:
    """Return the name of the part that a certificate belongs to; "" for the first."""
    protocol = str(certificate["revision"]).partition("-")[0]
    return protocol if protocol in _PARTS else ""


def _heading(certificate: Mapping[str, Any]) -> str:
    """Return the heading of a certificate, which its page has once."""
    part = _part_of(certificate)
    return f"{certificate['target']}, {_PARTS[part][0]}" if part else str(certificate["target"])


def matrix_lines(
    kind: str,
    certificates: Sequence[Mapping[str, Any]],
    areas: Collection[str],
    area_of: Callable[[str], str],
) -> Iterator[str]:
    """Yield the table of certificates and of those areas of which they have cases.

    `kind`: of their targets, `area_of`: of a case's id.
    """
    judged = {area_of(case_id) for certificate in certificates for case_id in certificate["cases"]}
    areas = [name for name in areas if name in judged]
    yield f"| {kind} | verdict | " + " | ".join(areas) + " |"
    yield "|---" * (2 + len(areas)) + "|"
    for certificate in certificates:
        counts: dict[str, Counter[str]] = {name: Counter() for name in areas}
        for case_id, case in certificate["cases"].items():
            counts[area_of(case_id)][case["outcome"]] += 1
        cells = (_cell_text(counts[name]) for name in areas)
        name = f"[{certificate['target']}](#{anchor(_heading(certificate))})"
        yield f"| {name} | {verdict_words(certificate)} | " + " | ".join(cells) + " |"
    yield ""


def _cell_text(counts: Counter[str]) -> str:
    """Make a cell: the number of cases that pass, and of each other outcome."""
    words = [str(counts[Outcome.PASS.value])]
    words += [f"{counts[key]} {word}" for key, word in _WORDS.items() if counts[key]]
    return ", ".join(words)


def verdict_words(certificate: Mapping[str, Any]) -> str:
    """Return the verdict, and the number of known failures."""
    known = sum(
        case["outcome"] == Outcome.KNOWN_FAILURE.value for case in certificate["cases"].values()
    )
    return f"{certificate['verdict']}" + (f", {plural(known, 'known failure')}" if known else "")


def anchor(target: str) -> str:
    """Return the anchor of a heading."""
    return "".join(c for c in target.lower() if c.isalnum() or c in "-_ ").replace(" ", "-")


def _failures(certificates: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for certificate in certificates:
        yield f"{'###' if _part_of(certificate) else '##'} {_heading(certificate)}"
        yield ""
        yield (
            f"{certificate['implementation']} {certificate['version']}, judged by "
            f"`{certificate['revision']}`."
        )
        yield ""
        yield from by_reason(certificate["cases"], Outcome.KNOWN_FAILURE)
        yield from by_reason(certificate["cases"], Outcome.UNSUPPORTED)
        missed = certificate["rules"]["missed"]
        if missed:
            yield f"Rules that no passing case shows: {', '.join(missed)}."
            yield ""


def by_reason(cases: Mapping[str, Mapping[str, Any]], outcome: Outcome) -> Iterator[str]:
    """List the cases with an outcome, by reason, the commonest first."""
    reasons: dict[str, list[str]] = {}
    for case_id, case in cases.items():
        if case["outcome"] == outcome.value:
            why = read_notes([case["why"]]).reason or case["why"]
            reasons.setdefault(why, []).append(case_id)
    for why, case_ids in sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0])):
        title = _TITLES[outcome]
        yield f"- **{title}, {len(case_ids)}**: {why}"
        yield f"  <br>{', '.join(f'`{case_id}`' for case_id in sorted(case_ids))}"
    if reasons:
        yield ""


if __name__ == "__main__":
    *folders, out = map(Path, sys.argv[1:])
    certificates = [each for folder in folders for each in read_all(folder)]
    out.write_text(page(certificates), encoding="utf-8")
