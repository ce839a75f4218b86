"""Choose versions that two revisions have in common, and list requests that only one can express.

Where both know a version with all the fields of the highest of each, clients speak that version, so
that the requests are equal.  Otherwise each revision gets its own form (a draft's), and only the
act is equal.  An act that one of them can't express is a difference of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from fencepost.model.revision import Revision
from fencepost.model.table.expr import text
from fencepost.model.table.table import Rule
from fencepost.properties.worlds import world_client as asks
from fencepost.properties.worlds.protocol_worlds import Ask, Seat
from fencepost.properties.worlds.scope import ActKind, Scope
from fencepost.properties.worlds.world_client import Client

_KNOWN = Client(member_id="x", generation=1, roster=("x",), protocol="range", instances=("",))
_ACTS: dict[ActKind, Callable[[Seat], Ask]] = {
    "join": lambda seat: asks.join(seat, _KNOWN),
    "sync": lambda seat: asks.sync(seat, _KNOWN),
    "heartbeat": lambda seat: asks.heartbeat(seat, _KNOWN),
    "commit": lambda seat: asks.commit(seat, _KNOWN),
    "leave": lambda seat: asks.leave(seat, _KNOWN),
    "remove": lambda seat: asks.leave(seat, _KNOWN, by_instance=True),
}
_SAYS = (
    "group_instance_id",
    "member_name",
    "members",
    "group_instance_id_list",
    "member_identity_list",
)


@dataclass(frozen=True, slots=True)
class Unsaid:
    """A request of a static member that can't carry its instance in one of the revisions.

    `api`: its name in the other revision; `acts`: the acts that send it; `lost`: those that mean
    nothing without an instance, and are not compared.
    """

    revision: str
    api: str
    acts: tuple[ActKind, ...]
    lost: tuple[ActKind, ...]


def spoken(first: Revision, other: Revision) -> tuple[Revision, Revision]:
    """Return the revisions with the versions that clients speak to each.

    Of the consumer protocol there are no drafts with other requests.
    """
    if first.protocol.name != Scope.protocol:
        return first, other
    shared = {}
    for api in first.apis.keys() & other.apis.keys():
        low = max(first.apis[api][0], other.apis[api][0])
        high = min(first.apis[api][1], other.apis[api][1])
        if low <= high:
            shared[api] = (low, high)
    narrow = [replace(r, apis={**r.apis, **shared}) for r in (first, other)]
    kept = {
        api: bounds
        for api, bounds in shared.items()
        if all(
            _carried(n, api) == _carried(r, api)
            for n, r in zip(narrow, (first, other), strict=True)
        )
    }
    return replace(first, apis={**first.apis, **kept}), replace(other, apis={**other.apis, **kept})


def unsaid(first: Revision, other: Revision, scope: Scope) -> tuple[Unsaid, ...]:
    """Return the requests of static members that only one of the revisions can express."""
    if scope.dynamic == scope.clients or scope.protocol != Scope.protocol:
        return ()
    return (*_unsaid(first, other, scope), *_unsaid(other, first, scope))


def merged(entries: Iterable[Unsaid]) -> tuple[Unsaid, ...]:
    """Merge entries: one for each revision and API, with the acts of all."""
    whole: dict[tuple[str, str], Unsaid] = {}
    for loss in entries:
        before = whole.setdefault((loss.revision, loss.api), loss)
        whole[loss.revision, loss.api] = replace(
            loss,
            acts=tuple(dict.fromkeys((*before.acts, *loss.acts))),
            lost=tuple(dict.fromkeys((*before.lost, *loss.lost))),
        )
    return tuple(whole.values())


def differing_rules(first: Revision, other: Revision) -> frozenset[str]:
    """Return the ids of rules that only one of the tables has, or that differ in the other."""
    tables = [
        {rule.id: _effects_of(rule, revision) for _, rule in revision.rules()}
        for revision in (first, other)
    ]
    return frozenset(i for i in tables[0] | tables[1] if tables[0].get(i) != tables[1].get(i))


def _effects_of(rule: Rule, revision: Revision) -> tuple[object, ...]:
    """Return the effects of a rule; a step with a twist is another step."""
    twisted = tuple(revision.twists.get(do) for do in rule.effect)
    return text(rule.guard), rule.effect, rule.answer, rule.echo, twisted


def _unsaid(revision: Revision, than: Revision, scope: Scope) -> Iterator[Unsaid]:
    less: dict[str, list[ActKind]] = {}
    for act, ask in _ACTS.items():
        says = (_names_instance(ask(_seat(who))) for who in (than, revision))
        if act in scope.acts and tuple(says) == (True, False):
            less.setdefault(ask(_seat(than)).api, []).append(act)
    for api, acts in less.items():
        yield Unsaid(revision.name, api, tuple(acts), tuple(a for a in acts if a == "remove"))


def _carried(revision: Revision, api: str) -> list[bool]:
    """Return for each act that uses the API True if it carries the instance."""
    requests = (ask(_seat(revision)) for ask in _ACTS.values())
    return [_names_instance(ask) for ask in requests if ask.api == api]


def _names_instance(ask: Ask) -> bool:
    values = (getattr(ask.message, name, None) for name in _SAYS)
    return any(values)


def _seat(revision: Revision) -> Seat:
    (seat,) = Scope(clients=1).seats(revision)
    return seat
