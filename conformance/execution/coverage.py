"""Which rules a certificate covers, and which rules can't be reached on a target, with the reason.

A rule is covered if every explanation of some passing case used it.

A rule is unreachable if its guard can't be true on the target: the target lacks the API version,
the setting or the feature that the guard needs.  A rule that is reachable by this test may still be
hard to reach.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import product

from fencepost.conformance.execution.outcome import CaseResult, CertificateCoverage, Outcome
from fencepost.model.coordinator import Config, Hello
from fencepost.model.revision import Revision
from fencepost.model.table.expr import Expr, Feature, compile_closure, features_of
from fencepost.model.table.vocabulary import COORDINATOR, DELAY, ROOM, Availability, Delay, Room

_AVAILABILITY = "no command of adapter protocol 1 makes a coordinator load or move away"
_UNREACHED = ("-COORDINATOR-LOADING", "-COORDINATOR-ELSEWHERE")


def coverage_of(revision: Revision, results: Iterable[CaseResult]) -> CertificateCoverage:
    """The coverage of these results."""
    results = list(results)
    covered: set[str] = set()
    lacking: dict[str, str] = {}
    tried: set[str] = set()
    for result in results:
        if result.outcome is Outcome.UNSUPPORTED:
            for rule_id in result.case.rules:
                lacking.setdefault(rule_id, result.message)
            continue
        tried.update(result.case.rules)
        if result.outcome is Outcome.PASS and result.verdict is not None:
            covered |= result.verdict.used
    unreachable: dict[str, str] = {}
    missed: list[str] = []
    for _, rule in revision.rules():
        if rule.id in covered:
            continue
        if rule.defensive is not None:
            unreachable[rule.id] = rule.defensive
        elif rule.id.endswith(_UNREACHED):
            unreachable[rule.id] = _AVAILABILITY
        elif rule.id in lacking and rule.id not in tried:
            unreachable[rule.id] = lacking[rule.id]
        else:
            missed.append(rule.id)
    known = [rule.id for _, rule in revision.rules()]
    return CertificateCoverage(tuple(r for r in known if r in covered), tuple(missed), unreachable)


Allowed = Callable[[Feature, Hashable], bool]

_DELAY, _SIZE = "group.initial.rebalance.delay.ms", "group.max.size"
_FAILOVER = "failover"
_NO_TOPIC = "COMMIT-TOPICS-UNKNOWN"
_ROWS = {"LeaveGroup member": "LeaveGroup"}


def unreachable(revision: Revision, hello: Hello, configs: Sequence[Config]) -> dict[str, str]:
    """Rule → why no plan reaches it on a target with these features and one of these settings.

    A rule that is proved unreachable has its own reason.
    """
    reasons: dict[str, str] = {}
    for table, rule in revision.rules():
        api = _ROWS.get(table.name, table.name)
        if rule.defensive is not None:
            reasons[rule.id] = rule.defensive
        elif table.name == _FAILOVER and "restart" not in hello.features:
            reasons[rule.id] = "the target can't be made to fail over"
        elif rule.id == _NO_TOPIC and "missing-topics" not in hello.features:
            reasons[rule.id] = "the target has no topics that don't exist"
        elif api in revision.apis and api not in hello.apis:
            reasons[rule.id] = f"the target has no {api}"
        else:
            shut = (
                why
                for why, allowed in _wants(api, hello, configs)
                if not _is_open(rule.guard, allowed)
            )
            if (first := next(shut, None)) is not None:
                reasons[rule.id] = first
    return reasons


def _wants(api: str, hello: Hello, configs: Sequence[Config]) -> Iterator[tuple[str, Allowed]]:
    """What the target may lack, each with the answers to a guard's questions that remain then."""
    yield (
        "nothing that is sent makes a coordinator load or move away",
        lambda feature, value: feature is not COORDINATOR or value is Availability.HERE,
    )
    if (bounds := hello.apis.get(api)) is not None:
        versions = range(bounds[0], bounds[1] + 1)
        yield (
            f"the target has {api} v{bounds[0]} to v{bounds[1]}",
            lambda feature, value: feature.name != "version" or value in versions,
        )
    if not any(config.get(_SIZE) for config in configs):
        yield (
            f"the target has no limit ({_SIZE})",
            lambda feature, value: feature is not ROOM or value is Room.FREE,
        )
    if not any(config.get(_DELAY) for config in configs):
        yield (
            f"the target has no initial delay ({_DELAY})",
            lambda feature, value: feature is not DELAY or value is Delay.NONE,
        )


def _is_open(guard: Expr, allowed: Allowed) -> bool:
    """Whether a guard can be true with the allowed answers."""
    features = list({id(f): f for f in features_of(guard)}.values())
    meets = compile_closure(guard, features)
    domains = [[v for v in feature.domain if allowed(feature, v)] for feature in features]
    return any(meets(point) for point in product(*domains))
