"""Run a scenario of plain values, which other processes can take, and compute its cost.

Times are seconds from the first step.  Traffic is counted by API, at the coordinator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from fencepost.conformance.simulate.consumption import (
    PartitionTimes,
    consumption,
    far_ms,
    place_of,
)
from fencepost.conformance.simulate.deployment import (
    Performer,
    RunningDeployment,
    all_steps,
    host_of,
    perform,
    until,
)
from fencepost.conformance.simulate.deployment_scenario import (
    BEAT_MS,
    DeploymentScenario,
    ScenarioError,
    Spread,
    draw_ms,
)
from fencepost.conformance.simulate.simulated_events import AnyRebalance
from fencepost.conformance.simulate.simulation import SimulatedExchange, SkippedRequests
from fencepost.conformance.wire.codec import encode_message
from fencepost.model.messages.messages import HeartbeatResponse
from fencepost.model.messages.shapes import Message
from fencepost.model.revisions.revisions import is_in_a_file, rows_of_its_own
from fencepost.traces.files.document_schema import Count, Document, DocumentSchema, Seconds
from fencepost.traces.operations.operator_rows import Cause, End, Remedy
from fencepost.traces.operations.rebalances import JudgedRebalance

CauseWord = Annotated[str, Meta(extra_json_schema={"enum": [cause.value for cause in Cause]})]
RemedyWord = Annotated[str, Meta(extra_json_schema={"enum": [each.value for each in Remedy]})]


class ApiTraffic(Document, frozen=True):
    """Requests of one API at the coordinator, and the bytes of them and of their answers."""

    requests: Count
    bytes_in: Count
    bytes_out: Count


class RebalanceRow(Document, frozen=True):
    """A rebalance.  `took_s` None: it was cut off by another one, or a failover.

    `remedy`: what would have avoided it, in the words of `audit`; unknown of one without a
    generation.
    """

    at_s: Seconds
    cause: CauseWord
    who: str
    note: str
    also: tuple[str, ...]
    generation: int | None
    members: int | None
    took_s: Seconds | None
    remedy: RemedyWord = Remedy.UNKNOWN.value


class FailureRow(Document, frozen=True):
    """A process that got a fatal error, by its code and API."""

    at_s: Seconds
    member: str
    code: str
    where: str


class PartitionRow(Document, frozen=True):
    """A partition.  `held`: the times when it was consumed, each with the member."""

    topic: str
    partition: Count
    unavailable_s: Seconds
    longest_gap_s: Seconds
    twice_s: Seconds
    moves: Count
    held: tuple[tuple[Seconds, Seconds, str], ...]


class Percentiles(Document, frozen=True):
    """Values that this percentage of the runs don't exceed; None: the group was not balanced.

    `mean`: of all runs.  A run that was never balanced counts as longer than all others.
    """

    p5: float | None
    p50: float | None
    p95: float | None
    p100: float | None
    mean: float | None


class Cost(Document, frozen=True, kw_only=True):
    """A run of a scenario.

    `unavailable_partition_s`, `twice_partition_s`: summed over partitions.  `far_partition_s`: the
    time that partitions were consumed from racks without a replica; None: without `replicas`.
    `longest_gap_s`: of any partition.  `balanced_after_s`: the time of the last change; None: the
    group was not balanced at the end.  `lasted_s`: the observed time.  `halted`: deployments that
    stopped.  `remedies`: the number of rebalances that each would have avoided, as of `causes`.
    `rules_never_applied`: the rules of a revision in a file that decided nothing in any run.
    `seeds`, `percentiles`: of all runs, where this is the first of several.
    """

    schema: Literal["simulation-1"] = "simulation-1"
    scenario: str
    variant: str
    seed: int
    members: Count
    partitions: Count
    rebalances: Count
    generations: Count
    partitions_moved: Count
    unavailable_partition_s: Seconds
    longest_gap_s: Seconds
    twice_partition_s: Seconds
    far_partition_s: Seconds | None
    balanced_after_s: Seconds | None
    lasted_s: Seconds
    requests: Count
    bytes: Count
    causes: dict[str, Count]
    halted: tuple[str, ...]
    failures: tuple[FailureRow, ...]
    apis: dict[str, ApiTraffic]
    each_rebalance: tuple[RebalanceRow, ...]
    each_partition: tuple[PartitionRow, ...]
    remedies: dict[str, Count] = msgspec.field(default_factory=dict)
    rules_never_applied: tuple[str, ...] | UnsetType = UNSET
    seeds: Annotated[tuple[int, ...], Meta(min_length=2)] | UnsetType = UNSET
    percentiles: dict[str, Percentiles] | UnsetType = UNSET

    def figures(self) -> dict[str, float | None]:
        """Return the numbers that runs are compared by."""
        return {name: getattr(self, name) for name in FIGURES}


_CostDocument = Annotated[
    Cost,
    Meta(
        extra_json_schema={
            "dependentRequired": {"seeds": ["percentiles"], "percentiles": ["seeds"]}
        }
    ),
]
FIGURES = (
    "rebalances",
    "generations",
    "partitions_moved",
    "unavailable_partition_s",
    "longest_gap_s",
    "twice_partition_s",
    "far_partition_s",
    "balanced_after_s",
    "requests",
    "bytes",
)
PERCENTILES = (5, 50, 95, 100)


def percentiles(costs: Sequence[Cost]) -> dict[str, Percentiles]:
    """Compute percentiles of each figure over the runs."""
    rows: dict[str, Percentiles] = {}
    for name in FIGURES:
        values = [getattr(cost, name) for cost in costs]
        known = sorted(value for value in values if value is not None)
        ordered = [*known, *[None] * (len(values) - len(known))]
        rows[name] = Percentiles(
            **{f"p{p}": ordered[max(-(-len(ordered) * p // 100), 1) - 1] for p in PERCENTILES},
            mean=round(sum(known) / len(known), 3) if len(known) == len(values) else None,
        )
    return rows


class Variant(msgspec.Struct, frozen=True):
    """The runs of a scenario in one form, the first in full."""

    costs: tuple[Cost, ...]

    @property
    def first(self) -> Cost:
        """The run of the first seed."""
        return self.costs[0]

    @property
    def rules_never_applied(self) -> tuple[str, ...]:
        """The rules of a revision in a file that decided nothing in any run."""
        each = [cost.rules_never_applied or () for cost in self.costs]
        return tuple(rule for rule in each[0] if all(rule in unused for unused in each))

    def document(self) -> Cost:
        """Return the first run; and, where there are several, the percentiles of all."""
        if len(self.costs) == 1:
            return self.first
        seeds = tuple(cost.seed for cost in self.costs)
        document = msgspec.structs.replace(
            self.first, seeds=seeds, percentiles=percentiles(self.costs)
        )
        if self.first.rules_never_applied is UNSET:
            return document
        return msgspec.structs.replace(document, rules_never_applied=self.rules_never_applied)


class Comparison(Document, frozen=True, kw_only=True):
    """A scenario in several forms."""

    schema: Literal["simulation-1"] = "simulation-1"
    compared: Annotated[tuple[_CostDocument, ...], Meta(min_length=2)]


SCHEMA = DocumentSchema(
    "simulation-1",
    "fencepost simulation 1",
    "The cost of a simulated deployment for a consumer group: `fencepost simulate --json`. "
    "Times are in seconds from the first step.",
    (_CostDocument, Comparison),
    {
        "Cost": "cost",
        "Comparison": "comparison",
        "Percentiles": "percentiles",
        "FailureRow": "failure",
        "ApiTraffic": "traffic",
        "RebalanceRow": "rebalance",
        "PartitionRow": "partition",
    },
)


def costs_json(variants: Sequence[Variant]) -> dict[str, Any]:
    """Return the document of one form, or of several that are compared."""
    documents = tuple(variant.document() for variant in variants)
    return (documents[0] if len(documents) == 1 else Comparison(compared=documents)).plain()


def traffic_of(
    history: Iterable[SimulatedExchange], skipped: Iterable[SkippedRequests]
) -> dict[str, ApiTraffic]:
    """Count a coordinator's requests, with the skipped heartbeats; bytes are framed."""
    counts: Counter[str] = Counter()
    received: Counter[str] = Counter()
    sent: Counter[str] = Counter()
    for exchange in history:
        if isinstance(exchange.request, Message):
            counts[exchange.api] += 1
            received[exchange.api] += _request_size(
                exchange.api, exchange.version, exchange.request, exchange.client_id or ""
            )
            if isinstance(exchange.answer, Message):
                sent[exchange.api] += _answer_size(exchange.api, exchange.version, exchange.answer)
    for client, request, times in skipped:
        assert isinstance(request.message, Message)  # noqa: S101  (for the type checker)
        counts[request.api] += times
        size = _request_size(request.api, request.version, request.message, client)
        received[request.api] += times * size
        answer = HeartbeatResponse(error_code=0)
        sent[request.api] += times * _answer_size(request.api, request.version, answer)
    return {
        api: ApiTraffic(requests=counts[api], bytes_in=received[api], bytes_out=sent[api])
        for api in sorted(counts)
    }


