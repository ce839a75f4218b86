"""The model as a broker: on a TCP port of the loopback, on a real clock, for any client.

Requests of one connection are handled one after the other; those behind a parked one wait.  Timers
that were due before a request came fire before it is handled.  Times are rounded so that no timer
is early by the clients' clocks.  Where the protocol leaves a choice, a seed chooses.  An invalid
request ends its connection, as with any broker: garbage, a frame too long, an unknown API or
version.  Only a version too high of ApiVersions is answered.

Source: Kafka's protocol guide, "Network"; KIP-511.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import random
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self, TypeVar, cast

from fencepost.conformance.runtime.errors import TargetUnavailableError
from fencepost.conformance.serve.apis import PARTITIONS, BrokerApis
from fencepost.conformance.serve.connection import ClientConnection
from fencepost.conformance.targets.model_coordinator import RunningModel
from fencepost.conformance.targets.tcp.address import Address
from fencepost.conformance.targets.tcp.connection import MAX_FRAME
from fencepost.conformance.targets.tcp.wire import (
    API_KEYS,
    RequestFrame,
    decode_header,
    decode_request,
    encode_message,
)
from fencepost.model.coordinator import Answer, Config, Send
from fencepost.model.machine.machine import Machine
from fencepost.model.messages.messages import APIS
from fencepost.model.messages.shapes import Message, ShapeError
from fencepost.model.revision import Revision

HOST = "127.0.0.1"

_NAMES = {key: name for name, key in API_KEYS.items()}
_T = TypeVar("_T")


class ModelBroker:
    """A broker in this process, while it is open (`async with`).

    `settings`: the group settings that are not Kafka's defaults.  `port` 0: any that is free.
    `advertised_port`: what clients are told, where something stands between them and the broker.
    `topics`: those that there are from the beginning.
    """

    def __init__(
        self,
        revision: Revision,
        settings: Config | None = None,
        *,
        seed: int = 0,
        port: int = 0,
        advertised_port: int | None = None,
        topics: Sequence[str] = (),
        max_frame: int = MAX_FRAME,
    ) -> None:
        self.revision = revision
        self.max_frame = max_frame
        self._random = random.Random(seed)  # noqa: S311  (choices, no secrets)
        self._running = RunningModel(
            Machine(revision, settings, self._is_missing), choose=self._choose, new_id=self._new_id
        )
        self.settings: Config = dict(self._running.machine.config)
        """The group settings in force."""
        self._port = port
        self._topics = tuple(topics)
        self._advertised_port = advertised_port
        self._server: asyncio.Server | None = None
        self._cluster: BrokerApis | None = None
        self._clients: set[ClientConnection] = set()
        self._asked: dict[str, tuple[ClientConnection, Send, int]] = {}
        self._numbers = itertools.count(1)
        self._timer: asyncio.TimerHandle | None = None
        self._failed: asyncio.Future[None] | None = None
        self._begun = 0.0

    @property
    def address(self) -> Address:
        """Where it listens; while it is open."""
        if self._server is None:
            raise RuntimeError("the broker is not open: use it in `async with`")
        return Address(HOST, self._server.sockets[0].getsockname()[1])

    async def __aenter__(self) -> Self:
        """Listen.  Raises TargetUnavailableError for a port that is not free."""
        loop = asyncio.get_running_loop()
        self._failed = loop.create_future()
        self._begun = loop.time()
        try:
            self._server = await loop.create_server(
                lambda: ClientConnection(self), HOST, self._port
            )
        except OSError as error:
            raise TargetUnavailableError(
                f"Port {self._port} can't be listened on ({error.strerror}): take another"
            ) from error
        told = Address(HOST, self._advertised_port or self.address.port)
        apis = {name: bounds for name, bounds in self.revision.apis.items() if name in APIS}
        self._cluster = BrokerApis(told, apis, self.settings, self._running.delete)
        self._cluster.topics.update(dict.fromkeys(self._topics, PARTITIONS))
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the port and all connections."""
        if self._timer is not None:
            self._timer.cancel()
        if self._failed is not None:
            self._failed.cancel()
        if self._server is not None:
            self._server.close()
            for client in list(self._clients):
                client.abort()
            await self._server.wait_closed()

    async def serve(self) -> None:
        """Stay until cancelled.  Raises whatever goes wrong in the model: our own fault."""
        if self._failed is None:
            raise RuntimeError("the broker is not open: use it in `async with`")
        await self._failed

    # What a connection calls.

    def came(self, client: ClientConnection) -> str:
        """A connection was made; its name."""
        self._clients.add(client)
        return f"connection-{next(self._numbers)}"

    def went(self, client: ClientConnection) -> None:
        """A connection is over.  No group notices; what was asked will be answered to nobody."""
        self._clients.discard(client)
        for request_id in self._running.drop(client.name):
            self._asked.pop(request_id, None)

    def receive(self, client: ClientConnection, frame: bytes) -> None:
        """A whole frame: answered now or later, or the end of its connection."""
        cluster = cast("BrokerApis", self._cluster)
        try:
            header = decode_header(frame)
            api = _NAMES.get(header.key, "")
            if not cluster.speaks(api, header.version):
                if api == "ApiVersions":
                    self._answer(client, api, 0, header.correlation_id, cluster.too_high())
                else:
                    client.hang_up()
                return
            request = decode_request(frame)
            message: Message | None = None
            if api in APIS:
                message = APIS[api].request.from_body(request.body, request.version)
        except ShapeError:
            client.hang_up()
            return
        try:
            if message is None:
                body = cluster.answer(request)
                asked = client, api, request.version, request.correlation_id
                client.after(cluster.wait_ms(request, body), lambda: self._answer(*asked, body))
            else:
                self._ask(client, request, message)
        except Exception as error:  # noqa: BLE001 - whoever serves is told, see `serve`
            client.hang_up()
            self._fail(error)

    def _ask(self, client: ClientConnection, request: RequestFrame, message: Message) -> None:
        send = Send(
            f"request-{next(self._numbers)}",
            client.name,
            request.client_id or "",
            request.api,
            request.version,
            request.body,
        )
        self._asked[send.id] = client, send, request.correlation_id
        now = self._now_ms()
        self._deliver(self._running.advance_to(math.floor(now)))
        self._deliver(self._running.handle(send, message, math.ceil(now)))
        self._set_timer()

    @staticmethod
    def _answer(
        client: ClientConnection,
        api: str,
        version: int,
        correlation_id: int,
        body: Mapping[str, Any],
    ) -> None:
        try:
            frame = encode_message(api, "Response", version, correlation_id, body)
        except ShapeError:  # an id that is too long for the wire with what was put before or after
            client.hang_up()
        else:
            client.answer(frame)

    # The clock.

    def _now_ms(self) -> float:
        return (asyncio.get_running_loop().time() - self._begun) * 1000

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        deadline = self._running.next_deadline_ms()
        if deadline is not None:
            at = self._begun + deadline / 1000
            self._timer = asyncio.get_running_loop().call_at(at, self._expire)

    def _expire(self) -> None:
        try:
            self._deliver(self._running.advance_to(math.floor(self._now_ms())))
            self._set_timer()
        except Exception as error:  # noqa: BLE001 - whoever serves is told, see `serve`
            self._fail(error)

    def _deliver(self, answers: Iterable[Answer]) -> None:
        for answer in answers:
            client, send, correlation_id = self._asked.pop(answer.id)
            version = self._running.answer_version(send)
            self._answer(client, send.api, version, correlation_id, answer.body or {})

    def _fail(self, error: Exception) -> None:
        if self._failed is not None and not self._failed.done():
            self._failed.set_exception(error)

    # What the model leaves to us.

    def _choose(self, outcomes: Sequence[_T]) -> _T:
        return outcomes[0] if len(outcomes) == 1 else self._random.choice(outcomes)

    def _new_id(self, name: str, number: int) -> str:
        del number  # ids of a broker that runs after this one must be others
        return f"{name}-{uuid.UUID(int=self._random.getrandbits(128), version=4)}"

    def _is_missing(self, topic: str) -> bool:
        return self._cluster is None or topic not in self._cluster.topics
