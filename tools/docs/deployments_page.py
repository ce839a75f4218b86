"""Make the pages that compare deployments on real Kafkas with the simulator, and with claims.

The results are files in the repository; `tox -e deployments` and `tox -e advice` measure them
again.  `python -m tools.docs.deployments_page docs` makes the pages; with `simulate` behind it, it
first computes the simulated figures again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import median

from tools.deployments.arithmetic_agreement import Agreement, group_words, read_agreement
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
AGREEMENT = "deployments/advise-agreement.json"
REALITY_PAGE = "deployments/reality.md"
CLAIMS_PAGE = "deployments/claims.md"

_MADE = "<!-- Made by `python -m tools.docs.deployments_page docs`; don't edit. -->"
_REALITY = """\
# Simulated, and on real Kafkas

{made}

How accurate is [`fencepost simulate`](simulate.md)? This page compares the same scenarios on the
simulator and on a real Kafka, with {members} consumers and {partitions} partitions. Each real
member is a process that the test starts, closes and kills. `tox -e deployments` repeats the runs
and makes this page again.

One program performs the steps in both worlds, and counts the figures: the owner of each partition
at each moment, from the callbacks of the library; and the rebalances, from the broker's answers,
recorded by a proxy. Times are short: a session of {session:g} s, a heartbeat interval of {beat:g} s
and 2 s until a process restarts. The simulator gets the measured lengths of restarts and of the
broker's outage. Chance, such as the moment of a stop between two heartbeats, is simulated with
{seeds} seeds, which give a range.

A count agrees if it is equal, or within the range. A time may also differ by {jitter:.1f} s, as
repeated real runs do, and by the longest time for which the busy machine stood still, up to
{still:.1f} s: our own client measured it while it waited for the broker. **Bold** cells don't
agree, and link to the reason.

"""
_HEAD = """\
| deployment | Kafka | library | runs | rebalances | moved | stopped | at once | gap | not \
consumed |
|---|---|---|---|---|---|---|---|---|---|
"""
_LEGEND = """
Each cell has *simulated / real*, over all **runs**. **Moved**: the next consumer of a partition
was another member. **Stopped**: partitions without a consumer for some time; **at once**: the most
at one time. **Gap**: the longest time without a consumer, in seconds. **Not consumed**: seconds,
summed over partitions. This column is not judged: each real rebalance takes longer than its
messages, and each partition adds that, in an eager deployment several times as much. After an
outage of the broker librdkafka loses more: it gives up its partitions when its session ends, while
the Java client keeps them until it reaches a broker again.
"""
_DEPLOYMENTS = """
## The deployments

| deployment | steps | simulated by |
|---|---|---|
"""
_ARITHMETIC = """
## The arithmetic of `advise`