def _request_size(api: str, version: int, message: Message, client: str) -> int:
    body, client_id = message.to_body(version), place_of(client)
    return len(encode_message(api, "Request", version, 1, body, client_id=client_id))


def _answer_size(api: str, version: int, message: Message) -> int:
    return len(encode_message(api, "Response", version, 1, message.to_body(version)))


BY_ADMIN = "removed by an administrator"
_FORMS_S = 3600.0
"""Seconds for a group to form."""


class SimulationRun(msgspec.Struct, frozen=True):
    """The input of `simulate`: a scenario, its name, a seed, and the detail to keep.

    `is_brief`: without the rows of rebalances and partitions.  `skips`: heartbeats that change
    nothing are skipped; the results are the same.
    """

    scenario: DeploymentScenario
    variant: str = ""
    seed: int = 0
    is_brief: bool = False
    skips: bool = True


def simulate(run: SimulationRun) -> Cost:
    """Run a scenario.  Raises ScenarioError where the group doesn't even form."""
    deployment = RunningDeployment(run.scenario, run.seed, skips=run.skips)
    begin_ms = _form(deployment)
    performer, limit_s = Performer(deployment), run.scenario.settle_s
    performer.add(all_steps(deployment, [s for s in run.scenario.step if s.at_s is None]))
    for step in run.scenario.step:
        if step.at_s is not None:
            performer.add(perform(deployment, step), round(step.at_s * 1000))
    performer.run(deployment.sim.run_for)
    if deployment.consumers or deployment.is_awaited:
        performer.add(until(deployment, deployment.is_balanced, limit_s))
        performer.run(deployment.sim.run_for)
    deployment.sim.run_for(_resume_ms(run.scenario))
    return _cost(run, deployment, begin_ms)


