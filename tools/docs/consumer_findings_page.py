"""Make the pages of `docs/findings/consumer/`, and their table in `docs/findings/README.md`.

`python -m tools.docs.consumer_findings_page docs` writes them.  With names of findings behind it,
it first runs each on its target and keeps the trace; `all` names all.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from fencepost.conformance.cases.case_registry import as_entry
from fencepost.conformance.run.certify import Options, open_target
from fencepost.conformance.run.replay import sound_trace
from fencepost.conformance.search.findings.promote import block
from fencepost.conformance.targets.target_registry import TargetOptions, find_revision, find_target
from fencepost.model.coordinator import Provenance
from fencepost.model.revision import Revision
from fencepost.properties.judging.outcome import CaseResult
from fencepost.traces.files.trace_file import TraceFile
from tools.docs.consumer_findings import ALL, FINDINGS, KAFKA, Finding
from tools.docs.marked_part import with_part

FOLDER = Path("findings", "consumer")
INDEX = Path("findings", "README.md")
_BEGIN = "<!-- consumer: made by `python -m tools.docs.consumer_findings_page docs` -->"
_END = "<!-- end of consumer -->"
_MADE = "<!-- Made by `python -m tools.docs.consumer_findings_page docs`; don't edit. -->"


def results_on(target: str, judge: str, findings: Sequence[Finding]) -> list[CaseResult]:
    """Run findings on a target to their ends, judged by a revision."""
    return asyncio.run(_run(target, find_revision(judge), findings))[0]


async def _run(
    target: str, judge: Revision, findings: Sequence[Finding]
) -> tuple[list[CaseResult], Provenance]:
    opened = find_target(target, TargetOptions())
    async with open_target(opened, judge, Options(persists=True)) as suite:
        results = await suite.run([as_entry(f.plan(), f.settings) for f in findings])
        return results, opened.provenance()


def _record(finding: Finding, docs: Path) -> None:
    judge = find_revision(finding.judge or finding.revision_of(ALL[-1]))
    (result,), provenance = asyncio.run(_run(finding.target, judge, [finding]))
    trace = sound_trace(result, judge, provenance)
    if trace is None:
        raise SystemExit(f"{finding.name}: {result.message}")
    trace.write(_trace_file(docs, finding))


def _trace_file(docs: Path, finding: Finding) -> Path:
    return docs / FOLDER / f"{finding.name}.json"


def page(finding: Finding, trace: TraceFile) -> str:
    """Return the page of a finding, with the steps of its trace."""
    return "\n".join(_lines(finding, trace))


def _lines(finding: Finding, trace: TraceFile) -> Iterator[str]:
    file = f"docs/{FOLDER.as_posix()}/{finding.name}.json"
    has = finding.releases
    has_not = [name for name in ALL if name not in has]
    yield f"# {finding.title}"
    yield ""
    yield _MADE
    yield ""
    rows = {
        "Affected": f"{finding.affected}, in the consumer protocol (KIP-848).",
        "What happens": finding.effect,
        "Releases": f"Kafka {span(has)}." + (f" Not {span(has_not)}." if has_not else ""),
        "Ticket": f"{finding.ticket}.",
        "What operators can do": finding.operators,
        "What authors of clients can do": finding.authors,
    }
    for title, text in rows.items():
        yield f"**{title}**: {text}"
        yield ""
    judge = trace.revision
    yield (
        f"Trace, from {finding.target}, judged by [`{judge}`](../../revisions.md):"
        if finding.judge
        else f"Trace, from {finding.target}; no revision says otherwise:"
    )
    yield ""
    yield f"```text\n{block(trace)}\n```"
    yield ""
    yield f"Reproduce, on a real Kafka{'' if finding.is_choice else ' and on the model'}:"
    yield ""
    yield "```sh"
    yield f"fencepost replay {file} {finding.target}"
    if not finding.is_choice:
        yield f"fencepost replay {file} model:{finding.revision_of(has[-1])}"
    yield "```"
    yield ""


def span(names: Iterable[str]) -> str:
    """Return these releases in words: a run of them by its ends."""
    names = list(names)
    first, last = KAFKA[names[0]], KAFKA[names[-1]]
    return first if first == last else f"{first} to {last}"


def table() -> str:
    """Return the table of all findings."""
    lines = ["| Finding | Affected | Seen on | Workaround |", "|---|---|---|---|"]
    for each in FINDINGS:
        link = f"[{each.title}]({FOLDER.name}/{each.name}.md)"
        lines.append(f"| {link} | {each.affected} | {span(each.releases)} | {each.short} |")
    return "\n".join(lines)


def main(docs: Path, *names: str) -> None:
    """Record these findings, then write all pages and the table."""
    folder = docs / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for finding in FINDINGS:
        if finding.name in names or "all" in names:
            _record(finding, docs)
    for finding in FINDINGS:
        text = page(finding, TraceFile.read(_trace_file(docs, finding)))
        (folder / f"{finding.name}.md").write_text(text, encoding="utf-8", newline="\n")
    index = docs / INDEX
    text = with_part(index.read_text("utf-8"), _BEGIN, _END, table(), str(INDEX))
    index.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
