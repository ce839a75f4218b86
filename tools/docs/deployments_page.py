"""Make the pages of deployments on real Kafkas: beside the simulator, and beside claims.

They are made from results in the repository, which `tox -e deployments` measures anew: `python -m
tools.docs.deployments_page docs` makes the pages; with `simulate` behind it, the simulated figures
are computed anew, too.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import median

from tools.deployments.deployment_promises import Claim, Verdict, all_claims, pooled, simulated_only
from tools.deployments.simulated_and_real import (
    ALL_FIGURES,
    BEAT_S,
    BROKERS,
    CASE,
    CASES,
    CLIENTS,
    REASONS,
    SEEDS,
    SESSION_S,
    CaseResult,
    Range,
    differences,
    jitter_s,
    read_results,
    reason,
    resumes_s,
    write_results,
)

DATA = "deployments/reality.json"
REALITY_PAGE = "deployments/reality.md"
CLAIMS_PAGE = "deployments/claims.md"

_MADE = "<!-- Made by `python -m tools.docs.deployments_page docs`; don't edit. -->"
_REALITY = """\
# Simulated, and for real

{made}

Is what [`fencepost simulate`](simulate.md) says true? Here the same scenarios were performed twice:
on the simulator, and by real consumers on a real Kafka, {members} members with {partitions}
partitions, each member a process that is really started, closed and killed. `tox -e deployments`
does it again and makes this page anew.

The steps are the same program in both, and so is the count of the figures: who had which partition
when, from what each library told its user; the rebalances from the answers of the broker, through a
proxy that records. Times are short so that it can be done often: a session of {session:g} s, a
heartbeat each {beat:g} s, 2 s until a process is started again. How long a restart really took,
and how long a broker was away, the simulator was told. What chance decides, such as when between
two heartbeats a process is stopped, was simulated with {seeds} seeds: a range is what they came to.

Counts must be equal, or in the range. A time must be in the range, or as near to it as the same
deployment varies when it is done again ({jitter:.1f} s here), and as long as the machine stood
still meanwhile: up to {still:.1f} s, as a client of our own saw that waited for the broker, or a
heartbeat that came late. This machine had much else to do. **Bold** is what isn't; below stands
why.

"""
_HEAD = """\
| deployment | Kafka | library | runs | rebalances | moved | stopped | at once | gap | not \
consumed |
|---|---|---|---|---|---|---|---|---|---|
"""
_LEGEND = """
Each cell has *simulated / real*, of all **runs**. **Moved**: how often a partition's next consumer
was another member. **Stopped**: partitions that nobody consumed for some time; **at once**: how
many at one time. **Gap**: for how long one at most, in seconds. **Not consumed**: seconds, summed
over partitions; they are shown and not judged, since each partition adds whatever each rebalance
took longer than its messages: in an eager bounce, several times as many. With librdkafka they are
many where the broker was away: it gives its partitions up when its session is over, while the Java
client keeps them until it reaches a broker again.
"""
_DEPLOYMENTS = """
## The deployments

| deployment | what is done | simulated by |
|---|---|---|
"""
_CLAIMS = """\
# What was promised

{made}

KIP-345, and an article on cooperative rebalancing and static membership, say what these are worth.
Each claim, in our words, beside what the simulator and [real Kafkas](reality.md) say: {members}
members, {partitions} partitions, a session of {session:g} s, a heartbeat each {beat:g} s, restarts
of about 2 s. *Real* is what all libraries and brokers of that page came to, in so many *runs*.