def _form(deployment: RunningDeployment) -> int:
    """Start all processes, and wait for the group; return the beginning of the first step.

    That is within a heartbeat interval from then, by the seed.
    """
    sim = deployment.sim
    for host in deployment.hosts.values():
        deployment.start(host)
    performer = Performer(deployment)
    performer.add(
        until(deployment, lambda: deployment.is_balanced() or bool(deployment.failures), _FORMS_S)
    )
    performer.run(deployment.sim.run_for)
    if not deployment.is_balanced():
        why = "it is not balanced within an hour"
        if deployment.failures:
            failure = deployment.failures[0]
            why = f"{failure.member} got {failure.code} ({failure.where})"
        raise ScenarioError(f"the group does not form: {why}; change the scenario's settings")
    beat_s = (deployment.scenario.settings.heartbeat_interval_ms or BEAT_MS) / 1000
    sim.run_for(draw_ms(Spread(least=0, most=beat_s), f"{deployment.seed}/begin"))
    sim.rest_no_more()
    sim.history.clear()
    sim.skipped.clear()
    return sim.now_ms


def _cost(run: SimulationRun, deployment: RunningDeployment, begin_ms: int) -> Cost:
    sim, scenario = deployment.sim, run.scenario
    sim.rest_no_more()
    partitions = scenario.all_partitions
    window = begin_ms, sim.now_ms, _resume_ms(scenario)
    times = consumption(sim.events, deployment.ended, partitions, *window)
    rebalances = [r for r in deployment.story.end(sim.now_ms) if r.start_ms >= begin_ms]
    rows = tuple(_row(rebalance, begin_ms) for rebalance in rebalances)
    apis = traffic_of(sim.history, sim.skipped)
    return Cost(
        scenario=scenario.name,
        variant=run.variant,
        seed=run.seed,
        members=scenario.members * scenario.threads,
        partitions=len(partitions),
        rebalances=len(rebalances),
        generations=sum(row.generation is not None for row in rows),
        partitions_moved=sum(each.moves for each in times),
        unavailable_partition_s=_s(sum(each.unavailable_ms for each in times)),
        longest_gap_s=_s(max(each.longest_gap_ms for each in times)),
        twice_partition_s=_s(sum(each.twice_ms for each in times)),
        far_partition_s=_far_s(deployment, times),
        balanced_after_s=_balanced_after_s(deployment, times, rebalances, begin_ms),
        lasted_s=_s(sim.now_ms - begin_ms),
        requests=sum(each.requests for each in apis.values()),
        bytes=sum(each.bytes_in + each.bytes_out for each in apis.values()),
        causes=dict(Counter(row.cause for row in rows).most_common()),
        remedies=dict(Counter(row.remedy for row in rows).most_common()),
        rules_never_applied=_never_applied(deployment),
        halted=tuple(deployment.halted),
        failures=tuple(
            FailureRow(
                at_s=_s(each.at_ms - begin_ms),
                member=each.member,
                code=each.code,
                where=each.where,
            )
            for each in deployment.failures
        ),
        apis=apis,
        each_rebalance=() if run.is_brief else rows,
        each_partition=() if run.is_brief else tuple(_times(each, begin_ms) for each in times),
    )


