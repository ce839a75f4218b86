"""Makes `traces/corpus/` anew: `python tests/support/make_corpus.py [NAME...]`, some minutes.

Each mutant's trace is that of the shortest case of the catalogue that it fails, made as small as it
gets, in process, on a virtual clock.  What was recorded elsewhere (findings, brokers) is only
listed: `docs/findings/` for the findings, `traces/corpus/recorded/` for the rest.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

from msgspec import structs
from support.places import ROOT

from fencepost.conformance.cases import ENTRIES
from fencepost.conformance.run.certify import OpenTarget, Options, open_target
from fencepost.conformance.run.replay import sound_trace
from fencepost.conformance.search.findings.findings import under
from fencepost.conformance.search.findings.trace_causes import (
    CorpusEntry,
    CorpusIndex,
    adopted_entry,
    entry_of,
)
from fencepost.conformance.search.shrink.shrink_plan import shrinking_plan
from fencepost.conformance.targets.in_process import InProcessTarget
from fencepost.model.plans.plan_order import DELAY
from fencepost.model.plans.steps import Plan
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.revisions.revisions import MUTANT
from fencepost.properties.checking.shrinking import Reproducer, shrink
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.mutants.mutant import Mutant
from fencepost.properties.mutants.mutants import MUTANTS
from fencepost.traces.files.bounded import own_version
from fencepost.traces.files.trace_file import TraceFile

CORPUS = ROOT / "traces" / "corpus"
FINDINGS = ROOT / "docs" / "findings"
INDEX = CORPUS / "index.json"
SETTINGS = (
    {"group.initial.rebalance.delay.ms": 1000, "group.min.session.timeout.ms": 100},
    {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 100},
)
"""What a broker can be told, so that whoever runs the trace on a real clock needs no patience.

With no initial delay, what is sent first is over at once; so that comes second.
"""


def trace_of_mutant(mutant: Mutant) -> TraceFile:
    """The smallest failure of the mutant, by the catalogue."""
    return asyncio.run(_trace_of_mutant(mutant))


async def _trace_of_mutant(mutant: Mutant) -> TraceFile:
    target = InProcessTarget(MUTANT + mutant.name, mutant.revision, own_version())
    async with open_target(target, KAFKA_4, Options()) as suite:
        failing = [r for r in await suite.run(ENTRIES) if r.outcome is Outcome.FAIL]
        shortest = min(failing, key=lambda r: (len(r.case.steps), r.case.id))
        least = await _smallest(await _settled(shortest, suite), suite)
        case = structs.replace(least.case, id=f"corpus/{mutant.name}", about=f"{mutant.about}.")
        found = under(least, case)
        trace = sound_trace(found, KAFKA_4, suite.provenance())
    assert trace is not None, f"{mutant.name} left nothing to record"
    return trace


async def _smallest(failure: CaseResult, suite: OpenTarget) -> CaseResult:
    """As small as it gets with the delay that it has; with none, all would be over at once."""
    fingerprint, delay = failure.fingerprint(suite.revision), failure.case.needs.config.get(DELAY)

    async def judge(case: Plan) -> CaseResult | None:
        if case.needs.config.get(DELAY) != delay:
            return None
        (result,) = await suite.try_cases([case])
        return result if result.fingerprint(suite.revision) == fingerprint else None

    work = shrinking_plan(Reproducer(failure.case, failure), suite.hello.apis)
    minimal = await shrink(work, judge)
    return minimal.smallest.run


async def _settled(failure: CaseResult, suite: OpenTarget) -> CaseResult:
    """The same failure under the first of these settings that it is one with."""
    case, fingerprint = failure.case, failure.fingerprint(suite.revision)
    for settings in SETTINGS:
        config = {**settings, **case.needs.config}
        tried = structs.replace(case, needs=structs.replace(case.needs, config=config), rules=())
        (result,) = await suite.try_cases([tried])
        if result.fingerprint(suite.revision) == fingerprint:
            return result
    return failure


def entries() -> Iterator[CorpusEntry]:
    """What the corpus holds."""
    for name, mutant in sorted(MUTANTS.items()):
        bug = None if mutant.source.startswith("systematic") else mutant.source
        yield _entry("mutant", name, CORPUS / "mutants" / f"{name}.json", mutant.about, bug)
    for path in sorted((CORPUS / "recorded").glob("*.json")):
        trace = TraceFile.read(path)
        about = str((trace.plan or {}).get("about", "")).rstrip(".")
        yield _entry("recorded", path.stem, path, about, str(trace.provenance["target"]))
    for path in sorted(FINDINGS.glob("*.json")):
        title = path.with_suffix(".md").read_text(encoding="utf-8").partition("\n")[0]
        yield _entry("finding", path.stem, path, title.lstrip("# "), None)
    for path in sorted((CORPUS / "adopted").glob("*.json")):
        yield adopted_entry(path.stem, _file(path), TraceFile.read(path))


def _entry(kind: str, name: str, path: Path, shows: str, bug: str | None) -> CorpusEntry:
    return entry_of(kind, name, _file(path), TraceFile.read(path), shows=shows, bug=bug)


def _file(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def main(names: list[str]) -> None:
    """Write the traces of these mutants (all, if none is named) and the index."""
    folder = CORPUS / "mutants"
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or MUTANTS:
        trace_of_mutant(MUTANTS[name]).write(folder / f"{name}.json")
        print(name, flush=True)  # noqa: T201  (it takes minutes)
    INDEX.write_text(CorpusIndex.of(entries()).text(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
