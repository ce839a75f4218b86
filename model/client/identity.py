"""Which instance id a client sends: the one that the user set, wherever there is room for it.

Source: KIP-345, "Public Interfaces".
"""

from __future__ import annotations

from fencepost.model.client.client_work import ClientWork
from fencepost.model.client.links import INSTANCE_SINCE


def sent_instance(work: ClientWork, api: str, version: int) -> str | None:
    """The instance id for a request of this API and version."""
    instance, conduct = work.settings.group_instance_id, work.conduct
    if instance is None and conduct.names_dynamic:
        instance = work.settings.client_id
    if instance is None or api not in conduct.identified or version < INSTANCE_SINCE[api]:
        return None
    if not conduct.keeps_instance and work.state.membership.was_removed:
        return None
    if conduct.cuts_instance:
        instance = instance.rpartition("-")[0] or instance
    return instance + conduct.instance_suffix
