"""Try the last ten minor releases of each client library, and make the page of those that run.

`python -m tools.docs.releases_page docs` makes the page of the kept figures.  With names behind it,
such as `sarama` or `sarama:1.45.2`, these releases are tried anew first, `all` for each.  A release
runs the two plain lives of a member, and the cases of its library's list of known failures; `plain`
before the names leaves those out.  With `ranges` the lists get the ranges of versions that show
each failure.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

import msgspec
from msgspec import structs

from fencepost.conformance.cases.clients.scenario_catalogue import SCENARIOS
from fencepost.conformance.clients.certify_client import certificate_of
from fencepost.conformance.clients.driver_programs import find_client
from fencepost.conformance.clients.stage import SERVE
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.targets.target_registry import find_revision
from fencepost.properties.judging.known_failures import KnownFailure, matches
from fencepost.properties.judging.outcome import Outcome
from fencepost.traces.files.known_failure_lists import CLIENT_FOLDER, KnownFailureList, read
from fencepost.traces.report.client_certificate import ClientCertificate, ClientResult

FIGURES = "clients/releases.json"
PAGE = "clients/releases.md"
PLAIN = ("static-life", "dynamic-life")

RELEASES: Mapping[str, tuple[str, ...]] = {
    "java": (
        *("4.4.0", "4.3.1", "4.2.2", "4.1.1", "4.0.2"),
        *("3.9.1", "3.8.1", "3.7.2", "3.6.2", "3.5.2"),
    ),
    "confluent-kafka": (
        *("2.16.1", "2.15.1", "2.14.2", "2.13.2", "2.12.2"),
        *("2.11.1", "2.10.1", "2.9.0", "2.8.2", "2.7.0"),
    ),
    "kafka-python": (
        *("3.0.12", "2.3.3", "2.2.21", "2.1.6", "2.0.6"),
        *("1.4.7", "1.3.5", "1.2.5", "1.1.1", "1.0.2"),
    ),
    "aiokafka": (
        *("0.14.0", "0.13.0", "0.12.0", "0.11.0", "0.10.0"),
        *("0.9.0", "0.8.1", "0.7.2", "0.6.0", "0.5.2"),
    ),
    "franz-go": (
        *("1.22.3", "1.21.7", "1.20.7", "1.19.5", "1.18.1"),
        *("1.17.1", "1.16.1", "1.15.4", "1.14.4", "1.13.6"),
    ),
    "sarama": (
        *("1.61.1", "1.60.2", "1.50.3", "1.49.0", "1.48.2"),
        *("1.47.0", "1.46.3", "1.45.2", "1.43.3", "1.42.1"),
    ),
    "kafka-go": (
        *("0.4.51", "0.4.50", "0.4.49", "0.4.48", "0.4.47"),
        *("0.4.46", "0.4.45", "0.4.44", "0.4.43", "0.4.42"),
    ),
    "confluent-kafka-go": (
        *("2.15.1", "2.14.2", "2.13.3", "2.12.0", "2.11.1"),
        *("2.10.1", "2.8.0", "2.6.1", "2.5.4", "2.3.0"),
    ),
    "kafkajs": (
        *("2.2.4", "2.1.0", "2.0.2", "1.16.0", "1.15.0"),
        *("1.14.0", "1.13.0", "1.12.0", "1.11.0", "1.10.0"),
    ),
    "platformatic": (
        *("2.12.1", "2.11.0", "2.7.0", "2.4.0", "2.2.3"),
        *("1.35.0", "1.34.0", "1.33.2", "1.31.0", "1.27.0"),
    ),
    "confluent-kafka-javascript": (
        *("1.10.1", "1.9.1", "1.8.2", "1.7.0", "1.6.0"),
        *("1.5.0", "1.4.1", "1.3.2", "1.2.0", "1.0.0"),
    ),
    "rdkafka-rust": (
        *("0.39.0", "0.38.0", "0.37.0", "0.36.2", "0.35.0"),
        *("0.34.0", "0.33.2", "0.32.2", "0.31.0", "0.30.0"),
    ),
}
"""The newest release of each of the last ten minor ones, of kafka-go, which stays at 0.4, of the
last ten, the newest first; as far as the registries have them."""

_TITLE = """\
# Releases of each library

<!-- Made by `python -m tools.docs.releases_page docs`; don't edit. -->

For users of an older release of a client library. This page shows which releases fencepost can
test, and which listed failures each release shows.

`LIBRARY:VERSION` selects a release for [`fencepost certify-client`](certify-client.md), any one in
the library's registry. fencepost tested the last ten minor releases of each library with the
scenarios `static-life` and `dynamic-life`, and with the cases of the library's list of known
failures. `tox -e clients` repeats the two scenarios.

