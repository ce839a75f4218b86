"""Hold the story that server.log tells to that of the request log of the same run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from fencepost.traces.operations.operator_report import OperatorReport
from fencepost.traces.operations.operator_rows import Cause, End, Rebalance, Remedy

_UPDATED = "Updating metadata for member"
"""The words of Kafka before 2.5 for each member that joins again, the leader, too."""
_GONE = frozenset({End.LEFT, End.REMOVED, End.EXPIRED, End.DROPPED, End.SILENT})


@dataclass
class Agreement:
    """Numbers of rows that both logs have; `coarser`: of which server.log says less, not else.

    `unseen`: rows that server.log doesn't show at all.
    """

    same: int = 0
    coarser: int = 0
    unseen: int = 0
    different: list[str] = field(default_factory=list)

    def __add__(self, other: Agreement) -> Agreement:
        return Agreement(
            self.same + other.same,
            self.coarser + other.coarser,
            self.unseen + other.unseen,
            [*self.different, *other.different],
        )

    def __str__(self) -> str:
        if self.unseen:
            return f"not shown ({self.unseen})"
        more = f" + {self.coarser}" if self.coarser else ""
        return f"{self.same}{more} / {len(self.different)}"


def agreement(requests: OperatorReport, server: OperatorReport) -> dict[str, Agreement]:
    """Compare the two stories, by name of what is compared."""
    found = {name: Agreement() for name in ("rebalances", "causes", "remedies")}
    told, read = _by_generation(requests), _by_generation(server)
    for key in sorted(told.keys() | read.keys()):
        one, other = told.get(key), read.get(key)
        if one is None or other is None:
            found["rebalances"].different.append(f"{key}: {one} {other}")
            continue
        found["rebalances"].same += 1
        _compare(found["causes"], key, one.cause, other.cause, _coarse_cause(one, other))
        _compare(found["remedies"], key, one.remedy, other.remedy, _coarse_remedy(one))
    replaced = (_ended(report, {End.REPLACED}) for report in (requests, server))
    found["replacements"] = _counted(*replaced)
    for name, of in (("deployments", _deployments), ("loops", _loops)):
        found[name] = _counted_by_group(of(requests), of(server))
    until_ms = requests.until_ms or 0
    gone = _ended(requests, _GONE)
    found["removals"] = _counted(gone, _ended(server, _GONE) - _after(server, until_ms, gone))
    restarted, named = _restarts(requests), _restarts(server)
    found["restarts"] = _counted(restarted & named, named)
    found["restarts"].coarser = (restarted - named).total()
    expired, seen = _expirations(requests), _expirations(server)
    found["expirations"] = _counted(expired, seen - (_expirations(server, until_ms) - expired))
    found["unused ids"] = _counted(*(_unused(report) for report in (requests, server)))
    found["lost groups"] = _counted(*(_lost(report, until_ms) for report in (requests, server)))
    fenced, logged = fenced_alive(requests), fenced_alive(server)
    found["fenced alive"] = _counted(fenced, logged)
    if fenced and not logged:  # the new coordinator doesn't log them
        found["fenced alive"] = Agreement(unseen=fenced.total())
    return found


def _after(
    report: OperatorReport, until_ms: int, but: Counter[tuple[str, str]]
) -> Counter[tuple[str, str]]:
    """Removals after the last request: a request log tells of some only that they are silent."""
    rows = [r for r in report.life_lines.rows if r.end in _GONE and (r.until_ms or 0) > until_ms]
    return Counter((r.group, r.instance_id) for r in rows) - but


def _by_generation(report: OperatorReport) -> dict[tuple[str, int], Rebalance]:
    return {(row.group, row.generation): row for row in report.rebalances.rows}


def _compare(
    into: Agreement, key: object, one: object, other: object, coarse: frozenset[Any]
) -> None:
    if one == other:
        into.same += 1
    elif other in coarse:
        into.coarser += 1
    else:
        into.different.append(f"{key}: {one} {other}")


def _coarse_cause(one: Rebalance, other: Rebalance) -> frozenset[Cause]:
    """Return the causes by which server.log calls a join, where a request log tells more.

    Also those of which only a request log has the failover before them.
    """
    if one.cause is Cause.FAILOVER:
        return frozenset({Cause.MEMBER_REJOIN, Cause.LEADER_REJOIN})
    rejoins = {Cause.CHANGED_SUBSCRIPTION}
    if other.reason.startswith(_UPDATED):
        rejoins.add(Cause.LEADER_REJOIN)
    return frozenset({Cause.MEMBER_REJOIN} if one.cause in rejoins else ())


def _coarse_remedy(row: Rebalance) -> frozenset[Remedy]:
    """Unknown; and a live process that was removed can't be told from one that was restarted."""
    is_longer = row.remedy is Remedy.LONGER_SESSION
    return frozenset({Remedy.UNKNOWN, Remedy.STATIC} if is_longer else {Remedy.UNKNOWN})