[`fencepost advise`](advise.md#the-arithmetic) computes expected costs by arithmetic, and the
simulator runs messages. `tox -e advice` compares both. Partition-seconds of a deployment, on
average:

| group | form | runs | by arithmetic | simulated |
|---|---|---|---|---|
"""
_CLAIMS = """\
# The claims of KIP-345

{made}

KIP-345, and an article about cooperative rebalancing and static membership, make claims about their
benefits. This page compares each claim, in our words, with the simulator and with [real
Kafkas](reality.md): {members} members, {partitions} partitions, a session of {session:g} s, a
heartbeat interval of {beat:g} s, restarts of about 2 s. *Real* covers all libraries and brokers of
that page, in *runs* runs.

"""
_CLAIMS_HEAD = """\
| | claim | source | promised | simulated | real | runs | |
|---|---|---|---|---|---|---|---|
"""


def reality_page(results: Sequence[CaseResult], agreement: Agreement | None = None) -> str:
    """Return the page of all results, in Markdown; `agreement`: of the arithmetic of `advise`."""
    jitter = jitter_s(results)
    text = _REALITY.format(made=_MADE, jitter=jitter, seeds=SEEDS, **_setting(results))
    lines = [*_reality_lines(results, jitter), *_agreement_lines(agreement)]
    return text + _HEAD + "\n".join(lines) + "\n"


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
    yield "## Reasons for differences"
    for number, (name, known_reason) in enumerate(REASONS.items(), 1):
        yield ""
        yield f"### {number}. {known_reason.title} {{ #{name} }}"
        yield ""
        yield known_reason.text.strip()


def _agreement_lines(agreement: Agreement | None) -> Iterator[str]:
    """Yield the section that compares the arithmetic of `advise` with the simulator."""
    if agreement is None:
        return
    yield _ARITHMETIC.rstrip("\n")
    for each in agreement.table:
        yield (
            f"| {group_words(each.facts)} | {each.form}, {each.session_s:g} s | {each.runs} "
            f"| {each.by_arithmetic_s:,.1f} | {each.simulated_s:,.1f} |"
        )
    drawn = agreement.drawn
    outside = [each for each in drawn if not each.is_near]
    over = [each for each in drawn if each.is_overestimated]
    others = [each for each in outside if not each.is_overestimated]
    yield ""
    yield (
        f"{len(drawn) - len(outside)} of {len(drawn)} events of random groups, "
        f"{drawn[0].runs} runs each, agree within a tenth plus half a heartbeat interval of one "
        f"member's partitions. {len(over)} of the events were deployments to several processes at "
        "a time with slow polls, which are mostly overestimated: "
        f"{sum(e.is_near for e in over)} of these agree. {len(others)} others don't:"
    )
    yield ""
    for each in others:
        yield (
            f"- {each.scenario}, {group_words(each.facts)}, {each.form}, {each.session_s:g} s: "
            f"{each.by_arithmetic_s:,.1f} by arithmetic, {each.simulated_s:,.1f} simulated"
        )


def _resumes(results: Sequence[CaseResult]) -> Iterator[str]:
    """Yield the extra time of a rebalance beyond that of messages.

    The simulator takes it from here.
    """
    resumes = resumes_s(results)
    if not resumes:
        return
    yield ""
    yield (
        f"In `{CASE}` each real rebalance took {resumes[0]:.2f} to {resumes[-1]:.2f} s longer for "
        f"each partition, in the median {median(resumes):.2f} s. This is the default of "
        "`--resume-s` in `simulate` and [`advise`](advise.md): the time until a member reads what "
        "a rebalance assigns to it. The simulations on this page used `--resume-s 0`. The time "
        "ends with the callback of the library, before the first fetch. It was measured on a busy "
        "machine, in deployments: a single rebalance of a quiet group took less."
    )


def _limits(results: Sequence[CaseResult]) -> Iterator[str]:
    """Yield the outages of brokers, and the cases that were run once, or not at all."""
    downs_s = [seconds for result in results for real in result.real for seconds in real.downs_s]
    if downs_s:
        yield ""
        yield (
            f"In `failover` the broker was away for {min(downs_s):.0f} to {max(downs_s):.0f} s "
            "instead of 5 s: a killed Kafka needs this time until it serves its groups again."
        )
    done = {result.key for result in results}
    once = sum(len(result.real) == 1 for result in results)
    yield ""
    yield f"{once} of these {len(results)} were run once, the others more often."
    missing, refused = [], []
    for case, broker, client in product(CASES, BROKERS, CLIENTS):
        if why := case.lacks(client):
            refused.append(f"- {case.name} by {client}: {why}.")
        elif (case.name, f"kafka:{broker}", client) not in done:
            missing.append(f"- {case.name} on {broker} by {client}")
    if missing:
        yield ""
        yield "Not run yet:"
        yield ""
        yield from missing
    yield ""
    yield "Can't be run:"
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
    yield "## Notes"
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
    reality = reality_page(results, read_agreement(docs / AGREEMENT))
    for name, text in ((REALITY_PAGE, reality), (CLAIMS_PAGE, claims)):
        (docs / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
