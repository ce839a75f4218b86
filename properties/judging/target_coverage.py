"""Find the rules that a certificate covers, and those that a target can't reach, with the reason.

A rule is covered if every explanation of some passing case used it.

A rule is unreachable if its guard can't be true on the target: the target lacks the API version,
the setting or the feature that the guard needs.  A rule that no case could test is missed, not
unreachable.  A rule that is reachable by this test may still be hard to reach.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cache
from itertools import product

from fencepost.model.classic.effects import Do
from fencepost.model.classic.vocabulary import (
    DELAY,
    GENERATION,
    LATE,
    MID,
    PROTOCOL_FIT,
    STATE,
    SUBJECT,
    Delay,
    Fit,
    Generation,
    GroupState,
    Late,
    Mid,
    Subject,
)
from fencepost.model.consumer.settings import MAX_SIZE
from fencepost.model.coordinator import METADATA_LIMIT, MOVES, RECORD_LIMIT, Config, Hello, spans
from fencepost.model.messages.messages import APIS, carried_forms
from fencepost.model.revision import Revision
from fencepost.model.table.expr import Expr, Feature, Point, compile_closure, features_of
from fencepost.model.table.shared_features import (
    COORDINATOR,
    INST,
    METADATA,
    RECORD,
    ROOM,
    Availability,
    Inst,
    Record,
    Room,
)
from fencepost.model.table.table import Rule, Table
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.judging.report import CertificateCoverage

_DELAY, _SIZE = "group.initial.rebalance.delay.ms", "group.max.size"
_CLEANUP = "offsets.retention.check.interval.ms"
_ALL_SETTINGS: Config = dict.fromkeys(
    (_DELAY, _SIZE, MAX_SIZE, _CLEANUP, METADATA_LIMIT, RECORD_LIMIT), 1
)


def coverage_of(
    revision: Revision, hello: Hello, results: Iterable[CaseResult]
) -> CertificateCoverage:
    """Return the coverage of these results of a target.

    A setting counts as lacking only where a case asked for it in vain.
    """
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
    configs = [result.recording.config for result in results if result.recording is not None]
    out = unreachable(revision, hello, [_ALL_SETTINGS])
    settings = unreachable(revision, hello, configs) if lacking else {}
    reasons = {rule: lacking.get(rule, why) for rule, why in out.items()} | {
        rule: why for rule, why in lacking.items() if rule in settings and rule not in tried
    }
    known = [rule.id for _, rule in _own_rules(revision, results)]
    return CertificateCoverage(
        tuple(rule for rule in known if rule in covered),
        tuple(rule for rule in known if rule not in covered and rule not in reasons),
        {rule: reasons[rule] for rule in known if rule in reasons and rule not in covered},
    )


def _own_rules(revision: Revision, results: Iterable[CaseResult]) -> Iterator[tuple[Table, Rule]]:
    """Yield the rules that a certificate of a revision is about, with their tables.

    A part's rules have a catalogue of their own, so they count only where a case is about them.
    """
    about = {rule_id for result in results for rule_id in result.case.rules}
    yield from revision.own_rules()
    for part in revision.parts:
        yield from ((table, rule) for table, rule in part.rules() if rule.id in about)


def without_unreachable(
    revision: Revision, hello: Hello, results: Iterable[CaseResult]
) -> list[CaseResult]:
    """Return the results; undecided ones about an unreachable rule are unsupported."""
    out = unreachable(revision, hello, [_ALL_SETTINGS])

    def reached(result: CaseResult) -> CaseResult:
        why = next((out[rule] for rule in result.case.rules if rule in out), None)
        if why is None or result.outcome is not Outcome.UNKNOWN:
            return result
        return CaseResult(result.case, Outcome.UNSUPPORTED, result.case.level, why)

    return [reached(result) for result in results]


Allowed = Callable[[Feature, Hashable], bool]

_FAILOVER, _DELETION = "failover", "topics deleted"
_CLEANER = frozenset({"cleanup", "offset retention"})
_NO_TOPICS = frozenset({"COMMIT-TOPICS-UNKNOWN", "TXN-COMMIT-TOPICS-UNKNOWN"})
_CONSUMER = "CG-"
"""The beginning of the ids of the consumer protocol's rules."""
_NAMES_NOBODY = "TXN-COMMIT-ANONYMOUS"
_OF_MEMBERS = {"session timeout": "JoinGroup", "join phase": "JoinGroup", "sync phase": "SyncGroup"}
_IDS_FIRST = 4
"""The first version of JoinGroup that hands out ids."""