def _never_applied(deployment: RunningDeployment) -> tuple[str, ...] | UnsetType:
    """Return the rules of a user's own revision that decided nothing, in the order of its table."""
    scenario, applied = deployment.scenario, deployment.sim.cluster.applied
    if not is_in_a_file(scenario.revision):
        return UNSET
    own = rows_of_its_own(scenario.coordinator)
    return tuple(rule.id for _, rule in own if rule.id not in applied)


def _far_s(deployment: RunningDeployment, times: Sequence[PartitionTimes]) -> float | None:
    if deployment.scenario.replicas is None:
        return None
    host_racks = {host.name: host.rack for host in deployment.hosts.values()}
    return _s(far_ms(times, lambda member: host_racks[host_of(member)], deployment.placements))


def _balanced_after_s(
    deployment: RunningDeployment,
    times: Sequence[PartitionTimes],
    rebalances: Iterable[AnyRebalance],
    begin_ms: int,
) -> float | None:
    """Return the end of the last rebalance and of the last gap."""
    if not deployment.is_balanced():
        return None
    over = (each.row for each in rebalances if isinstance(each, JudgedRebalance))
    ends = [row.stable_ms or 0 for row in over]
    gained_ms = [held.from_ms for each in times for held in each.held]
    return _s(max([begin_ms, *ends, *gained_ms]) - begin_ms)


def _resume_ms(scenario: DeploymentScenario) -> int:
    return round(scenario.resume_s * 1000)


def _s(ms: int) -> float:
    return round(ms / 1000, 3)


def _row(rebalance: AnyRebalance, begin_ms: int) -> RebalanceRow:
    gone = rebalance.gone
    by_admin = gone is not None and gone.end is End.REMOVED
    who, also = rebalance.who.client_id, tuple(process.client_id for process in rebalance.others)
    if not isinstance(rebalance, JudgedRebalance):
        return RebalanceRow(
            at_s=_s(rebalance.start_ms - begin_ms),
            cause=rebalance.cause.value,
            who=who,
            note=BY_ADMIN if by_admin else rebalance.reason,
            also=also,
            generation=None,
            members=None,
            took_s=None,
        )
    row = rebalance.row
    return RebalanceRow(
        at_s=_s(row.start_ms - begin_ms),
        cause=row.cause.value,
        who=who,
        note=BY_ADMIN if by_admin and row.cause is Cause.LEAVE else row.reason,
        also=also,
        generation=None if row.is_cut and row.members_after is None else row.generation,
        members=row.members_after,
        took_s=None if row.duration_ms is None else _s(row.duration_ms),
        remedy=row.remedy.value,
    )


def _times(each: PartitionTimes, begin_ms: int) -> PartitionRow:
    return PartitionRow(
        topic=each.partition.topic,
        partition=each.partition.partition,
        unavailable_s=_s(each.unavailable_ms),
        longest_gap_s=_s(each.longest_gap_ms),
        twice_s=_s(each.twice_ms),
        moves=each.moves,
        held=tuple(
            (_s(row.from_ms - begin_ms), _s(row.until_ms - begin_ms), row.member)
            for row in each.held
        ),
    )
