"""The settings of a consumer, with Kafka's names where it has them, and its defaults.

Source: Kafka's consumer configuration; times in ms.
"""

from __future__ import annotations

import msgspec

from fencepost.model.client.behaviour import RIGHT, Conduct


class ClientSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What a consumer is made with.

    `group_instance_id` None: a dynamic member.  `assignors`: offered in this order; the group is
    cooperative if all of them are.  `max_poll_interval_ms` is the rebalance timeout, too.
    `auto_commit_ms` None: only the user commits.  `fetches` False: the user wants no records, and
    only the membership matters.  `conduct`: what it does rightly, or not.
    """

    group_id: str
    topics: tuple[str, ...]
    client_id: str = ""
    group_instance_id: str | None = None
    assignors: tuple[str, ...] = ("range",)
    rack_id: str | None = None
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3000
    max_poll_interval_ms: int = 300_000
    auto_offset_reset: str = "latest"
    auto_commit_ms: int | None = 5000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1000
    request_timeout_ms: int = 30_000
    join_slack_ms: int = 5000
    """A join's and a sync's answer is awaited for the rebalance timeout and so much more."""
    commit_timeout_ms: int = 60_000
    fetches: bool = True
    fetch_max_wait_ms: int = 500
    metadata_max_age_ms: int = 300_000
    conduct: Conduct = RIGHT
