"""`serve`: run the model as a broker until it is interrupted."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from pathlib import Path

import click

from fencepost.conformance.cli.options.common_options import (
    REVISION,
    SEED,
    Whole,
    json_option,
    output_option,
)
from fencepost.conformance.runtime.event_loop import at_a_signal
from fencepost.conformance.serve.broker import ModelBroker
from fencepost.conformance.serve.broker_apis import (
    MOST_PARTITIONS,
    PARTITIONS,
    may_name_a_topic,
    parse_release,
)
from fencepost.conformance.serve.broker_history import History, appending
from fencepost.conformance.targets.target_registry import find_coordinator
from fencepost.conformance.wire.provocation import read_provocations
from fencepost.model.consumer.settings import ALL_SETTINGS, MAX_SIZE
from fencepost.model.coordinator import CONFIG_DEFAULTS, NAMED_VALUES, numbered
from fencepost.traces.files.bounded import own_version

_SEED_BITS = 32
_LARGEST = 2**31 - 1
_MOST_NODES = 9
_LAST_PORT = 65535
_NONE_ALLOWED = frozenset({"group.max.size", MAX_SIZE})
_port = Whole(1, _LAST_PORT)


def _settings(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, int | None]:
    """Return the group settings; a setting that no broker can have is a usage error."""
    del context, parameter
    settings = dict(CONFIG_DEFAULTS)
    for value in values:
        key, equals, text = value.partition("=")
        if key not in ALL_SETTINGS or not equals:
            known = ", ".join(ALL_SETTINGS)
            raise click.BadParameter(f"{value!r} is not KEY=VALUE; the keys are {known}")
        if text == "none" and key in _NONE_ALLOWED:
            settings[key] = None
            continue
        if key in NAMED_VALUES:
            try:
                settings |= numbered({key: text})
            except ValueError as error:
                raise click.BadParameter(str(error)) from None
            continue
        least = 1 if key in _NONE_ALLOWED else 0
        if not text.isascii() or not text.isdigit() or not least <= int(text) <= _LARGEST:
            raise click.BadParameter(f"{value!r}: give a whole number from {least} to {_LARGEST}")
        settings[key] = int(text)
    least_ms = settings["group.min.session.timeout.ms"] or 0
    most_ms = settings["group.max.session.timeout.ms"] or 0
    if least_ms > most_ms:
        raise click.BadParameter(
            f"group.min.session.timeout.ms={least_ms} is more than "
            f"group.max.session.timeout.ms={most_ms}"
        )
    return settings


def _topics(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, int]:
    del context, parameter
    topics = {}
    for value in values:
        name, colon, count = value.partition(":")
        if not may_name_a_topic(name):
            raise click.BadParameter(f"{name!r}: a topic's name has letters, digits, '.', '_', '-'")
        if colon and not (
            count.isascii() and count.isdigit() and 0 < int(count) <= MOST_PARTITIONS
        ):
            raise click.BadParameter(
                f"{value!r}: a topic has from 1 to {MOST_PARTITIONS} partitions"
            )
        topics[name] = int(count) if colon else PARTITIONS
    return topics


@click.command("serve")
@click.argument("name", type=REVISION, metavar="model[:REVISION]|mutant:NAME")
@click.option("--port", type=_port, help="The port [default: a free one].")
@click.option(
    "--advertise",
    type=_port,
    metavar="PORT",
    help="The port to advertise to clients, if they connect through a proxy [default: --port].",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    callback=_settings,
    metavar="KEY=VALUE",
    help="A group setting, such as group.initial.rebalance.delay.ms=0 [default: Kafka's].  "
    "DescribeConfigs shows it.",
)
@click.option(
    "--topic",
    "topics",
    multiple=True,
    callback=_topics,
    metavar="NAME[:PARTITIONS]",
    help="A topic to create, with 4 partitions by default (may be repeated).  CreateTopics creates "
    "topics, too, and Metadata where it permits that.",
)
@click.option(
    "--nodes",
    type=Whole(1, _MOST_NODES),
    default=1,
    show_default=True,
    help="Number of brokers that share partitions and groups.  With --port they take the "
    "ports that follow it.",
)
@click.option(
    "--as-of",
    metavar="RELEASE",
    help="Advertise the API versions of this Kafka release, from 1.0 on, such as 2.2 "
    "[default: the newest].",
)
@click.option(
    "--provoke",
    "provoked",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Inject these faults, a JSON list: lose or delay answers, answer errors, cut "
    "connections.  `fencepost schema provocations` describes it.",
)
@output_option(
    "Append each request with its answer to this file, as a line of JSON: node, connection, "
    "client, API, version, times in ms since the start, both bodies, and the provocation.  "
    "Of records it has number, bytes and offsets."
)
@click.option(
    "--seed",
    type=SEED,
    help="Seed for member ids, and for the answer where the protocol permits several "
    "[default: random].",
)
@json_option
def serve_command(
    *,
    name: str,
    port: int | None,
    advertise: int | None,
    settings: dict[str, int | None],
    topics: dict[str, int],
    nodes: int,
    as_of: str | None,
    provoked: Path | None,
    output: Path | None,
    seed: int | None,
    as_json: bool,
) -> int:
    """Run the model as a broker on a local TCP port.

    It runs until SIGINT or SIGTERM.

    mutant:NAME is a model with one fault.  serve prints the address of the first node when it is
    ready; with --json it prints all addresses.

    \b
    Supported:
      groups        all versions that the revision has; timers run in real time;
                    a consumer- revision has the consumer protocol instead of
                    the classic one
      records       Produce 3-13, Fetch 4-18 (sessions, topic ids),
                    ListOffsets 1-11, OffsetForLeaderEpoch 2-4,
                    InitProducerId 0-5; the newest 64 MiB are kept in memory;
                    batches stay as they are, compressed or not; older record
                    formats are refused
      transactions  with offsets of groups: AddOffsetsToTxn 0-4, TxnOffsetCommit,
                    EndTxn 0-4; not with records: there is no AddPartitionsToTxn
      others        ApiVersions 0-4 (also for a version that is too high),
                    Metadata 0-13, FindCoordinator 0-6, DescribeCluster 0-2,
                    CreateTopics 2-7, DeleteTopics 1-6, DescribeConfigs 1-4

    In a transaction, TxnOffsetCommit refuses a member that was replaced or lost its generation.
    Until the commit, OffsetFetch with requireStable answers UNSTABLE_OFFSET_COMMIT.

    The groups of the consumer protocol don't notice that a topic is created, deleted or grown: the
    next new target has it.

    Requests of one connection are handled in order: while a JoinGroup waits, later requests on its
    connection wait, too.  If a client disconnects, its group notices it when the session ends.
    Invalid bytes, unknown APIs or versions, and frames over 16 MiB end the connection.

    A case of `fencepost certify` that needs a failover is unsupported on this broker.
    """  # noqa: D301 (click knows a paragraph of its own layout by the character)
    if port is not None and port + nodes - 1 > _LAST_PORT:
        raise click.UsageError(
            f"--nodes {nodes} with --port {port} needs ports up to {port + nodes - 1}, and the "
            f"last one is {_LAST_PORT}: give a lower --port"
        )
    if advertise is not None and nodes > 1:
        raise click.UsageError("--advertise is for one node: leave out --nodes")
    revision = find_coordinator(name)
    if foreign := settings.keys() - {*CONFIG_DEFAULTS, *revision.protocol.settings}:
        raise click.UsageError(
            f"{revision.name} has no setting {min(foreign)}: it is of the consumer protocol, so "
            "leave it out, or serve a revision of that, such as model:consumer-4.3"
        )
    chosen = secrets.randbits(_SEED_BITS) if seed is None else seed
    with contextlib.ExitStack() as stack:
        broker = ModelBroker(
            revision,
            settings,
            seed=chosen,
            port=port or 0,
            advertised_port=advertise,
            nodes=nodes,
            topics=topics,
            release=None if as_of is None else parse_release(as_of),
            history=None
            if output is None
            else History(sink=stack.enter_context(appending(output))),
            provocations=() if provoked is None else read_provocations(provoked),
        )
        asyncio.run(_stay(broker, chosen, as_json=as_json))
    return 0


async def _stay(broker: ModelBroker, seed: int, *, as_json: bool) -> None:
    async with broker:
        serving = asyncio.create_task(broker.serve())
        with at_a_signal(serving.cancel), contextlib.suppress(asyncio.CancelledError):
            address = f"tcp://{broker.address}"
            if as_json:
                document = {
                    "address": address,
                    "addresses": [f"tcp://{at}" for at in broker.addresses.values()],
                    "implementation": f"fencepost-model:{broker.revision.name}",
                    "version": own_version(),
                    "seed": seed,
                    "settings": dict(broker.settings),
                }
                click.echo(json.dumps(document))
            else:
                click.echo(address)
            await serving