To compare two releases before an upgrade, run the older one, and then the newer one with `--diff`:

```sh stays
$ fencepost certify-client kafka-python:3.0.8 --report old
$ fencepost certify-client kafka-python:3.0.9 --diff old/certificate.json --report new
```

Three words of the comparison matter: *new* failures came with the newer release, *fixed* ones are
gone, *changed* cases came out in another way. Give both runs the same `--case`: *added* are
failures of cases that the older run doesn't have.

- *runs*: the driver starts; its consumer joins, reads, commits and closes; fencepost judges it.
  [Results of client libraries](results.md) has the failures of the newest releases.
- *lacks*: features that the release doesn't have. The cases that need them are `unsupported`.
- *known*: *21 of 33* means that of 33 listed failures tested on this release, 21 occur. The list
  has the range of releases for each failure.
"""
_FEATURES = ("static", "cooperative", "auto-commit", "manual-commit")
_NO_STATIC = "no static members"


class TriedRelease(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The record of a release that was tried.

    `problem`: why it doesn't run, or "".  `outcomes`: of each plain scenario `runs`, `unsupported`
    or `unknown`.  `listed`: of each case of the library's list that was tried, the outcome,
    `otherwise` where it fails in another way.
    """

    client: str
    problem: str = ""
    lacks: tuple[str, ...] = ()
    outcomes: dict[str, str] = {}
    listed: dict[str, str] = {}

    @property
    def library(self) -> str:
        """Return the name of its library."""
        return self.client.partition(":")[0]

    @property
    def version(self) -> str:
        """Return its version."""
        return self.client.partition(":")[2]


async def try_release(name: str, listed: Sequence[KnownFailure] = ()) -> TriedRelease:
    """Run a release's plain lives, and its listed cases."""
    problem, certificate = "", None
    try:
        certificate = await certificate_of(
            find_client(name),
            SERVE,
            find_revision("kafka-4"),
            patterns=[*PLAIN, *dict.fromkeys(entry.case for entry in listed)],
            known_failures=None,
        )
    except* TargetUnavailableError as errors:
        problem = " ".join(str(errors.exceptions[0]).split()).replace(str(Path.home()), "~")
    if certificate is None:
        return TriedRelease(name, problem)
    return _tried(name, certificate, listed)


def _tried(
    name: str, certificate: ClientCertificate, listed: Sequence[KnownFailure]
) -> TriedRelease:
    results = {result.case.id: result for result in certificate.results}
    outcomes = {}
    for scenario in PLAIN:
        owed = SCENARIOS[scenario].obligations
        outcomes[scenario] = _word([results[f"{name}/{scenario}"].outcome for name in owed])
    features = certificate.introduction.features
    return TriedRelease(
        name,
        lacks=tuple(feature for feature in _FEATURES if feature not in features),
        outcomes=outcomes,
        listed={entry.case: _observed(results[entry.case], listed) for entry in listed},
    )


def _word(outcomes: Collection[Outcome]) -> str:
    """Return `runs` where a case was decided: a life that broke off decides none."""
    if {Outcome.PASS, Outcome.FAIL} & set(outcomes):
        return "runs"
    return str((Outcome.UNKNOWN if Outcome.UNKNOWN in outcomes else Outcome.UNSUPPORTED).value)


def _observed(result: ClientResult, listed: Sequence[KnownFailure]) -> str:
    if result.outcome is not Outcome.FAIL:
        return str(result.outcome.value)
    own = (entry for entry in listed if entry.case == result.case.id)
    shows = any(entry.shows_as(result.observed) for entry in own)
    return Outcome.FAIL.value if shows else "otherwise"


def entries_of(library: str) -> list[KnownFailure]:
    """Return all entries of a library's list, those for one version as those for many."""
    path = _list_of(library)
    return read(path) if path.is_file() else []


def _list_of(library: str) -> Path:
    return CLIENT_FOLDER / f"{library}.json"


def range_for(entry: KnownFailure, releases: Sequence[TriedRelease]) -> str | None:
    """Return the versions that show an entry: the newest tried ones, without a gap; None: none do.

    `releases`: of its library, the newest first.  Between two that show it, one may be undecided,
    and a failure that comes and goes may be missing.  A patch release counts as its minor one.
    """
    shows: list[TriedRelease] = []
    between: list[TriedRelease] = []
    for release in releases:
        match release.listed.get(entry.case):
            case Outcome.FAIL.value:
                shows += [*between, release]
                between = []
            case Outcome.UNKNOWN.value:
                between.append(release)
            case Outcome.PASS.value if entry.intermittent:
                between.append(release)
            case _:
                break
    if not shows:
        return None
    first, last = (_minor(release.version) for release in (shows[-1], releases[0]))
    return f">={'.'.join(map(str, first))},<{'.'.join(map(str, (*last[:-1], last[-1] + 1)))}"


