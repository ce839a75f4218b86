"""What members of a simulated deployment are set to, and what a step may change of it."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from fencepost.model.assignors.assignors import ASSIGNORS
from fencepost.model.client.consumer_settings import ClientSettings
from fencepost.model.suggestions import did_you_mean

Ms = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
SessionMs = Annotated[int, msgspec.Meta(ge=6000, le=1_800_000)]
"""What brokers allow by default: group.min.session.timeout.ms, group.max.session.timeout.ms."""
_BY_STRATEGY = {
    "eager": ("range",),
    "cooperative": ("cooperative-sticky",),
    "both": ("range", "cooperative-sticky"),
}
GROUP_ID = "group"
SESSION_MS, BEAT_MS, POLL_MS = 45_000, 3000, 300_000
"""What Kafka's Java client has where nothing is set: KIP-735, KIP-62."""
METADATA_MS = 300_000
"""Kafka's metadata.max.age.ms: a client knows of changed replicas after so long at the latest."""
A_YEAR_MS = 365 * 24 * 3600 * 1000
"""For what doesn't matter here: no records are read, and a broker that is gone hangs up."""


class MemberSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Settings of consumers, by Kafka's names; None: as it was.

    `strategy` chooses the assignor, unless `assignors` names them; `both` is what Java's client
    offers by default since 3.0, and rebalances eagerly.  `instance_id`: of a static
    member; `{member}` stands for its own name, so that without it all have the same.

    Raises ValueError (msgspec.ValidationError when read) for what can't be.
    """

    membership: Literal["dynamic", "static"] | None = None
    strategy: Literal["eager", "cooperative", "both"] | None = None
    assignors: tuple[str, ...] | None = None
    instance_id: str | None = None
    session_timeout_ms: SessionMs | None = None
    heartbeat_interval_ms: Ms | None = None
    max_poll_interval_ms: Ms | None = None

    def __post_init__(self) -> None:
        """Check names, and that a strategy and assignors agree."""
        for name in self.assignors or ():
            if name not in ASSIGNORS:
                near = did_you_mean(name, ASSIGNORS) or f"; there is {', '.join(ASSIGNORS)}"
                raise ValueError(f"no assignor is called {name!r}{near}")
        if self.assignors == ():
            raise ValueError(f"`assignors` is empty: name one of {', '.join(ASSIGNORS)}")
        if self.strategy and self.assignors and self.strategy != strategy_of(self.assignors):
            raise ValueError(
                f"`strategy` {self.strategy!r} doesn't go with `assignors` "
                f"{list(self.assignors)}, which are {strategy_of(self.assignors)}: leave one out"
            )
        if self.instance_id == "":
            raise ValueError("`instance_id` is empty: leave it out, or name the member in it")

    def over(self, before: MemberSettings) -> MemberSettings:
        """These settings, and for what they leave out those before."""
        found = {name: getattr(before, name) for name in self.__struct_fields__}
        own = {name: getattr(self, name) for name in self.__struct_fields__}
        if self.strategy or self.assignors:
            found |= {"strategy": None, "assignors": None}
        return MemberSettings(
            **found | {name: value for name, value in own.items() if value is not None}
        )

    @property
    def offered(self) -> tuple[str, ...]:
        """The assignors, in the order in which they are offered."""
        return self.assignors or _BY_STRATEGY[self.strategy or "eager"]

    def instance_of(self, member: str) -> str | None:
        """A member's instance id; None: it is dynamic."""
        if self.membership != "static":
            return None
        return (self.instance_id or "{member}").replace("{member}", member)

    def client(
        self, member: str, topics: tuple[str, ...], rack: str | None, metadata_max_age_ms: int
    ) -> ClientSettings:
        """What a consumer is made with."""
        return ClientSettings(
            group_id=GROUP_ID,
            topics=topics,
            client_id=member,
            group_instance_id=self.instance_of(member),
            assignors=self.offered,
            rack_id=rack,
            session_timeout_ms=self.session_timeout_ms or SESSION_MS,
            heartbeat_interval_ms=self.heartbeat_interval_ms or BEAT_MS,
            max_poll_interval_ms=self.max_poll_interval_ms or POLL_MS,
            auto_commit_ms=None,
            fetches=False,
            request_timeout_ms=A_YEAR_MS,
            metadata_max_age_ms=metadata_max_age_ms,
        )


def strategy_of(assignors: tuple[str, ...]) -> str:
    """What the assignors allow: cooperative if all of them do."""
    return "cooperative" if all(ASSIGNORS[name].is_cooperative for name in assignors) else "eager"


DEFAULTS = MemberSettings(
    membership="dynamic",
    strategy="eager",
    session_timeout_ms=SESSION_MS,
    heartbeat_interval_ms=BEAT_MS,
    max_poll_interval_ms=POLL_MS,
)
"""Those of Kafka's Java client."""