def unreachable(revision: Revision, hello: Hello, configs: Sequence[Config]) -> dict[str, str]:
    """Return rule → why no plan reaches it on a target with these features and settings.

    A rule that is proved unreachable has its own reason.
    """
    reasons: dict[str, str] = {}
    wants = cache(lambda api: tuple(_wants(api, revision, hello, configs)))
    for table, rule in revision.rules():
        api = table.name.partition(" ")[0]
        if api not in revision.apis:
            api = _OF_MEMBERS.get(table.name, table.name)
        if rule.defensive is not None:
            reasons[rule.id] = rule.defensive
        elif table.name == _FAILOVER and hello.features.isdisjoint({"restart", MOVES}):
            reasons[rule.id] = "the target can't be made to fail over"
        elif table.name == _DELETION and "delete-topics" not in hello.features:
            reasons[rule.id] = "no topic of the target can be deleted"
        elif table.name in _CLEANER and not any(config.get(_CLEANUP) for config in configs):
            reasons[rule.id] = f"the target removes nothing that is unused ({_CLEANUP})"
        elif _is_of_missing_topics(rule) and "missing-topics" not in hello.features:
            reasons[rule.id] = "the target has no topics that don't exist"
        elif api in revision.apis and api not in hello.apis:
            reasons[rule.id] = f"the target has no {api}"
        elif not _carries(api, "memberId", hello) and _asks_for_a_member(rule, table):
            reasons[rule.id] = f"the target has {_spoken(api, hello)}, which name no member"
        elif Do.POSTPONE in rule.effect and not _names_instances("JoinGroup", hello):
            reasons[rule.id] = _no_static(hello)
        else:
            is_open = _opening(rule.guard)
            shut = (why for why, allowed in wants(api) if not is_open(allowed))
            if (first := next(shut, None)) is not None:
                reasons[rule.id] = first
    return reasons


def _is_of_missing_topics(rule: Rule) -> bool:
    return rule.id.removeprefix(_CONSUMER) in _NO_TOPICS


def _wants(
    api: str, revision: Revision, hello: Hello, configs: Sequence[Config]
) -> Iterator[tuple[str, Allowed]]:
    """Yield features that the target may lack, each with the possible answers to a guard then."""
    yield (
        "fencepost sends no request to a coordinator that is loading or has moved away",
        lambda feature, value: feature is not COORDINATOR or value is Availability.HERE,
    )
    if versions := hello.versions(api):
        yield (
            f"the target has {_spoken(api, hello)}",
            lambda feature, value: feature.name != "version" or value in versions,
        )
    is_classic = "JoinGroup" in revision.apis
    if is_classic:
        yield from _wants_of_members(api, hello)
    size = _SIZE if is_classic else MAX_SIZE
    if not any(config.get(size) for config in configs):
        yield (
            f"the target has no limit ({size})",
            lambda feature, value: feature is not ROOM or value is Room.FREE,
        )
    if not any(config.get(METADATA_LIMIT) for config in configs):
        yield (
            f"the target has no limit ({METADATA_LIMIT})",
            lambda feature, value: feature is not METADATA or value is False,
        )
    if not any(config.get(RECORD_LIMIT) for config in configs):
        yield (
            f"the target has no limit ({RECORD_LIMIT})",
            lambda feature, value: feature is not RECORD or value is Record.FITS,
        )
    if not any(config.get(_DELAY) for config in configs):
        yield (
            f"the target has no initial delay ({_DELAY})",
            lambda feature, value: feature is not DELAY or value is Delay.NONE,
        )