"""
_CLAIMS_HEAD = """\
| | claim | source | promised | simulated | real | runs | |
|---|---|---|---|---|---|---|---|
"""


def reality_page(results: Sequence[CaseResult]) -> str:
    """Return the page of all results, in Markdown."""
    jitter = jitter_s(results)
    text = _REALITY.format(made=_MADE, jitter=jitter, seeds=SEEDS, **_setting(results))
    return text + _HEAD + "\n".join(_reality_lines(results, jitter)) + "\n"


def _setting(results: Sequence[CaseResult]) -> dict[str, float]:
    members = max((result.members for result in results), default=0)
    partitions = max((result.partitions for result in results), default=0)
    waits = [real.stood_still_s for result in results for real in result.real]
    return {
        "members": members,
        "partitions": partitions,
        "session": SESSION_S,
        "beat": BEAT_S,
        "still": max(waits, default=0),
    }


def _reality_lines(results: Sequence[CaseResult], jitter: float) -> Iterator[str]:
    known = list(REASONS)
    for result in results:
        wrong = differences(result, jitter)
        cells = []
        for figure in _COLUMNS:
            expected, happened = result.simulated.get(figure), result.happened(figure)
            cell = f"{_cell(figure, expected)} / {_cell(figure, happened)}"
            why = reason(result, figure) if figure in wrong else None
            mark = f" [{known.index(why) + 1}](#{why})" if why is not None else ""
            cells.append(f"**{cell}**{mark}" if figure in wrong else cell)
        kafka = result.broker.removeprefix("kafka:")
        head = f"{result.case} | {kafka} | {result.client} | {len(result.real)}"
        yield f"| {head} | {' | '.join(cells)} |"
    yield _LEGEND.rstrip("\n")
    yield from _resumes(results)
    yield from _limits(results)
    yield _DEPLOYMENTS.rstrip("\n")
    for case in CASES:
        share = "" if case.share == 1 else f", a {_PARTS[case.share]} of the members"
        about = case.at().about
        compare = f" --compare {case.form}" if case.form else ""
        yield f"| {case.name} | {about} | `{case.scenario}{compare}`{share} |"
    yield ""
    yield "## Why reality differs"
    for number, (name, known_reason) in enumerate(REASONS.items(), 1):
        yield ""
        yield f"### {number}. {known_reason.title} {{ #{name} }}"
        yield ""
        yield known_reason.text.strip()


def _resumes(results: Sequence[CaseResult]) -> Iterator[str]:
    """Yield the extra time of a rebalance beyond that of messages.

    The simulator takes it from here.
    """
    resumes = resumes_s(results)
    if not resumes:
        return
    yield ""
    yield (
        f"So much longer took `{CASE}` for each partition in each rebalance: {resumes[0]:.2f} to "
        f"{resumes[-1]:.2f} s, in the median {median(resumes):.2f} s. That is what a member needs "
        "until it reads what it is given, unless told otherwise (`--resume-s`), in `simulate` and "
        "in [`advise`](advise.md); here it was simulated without (`--resume-s 0`). It ends when a "
        "library told its user that it has the partition: the first fetch isn't in it. It is of a "
        "busy machine, and of rollouts: one rebalance of a quiet group took less."
    )


def _limits(results: Sequence[CaseResult]) -> Iterator[str]:
    """Yield the outages of brokers, and the cases that were performed once, or not at all."""
    downs_s = [seconds for result in results for real in result.real for seconds in real.downs_s]
    if downs_s:
        yield ""
        yield (
            f"In `failover` the broker was away for {min(downs_s):.0f} to {max(downs_s):.0f} s, "
            "not for 5 s: so long it took until the Kafka that was killed served its group again."
        )
    done = {result.key for result in results}
    once = sum(len(result.real) == 1 for result in results)
    yield ""
    yield f"{once} of these {len(results)} were performed once, the others more often."
    missing, refused = [], []
    for case, broker, client in product(CASES, BROKERS, CLIENTS):
        if why := case.lacks(client):
            refused.append(f"- {case.name} by {client}: {why}.")
        elif (case.name, f"kafka:{broker}", client) not in done:
            missing.append(f"- {case.name} on {broker} by {client}")
    if missing:
        yield ""
        yield "Not performed yet:"
        yield ""
        yield from missing
    yield ""
    yield "Not to be performed:"
    yield ""
    yield from dict.fromkeys(refused)


_COLUMNS = (
    "rebalances",
    "partitions_moved",
    "partitions_stopped",
    "stopped_at_once",
    "longest_gap_s",
    "unavailable_partition_s",
)
_PARTS = {2: "half", 3: "third"}
_UNKNOWN = "not known"
_IN_SECONDS = frozenset(figure for figure in ALL_FIGURES if figure.endswith("_s"))


def _cell(figure: str, span: Range | None) -> str:
    if span is None:
        return _UNKNOWN
    low, high = (f"{value:.1f}" if figure in _IN_SECONDS else f"{value:.0f}" for value in span)
    return low if low == high else f"{low} to {high}"


# Claims.

_NOTHING: Mapping[str, Mapping[str, Range]] = {}


def claims_page(
    results: Sequence[CaseResult], simulated: Mapping[str, Mapping[str, Range]] = _NOTHING
) -> str:
    """Make the page of the claims; `simulated`: of cases that were not performed yet."""
    head = _CLAIMS.format(made=_MADE, **_setting(results)) + _CLAIMS_HEAD
    return head + "\n".join(_claim_lines(results, simulated)) + "\n"


def _claim_lines(
    results: Sequence[CaseResult], simulated: Mapping[str, Mapping[str, Range]]
) -> Iterator[str]:
    claims = list(enumerate(all_claims(), 1))
    for number, claim in claims:
        pool = pooled(results, claim.case)
        verdict = claim.verdict(pool)
        expected = pool.simulated(claim.figure) or simulated.get(claim.case, {}).get(claim.figure)
        cells = [
            f"{number}",
            claim.says,
            claim.source,
            claim.promised,
            _with_unit(claim, expected),
            _with_unit(claim, pool.real(claim.figure)),
            f"{pool.runs}",
            _verdict_cell(number, claim, verdict),
        ]
        yield f"| {' | '.join(cells)} |"
    noted = [(number, claim) for number, claim in claims if claim.why]
    yield ""
    yield "## Where it isn't as it was said"
    for number, claim in noted:
        yield ""
        yield f"### Claim {number}: {claim.title} {{ #claim-{number} }}"
        yield ""
        yield claim.why.strip()


def _with_unit(claim: Claim, span: Range | None) -> str:
    unit = " s" if claim.figure in _IN_SECONDS and span is not None else ""
    return f"{_cell(claim.figure, span)}{unit}"


def _verdict_cell(number: int, claim: Claim, verdict: Verdict) -> str:
    return f"[{verdict.value}](#claim-{number})" if claim.why else verdict.value


def main(docs: Path, *parts: str) -> None:
    """Write the pages; with `simulate`, simulate first."""
    results = read_results(docs / DATA)
    if parts == ("simulate",):
        results = [result.resimulated() for result in results]
        write_results(docs / DATA, results)
    claims = claims_page(results, simulated_only(results))
    for name, text in ((REALITY_PAGE, reality_page(results)), (CLAIMS_PAGE, claims)):
        (docs / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