def _ended(report: OperatorReport, ends: Iterable[End]) -> Counter[tuple[str, str]]:
    wanted = frozenset(ends)
    rows = report.life_lines.rows
    return Counter((r.group, r.instance_id) for r in rows if r.end in wanted)


def _deployments(report: OperatorReport) -> Counter[tuple[str, str]]:
    """The deployments, with what they cost."""
    rows = report.deployments.rows
    return Counter((r.group, f"{r.restarts} {r.processes} {r.rebalances}") for r in rows)


def _restarts(report: OperatorReport) -> Counter[tuple[str, str]]:
    """Members that left and came back: of one that expired server.log doesn't know if it lived."""
    rows = [row for row in report.restarts.rows if row.end in {End.LEFT, End.REMOVED}]
    return Counter((row.group, row.instance_id or row.process.client_id) for row in rows)


def _expirations(report: OperatorReport, after_ms: int = 0) -> Counter[tuple[str, str]]:
    """Members that expired; after the last request, a request log knows only that of some."""
    rows = [row for row in report.expirations.rows if row.at_ms > after_ms]
    return Counter((row.group, row.instance_id or row.process.client_id) for row in rows)


def _loops(report: OperatorReport) -> Counter[tuple[str, str]]:
    """Loops of rebalances, with their turns."""
    rows = [row for row in report.loops.rows if row.cause is not None]
    return Counter((row.group, f"{row.cause} {row.count}") for row in rows)


def _unused(report: OperatorReport) -> Counter[tuple[str, str]]:
    """Count member ids that were handed out, and not used."""
    return Counter((row.group, row.process.client_id) for row in report.pending_ids.rows)


def _lost(report: OperatorReport, until_ms: int) -> Counter[tuple[str, str]]:
    """Find groups whose last member expired before the last request: not all logs have others."""
    lasts = (figures.lost for figures in report.figures.values())
    return Counter((last.group, "") for last in lasts if last and last.from_ms <= until_ms)


def fenced_alive(report: OperatorReport) -> Counter[tuple[str, str]]:
    """Living processes that lost their instance ids."""
    found: Counter[tuple[str, str]] = Counter()
    for chain in report.chains.rows:
        found[chain.group, chain.instance_id] += chain.fenced
    for row in report.self_fencings.rows:
        found[row.group, row.instance_id] += row.alive
    return +found


def _counted(told: Counter[tuple[str, str]], read: Counter[tuple[str, str]]) -> Agreement:
    made = Agreement(same=(told & read).total())
    differ = sorted((told - read) + (read - told))
    made.different = [f"{key}: {told[key]} {read[key]}" for key in differ]
    return made


def _counted_by_group(told: Counter[tuple[str, str]], read: Counter[tuple[str, str]]) -> Agreement:
    """Count rows of which server.log may have less, or none: not all releases name who joins."""
    made = _counted(told & read, told & read)
    missing, others = told - read, read - told
    for group, row in sorted(missing.elements()):
        part = next((key for key in others if key[0] == group and _is_part(key[1], row)), None)
        if part is not None:
            others[part] -= 1
            others = +others
        made.coarser += part is not None or group not in {name for name, _ in others}
        if part is None and group in {name for name, _ in others}:
            made.different.append(f"{(group, row)}: 1 0")
    made.different += [f"{key}: 0 {count}" for key, count in sorted(others.items())]
    return made


def _is_part(one: str, whole: str) -> bool:
    """Return True if the numbers of a row are none greater than those of another."""
    numbers = ([int(word) for word in row.split() if word.isdigit()] for row in (one, whole))
    return all(less <= more for less, more in zip(*numbers, strict=True))


def table(found: dict[str, dict[str, Agreement]]) -> Iterator[str]:
    """The agreement by target, as a table of Markdown: `same + coarser / different`."""
    names = list(next(iter(found.values())))
    yield f"| | {' | '.join(names)} |"
    yield f"|---{'|---' * len(names)}|"
    for target, row in found.items():
        yield f"| {target} | {' | '.join(str(row[name]) for name in names)} |"
