"""Name what a world holds: the fields of its group, and what each client knows."""

from __future__ import annotations

from fencepost.properties.worlds.concretise import Unfolding
from fencepost.properties.worlds.consumer_client import ConsumerClient
from fencepost.properties.worlds.world import World, Worlds
from fencepost.traces.files.run_trace import client_names
from fencepost.traces.pages.consumer_fields import consumer_knowledge
from fencepost.traces.pages.group_fields import fields, knowledge


def situation(worlds: Worlds, world: World, meant: Unfolding) -> dict[str, str]:
    """Return the fields of a world: of its group, and what each client knows.

    `meant`: the meaning of its names.
    """
    ids = {member_id: member_id for member_id in meant.ids.values()}
    values = fields(meant.group(world.group), ids, {})
    for name, client, known in zip(client_names(worlds), world.clients, meant.clients, strict=True):
        if isinstance(known, ConsumerClient):
            values[name] = consumer_knowledge(known)
        else:
            values[name] = knowledge(known, str(known.generation), client.waits)
    return values
