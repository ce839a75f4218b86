"""`serve`: run the model as a broker until it is interrupted."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets

import click

from fencepost.conformance.cli.options.common import REVISION, json_option
from fencepost.conformance.runtime.signals import at_a_signal
from fencepost.conformance.runtime.versions import own_version
from fencepost.conformance.serve.apis import PARTITIONS, may_name_a_topic
from fencepost.conformance.serve.broker import ModelBroker
from fencepost.conformance.targets.registry import find_model
from fencepost.model.coordinator import CONFIG_DEFAULTS
from fencepost.model.revision import Revision

_SEED_BITS = 32
_LARGEST = 2**31 - 1
_NONE_ALLOWED = "group.max.size"
_port = click.IntRange(1, 65535)


def _settings(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, int | None]:
    """The group settings; what no broker could have is a usage error."""
    del context, parameter
    settings = dict(CONFIG_DEFAULTS)
    for value in values:
        key, equals, text = value.partition("=")
        if key not in CONFIG_DEFAULTS or not equals:
            known = ", ".join(CONFIG_DEFAULTS)
            raise click.BadParameter(f"{value!r} is not KEY=VALUE; the keys are {known}")
        if text == "none" and key == _NONE_ALLOWED:
            settings[key] = None
            continue
        least = 1 if key == _NONE_ALLOWED else 0
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
) -> tuple[str, ...]:
    del context, parameter
    for name in values:
        if not may_name_a_topic(name):
            raise click.BadParameter(f"{name!r}: a topic's name has letters, digits, '.', '_', '-'")
    return values


@click.command("serve")
@click.argument("name", type=REVISION, metavar="model[:REVISION]|mutant:NAME")
@click.option("--port", type=_port, help="The port [default: a free one].")
@click.option(
    "--advertise",
    type=_port,
    metavar="PORT",
    help="The port that clients are told, if there is a proxy [default: --port].",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    callback=_settings,
    metavar="KEY=VALUE",
    help="A group setting, such as group.initial.rebalance.delay.ms=0 [default: Kafka's].",
)
@click.option(
    "--topic",
    "topics",
    multiple=True,
    callback=_topics,
    metavar="NAME",
    help="A topic with 4 partitions (may be repeated).",
)
@click.option("--seed", type=int, help="The seed of open choices and member ids [default: random].")
@json_option
def serve_command(
    *,
    name: str,
    port: int | None,
    advertise: int | None,
    settings: dict[str, int | None],
    topics: tuple[str, ...],
    seed: int | None,
    as_json: bool,
) -> int:
    """Run the model as a broker on a local TCP port.

    It runs on a real clock until it is interrupted.  mutant:NAME is a model that is broken on
    purpose.  Its address is
    printed when it is ready.  Topics are empty, and nothing can be produced.
    """
    revision = find_model(name)
    chosen = secrets.randbits(_SEED_BITS) if seed is None else seed
    broker = ModelBroker(
        revision,
        settings,
        seed=chosen,
        port=port or 0,
        advertised_port=advertise,
        topics=dict.fromkeys(topics, PARTITIONS),
    )
    asyncio.run(_stay(broker, revision, chosen, as_json=as_json))
    return 0


async def _stay(broker: ModelBroker, revision: Revision, seed: int, *, as_json: bool) -> None:
    async with broker:
        serving = asyncio.create_task(broker.serve())
        with at_a_signal(serving.cancel), contextlib.suppress(asyncio.CancelledError):
            address = f"tcp://{broker.address}"
            if as_json:
                told = {
                    "address": address,
                    "implementation": f"fencepost-model:{revision.name}",
                    "version": own_version(),
                    "seed": seed,
                    "settings": dict(broker.settings),
                }
                click.echo(json.dumps(told))
            else:
                click.echo(address)
            await serving