def _wants_of_members(api: str, hello: Hello) -> Iterator[tuple[str, Allowed]]:
    """Yield the fields that the target's versions can't carry for members."""
    if not _names_instances(api, hello):
        yield (
            f"the target has {_spoken(api, hello)}, which name no instance",
            lambda feature, value: feature is not INST or value is Inst.NONE,
        )
    if not _names_instances("JoinGroup", hello):
        nobody = {Inst.NONE, Inst.UNMAPPED}
        yield (
            _no_static(hello),
            lambda feature, value: (
                (feature is not INST or value in nobody)
                and (feature is not LATE or value is Late.DYNAMIC)
            ),
        )
    if "JoinGroup" in hello.apis and max(b[1] for _, b in _forms("JoinGroup", hello)) < _IDS_FIRST:
        yield (
            f"the target has {_spoken('JoinGroup', hello)}, which hand out no ids",
            lambda feature, value: (
                (feature is not MID or value is not Mid.PENDING)
                and (feature is not SUBJECT or value is not Subject.PENDING)
            ),
        )
    if "SyncGroup" in hello.apis and not _carries("SyncGroup", "protocolName", hello):
        yield (
            f"the target has {_spoken('SyncGroup', hello)}, which name no protocol",
            lambda feature, value: feature is not PROTOCOL_FIT or value is Fit.MATCHING,
        )
    if "JoinGroup" not in hello.apis:
        without = {GroupState.ABSENT} | (
            {GroupState.EMPTY} if "OffsetCommit" in hello.apis else set()
        )
        yield (
            "the target has no JoinGroup",
            lambda feature, value: (
                (feature.name != STATE.name or value in without)
                and (feature is not MID or value in {Mid.EMPTY, Mid.UNKNOWN})
            ),
        )
    if "SyncGroup" not in hello.apis:
        yield (
            "the target has no SyncGroup",
            lambda feature, value: feature.name != STATE.name or value is not GroupState.STABLE,
        )


def _asks_for_a_member(rule: Rule, table: Table) -> bool:
    """Return True for a rule of transactions that no commit reaches that names nobody."""
    ids = [known.id for known in table.rules()]
    if _NAMES_NOBODY not in ids:
        return False
    behind = ids.index(rule.id) > ids.index(_NAMES_NOBODY)
    return behind or not _opening(rule.guard)(
        lambda feature, value: feature is not GENERATION or value is Generation.NEGATIVE
    )


def _no_static(hello: Hello) -> str:
    return f"the target has {_spoken('JoinGroup', hello)}, so no static members"


def _spoken(api: str, hello: Hello) -> str:
    """Return an API with its versions, e.g. `JoinGroup versions 0 to 4`."""
    versions = hello.versions(api)
    return f"{api} {spans(versions)}" if versions else f"no {api}"


def _names_instances(api: str, hello: Hello) -> bool:
    """Return True if the target lacks the API, or has a version of it with an instance."""
    return api not in hello.apis or _carries(api, "groupInstanceId", hello)


def _carries(api: str, name: str, hello: Hello) -> bool:
    """Return True if a request to the target has a field of this name; a draft's has any."""
    return any(
        form not in APIS or any(name in _field_names(form, v) for v in hello.versions(form))
        for form, _ in _forms(api, hello)
    )


@cache
def _field_names(api: str, version: int) -> frozenset[str]:
    """Return the names of the fields of a request, and of its rows, at a version."""
    return frozenset(field.name for _, field in carried_forms(APIS[api].request, version))


def _forms(api: str, hello: Hello) -> list[tuple[str, tuple[int, int]]]:
    """Return an API and its drafts, such as `JoinGroup/member-name`, with their versions."""
    return [(name, at) for name, at in hello.apis.items() if name.partition("/")[0] == api]


def _opening(guard: Expr) -> Callable[[Allowed], bool]:
    """Return the function that says if a guard can be true with the allowed answers."""
    features = list({id(f): f for f in features_of(guard)}.values())
    meets = compile_closure(guard, features)

    @cache  # most reasons leave all answers to most guards
    def is_met(domains: tuple[Point, ...]) -> bool:
        return any(map(meets, product(*domains)))

    return lambda allowed: is_met(
        tuple(tuple(v for v in feature.domain if allowed(feature, v)) for feature in features)
    )
