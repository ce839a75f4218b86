"""Define what a protocol gives to its worlds: acts, clients, and canonical names of groups.

A world knows no protocol: it asks the `ProtocolWorlds` of its revision's protocol what a client can
do, which request that is, what the client knows afterwards, and which groups are one state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from fencepost.model.messages.shapes import Message
from fencepost.model.work import Emission
from fencepost.properties.logic.structures import Abstraction

if TYPE_CHECKING:
    from fencepost.properties.worlds.scope import NamedScope, Scope

GROUP = "g"
TICK_MS = 3000
SESSION_MS = 2 * TICK_MS
REBALANCE_MS = 3 * TICK_MS
CUT_OFFS = frozenset({"restart", "drop", "switch"})
"""Acts by which a client is cut off; the coordinator sees nothing of them."""

FRESH = "fresh"
"""The id that a request may lead to, before it has its canonical name."""
NOW = "now"
"""The request that is being handled, as its answer is addressed."""
UNKNOWN = "?"
"""The mark of an id that the group does not know."""


@dataclass(frozen=True, slots=True)
class Seat:
    """The identity of a client.

    `instance`: its instance id; None: it is dynamic.  `versions`: API → the version that it speaks.
    `patience`: the factor by which its timeouts are longer than the usual ones.
    """

    instance: str | None
    versions: Mapping[str, int]
    patience: int = 1

    @property
    def name(self) -> str:
        """Return its name in traces."""
        return "dynamic" if self.instance is None else self.instance


class Ask(NamedTuple):
    """A request to be sent: the API, its version, its body."""

    api: str
    version: int
    message: Message


@dataclass(frozen=True, slots=True)
class Naming:
    """A group in canonical form, and the renaming that led to it.

    `ids`: canonical names of the ids that the group knows.  `shift`: the change of numbers: in the
    classic protocol the number to add to a generation, in the consumer protocol each epoch of the
    group with its rank.  `waits`: the name that the request being handled would have had
    before, if it is parked now.
    """

    group: Any
    ids: Mapping[str, str]
    shift: Any
    waits: str = ""


def own_answer(emissions: Iterable[Emission], naming: Naming) -> tuple[Message | None, str]:
    """Return the answer to the request being handled; where it waits, the name by which it does."""
    for emission in emissions:
        if emission.request_id == NOW:
            return emission.message, ""
    return None, naming.waits


@dataclass(frozen=True, slots=True)
class Drawing:
    """Describe which acts of a protocol random walks draw, and where.

    `kinds`: the acts that are drawn, the simplest first: shrinking replaces an act by one before
    it.  `often`: the weights of those without which there is nothing to disturb.  `steady`: those
    that every walk has.  `scopes`: few clients first, and too wide to be explored to the end.
    """

    kinds: tuple[str, ...]
    often: Mapping[str, int]
    steady: frozenset[str]
    scopes: tuple[Scope, ...]

    @property
    def disturbing(self) -> tuple[str, ...]:
        """The kinds that only some walks have.

        With all of them in each, few groups would ever be stable.
        """
        return tuple(kind for kind in self.kinds if kind not in self.steady)

    def without(self, bits: int) -> frozenset[str]:
        """Return the disturbing kinds that a walk lacks: those whose bit is 0."""
        return frozenset(kind for i, kind in enumerate(self.disturbing) if not bits >> i & 1)


class ProtocolWorlds(ABC):
    """The acts, clients and names of one protocol.

    `acts`: each act in words.  `unheard`: those whose answer is lost.  `client`: the type of a
    client's knowledge, a NamedTuple with a `member_id` and with `waits`, the name of a request
    without an answer, or "".  `topic_ids`: id of a topic → its name.  `check_scopes`,
    `rare_scopes`, `promise_scopes`, `diff_scopes`, `cover_scopes`: the scopes in which commands
    look, as those of `fencepost.properties.worlds.scope`; no `cover_scopes`: no walks are made.
    `default_scope`: what `explore` and `step` take.  `drawing`: the acts and scopes of random
    walks.  `abstraction`: groups and events as formulas
    see them.
    """

    acts: Mapping[str, str]
    unheard: frozenset[str] = frozenset()
    client: type[Any]
    topic_ids: Mapping[str, str] = MappingProxyType({})
    default_scope: Scope
    abstraction: Abstraction
    check_scopes: tuple[NamedScope, ...]
    rare_scopes: tuple[NamedScope, ...]
    promise_scopes: tuple[NamedScope, ...]
    diff_scopes: tuple[NamedScope, ...]
    cover_scopes: tuple[NamedScope, ...] = ()
    drawing: Drawing

    # Clients.

    @abstractmethod
    def can(self, scope: Scope, group: Any, client: Any, kind: str, seat: Seat) -> bool:
        """Return True if a client can do an act."""

    @abstractmethod
    def ask(self, scope: Scope, seat: Seat, client: Any, kind: str) -> Ask:
        """Return the request that a client sends in an act.  Raises ValueError for no such act."""

    @abstractmethod
    def asking(self, scope: Scope, client: Any, kind: str) -> Any:
        """Return the client after it sent this request, before any answer."""

    @abstractmethod
    def answered(
        self, scope: Scope, client: Any, kind: str, answer: Message | None, waits: str
    ) -> Any:
        """Return the client whose request was handled: it waits by this name, or was answered."""

    def overheard(self, client: Any, emissions: Iterable[Emission]) -> Any:  # noqa: ARG002
        """Return a client after a step of another, in which its own request may be answered."""
        return client

    @abstractmethod
    def cut_off(self, client: Any, kind: str) -> Any:
        """Return a client after it starts again, or loses its connection."""

    @abstractmethod
    def order(self, client: Any) -> tuple[object, ...]:
        """Return a total order of clients."""

    @abstractmethod
    def number(self, client: Any) -> int:
        """Return the generation or epoch that a client knows; negative if it knows none."""

    @abstractmethod
    def counted(self, group: Any) -> str:
        """Return how far a group has come: `generation 3`, `epoch 3`."""

    @abstractmethod
    def knowledge(self, client: Any, called: Mapping[str, str]) -> tuple[object, ...]:
        """Return what a client knows, with other names of ids; it does not depend on numbers."""

    def can_rest(self, group: Any, client: Any, kind: str) -> bool | None:  # noqa: ARG002
        """Return True if a duty can wait for the next tick; None: it can if it changes nothing."""
        return None

    @abstractmethod
    def duty(self, group: Any, client: Any, seat: Seat) -> str | None:
        """Return the next act of a client that keeps to the protocol; None: it waits or stopped."""

    # Names.

    @abstractmethod
    def named(self, scope: Scope, group: Any) -> Naming:
        """Return the canonical form of a group."""

    @abstractmethod
    def unchanged(self, group: Any) -> Naming:
        """Return the names of a group that is in canonical form, as they are."""

    @abstractmethod
    def known_as(self, client: Any, naming: Naming) -> Any:
        """Rename a client's ids and numbers to those of its group; mark ids it doesn't know."""

    @abstractmethod
    def settled(self, client: Any, others: dict[str, str]) -> Any:
        """Give names to ids that the group doesn't know, in the order in which they come."""

    # Real runs.

    @abstractmethod
    def numbers(self, before: Any, shift: Any) -> Any:
        """Return the meaning of a world's numbers after a step.

        `before`: the meaning before it, None at the beginning; `shift`: that of the step's naming.
        """

    @abstractmethod
    def real_group(self, group: Any, ids: Mapping[str, str], numbers: Any, now_ms: int) -> Any:
        """Return a group of a world in real ids, numbers and times."""

    @abstractmethod
    def real_answer(
        self, message: Message, ids: Mapping[str, str], numbers: Any, makers: Mapping[str, str]
    ) -> Message:
        """Return an answer in real ids and numbers; `makers`: real id → its client."""
