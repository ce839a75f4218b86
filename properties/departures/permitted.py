"""Find the revision that permits what the judging one does not, in the consumer protocol.

Kafka's releases, the text of KIP-848 and an open proposal differ in some answers.  A coordinator
that keeps to the text, or is ahead of the release that judges, breaks nothing: clients must bear
both.  A rule of level MAY says so of the answer that it gives.  What follows from it shows in later
answers, which are right or wrong by other rules; so the whole history is judged anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from fencepost.model.coordinator import Config
from fencepost.model.history.events import Event
from fencepost.model.revision import Revision, derive
from fencepost.model.revisions.consumer_releases import (
    CONSUMER_4_0,
    CONSUMER_4_1,
    CONSUMER_4_2,
    CONSUMER_4_3,
    CONSUMER_4_3_1,
    CONSUMER_4_4,
    KIP_848,
    PR_23542,
    heeds_no_subscription,
)
from fencepost.properties.oracle.oracle import explained_by

_RELEASES = {
    revision.name: revision
    for revision in (
        CONSUMER_4_0,
        CONSUMER_4_1,
        CONSUMER_4_2,
        CONSUMER_4_3,
        CONSUMER_4_3_1,
        CONSUMER_4_4,
    )
}


def permitting(judge: Revision, config: Config, history: Sequence[Event], *, lag_ms: int) -> str:
    """Return the name of the first other revision that explains a history, or ""."""
    for other in others(judge):
        if explained_by(other, config, history, lag_ms=lag_ms) is not None:
            return other.name
    return ""


@lru_cache
def others(judge: Revision) -> tuple[Revision, ...]:
    """Return what a coordinator may do in place of a release: the text, or what came later.

    Also a part that KAFKA-19431 changed: a member keeps the partitions of a topic that it gave up
    until there is a new target.  A revision that is no release is meant strictly.
    """
    if judge.name not in _RELEASES:
        return ()
    heedless = derive(
        judge,
        f"{judge.name} before KAFKA-19431",
        "what a member has of topics follows its target alone",
        tuple(heeds_no_subscription(judge)),
    )
    text = _text_beside(judge) if judge.name == CONSUMER_4_4.name else KIP_848
    later = list(_RELEASES.values())[list(_RELEASES).index(judge.name) + 1 :]
    return heedless, text, *later, PR_23542


def _text_beside(judge: Revision) -> Revision:
    """Return a release with what the text has otherwise than 4.3, where the release is as 4.3.

    The revision of the text is 4.3 wherever the text says nothing, so as a whole it would also
    permit what a later release has mended.
    """
    before = {rule.id: rule for _, rule in CONSUMER_4_3.rules()}
    now = {rule.id: rule for _, rule in judge.rules()}
    as_before = (d for d in KIP_848.differences if now.get(d.rule_id) is before.get(d.rule_id))
    return derive(judge, KIP_848.name, KIP_848.about, tuple(as_before))