def _is_for_minor(entry: KnownFailure, version: str) -> bool:
    """Tell if an entry is for a release, or begins with another patch of its minor one."""
    begin = entry.versions.partition(",")[0].removeprefix(">=")
    return matches(entry.versions, version) or (
        begin[:1].isdigit() and _minor(begin) == _minor(version)
    )


def _minor(version: str) -> tuple[int, ...]:
    """Return the numbers that name a minor release: of 0.4.51, which has only patches, all."""
    numbers = tuple(map(int, version.split(".")))
    return numbers if version.startswith("0.4.") else numbers[:2]


def ranged(library: str, releases: Sequence[TriedRelease]) -> KnownFailureList:
    """Return a library's list with the ranges that its releases show.

    An entry for other releases than those stays as it is.
    """
    entries = {}
    for entry in entries_of(library):
        is_for_them = any(_is_for_minor(entry, release.version) for release in releases)
        versions = (range_for(entry, releases) if is_for_them else None) or entry.versions
        wide = structs.replace(entry, versions=versions)
        entries[wide.case, wide.observed, wide.versions] = wide
    return KnownFailureList(entries=tuple(entries.values()))


def read_figures(docs: Path) -> list[TriedRelease]:
    """Return the kept figures."""
    return msgspec.json.decode((docs / FIGURES).read_bytes(), type=list[TriedRelease])


def page(releases: Sequence[TriedRelease]) -> str:
    """Return the whole page, in Markdown."""
    return "\n".join([_TITLE, *_tables(releases)])


def _tables(releases: Sequence[TriedRelease]) -> Iterator[str]:
    for library, group in groupby(releases, lambda release: release.library):
        yield f"## {library}"
        yield ""
        yield "| release | static-life | dynamic-life | lacks | known |"
        yield "|---|---|---|---|---|"
        for release in group:
            yield f"| {' | '.join([f'`{release.client}`', *_cells(release)])} |"
        yield ""


def _cells(release: TriedRelease) -> Iterator[str]:
    if release.problem:
        problem = release.problem.replace("|", "\\|")
        yield f"doesn't run: {problem}"
        yield from ("", "", "")
        return
    for scenario in PLAIN:
        missing = "static" in release.lacks and scenario == PLAIN[0]
        yield _NO_STATIC if missing else release.outcomes[scenario]
    yield ", ".join(release.lacks)
    count = sum(outcome == Outcome.FAIL.value for outcome in release.listed.values())
    yield f"{count} of {len(release.listed)}" if release.listed else ""


def main(docs: Path, *words: str) -> None:
    """Try the releases that are named, and write figures, page and lists."""
    kept = (
        {release.client: release for release in read_figures(docs)}
        if (docs / FIGURES).is_file()
        else {}
    )
    for library, versions in RELEASES.items():
        listed = () if "plain" in words else entries_of(library)
        for name in (f"{library}:{version}" for version in versions):
            if {"all", name, library} & set(words):
                tried = asyncio.run(try_release(name, listed))
                before = kept.get(name, tried).listed
                kept[name] = structs.replace(tried, listed={**before, **tried.listed})
                sys.stdout.write(f"{kept[name]}\n")
                sys.stdout.flush()
                _write(docs, kept)
    _write(docs, kept)
    if "ranges" in words:
        for library in RELEASES:
            _write_ranges(library, _kept_of(library, kept))


def _kept_of(library: str, kept: Mapping[str, TriedRelease]) -> list[TriedRelease]:
    names = (f"{library}:{version}" for version in RELEASES[library])
    return [kept[name] for name in names if name in kept]


def _write_ranges(library: str, releases: Sequence[TriedRelease]) -> None:
    path = _list_of(library)
    if path.is_file():
        text = json.dumps(ranged(library, releases).plain(), indent=2, ensure_ascii=False)
        path.write_text(f"{text}\n", encoding="utf-8", newline="\n")


def _write(docs: Path, kept: Mapping[str, TriedRelease]) -> None:
    releases = [release for library in RELEASES for release in _kept_of(library, kept)]
    lines = ",\n".join(msgspec.json.encode(release).decode() for release in releases)
    (docs / FIGURES).write_text(f"[\n{lines}\n]\n", encoding="utf-8", newline="\n")
    (docs / PAGE).write_text(page(releases), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
