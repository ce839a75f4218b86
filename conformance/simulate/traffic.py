"""Requests and bytes at a simulated coordinator, by API."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from fencepost.conformance.simulate.cost import ApiTraffic
from fencepost.conformance.simulate.notes import SkippedRequests
from fencepost.conformance.simulate.rebalance_log import place_of
from fencepost.conformance.simulate.simulation import Exchange
from fencepost.conformance.wire.codec import encode_message
from fencepost.model.client.client_interface import Role
from fencepost.model.messages.messages import HeartbeatResponse
from fencepost.model.messages.shapes import Message


def traffic_of(
    history: Iterable[Exchange], skipped: Iterable[SkippedRequests]
) -> dict[str, ApiTraffic]:
    """What a coordinator was asked, with the heartbeats that were skipped; bytes are framed."""
    counts: Counter[str] = Counter()
    received: Counter[str] = Counter()
    sent: Counter[str] = Counter()
    for exchange in history:
        if exchange.to.role is Role.COORDINATOR and isinstance(exchange.request, Message):
            counts[exchange.api] += 1
            received[exchange.api] += _request_size(
                exchange.api, exchange.version, exchange.request, exchange.client
            )
            if isinstance(exchange.answer, Message):
                sent[exchange.api] += _answer_size(exchange.api, exchange.version, exchange.answer)
    for client, asked, times in skipped:
        assert isinstance(asked.message, Message)  # noqa: S101  (for the type checker)
        counts[asked.api] += times
        size = _request_size(asked.api, asked.version, asked.message, client)
        received[asked.api] += times * size
        answer = HeartbeatResponse(error_code=0)
        sent[asked.api] += times * _answer_size(asked.api, asked.version, answer)
    return {
        api: ApiTraffic(requests=counts[api], bytes_in=received[api], bytes_out=sent[api])
        for api in sorted(counts)
    }


def _request_size(api: str, version: int, message: Message, client: str) -> int:
    body, client_id = message.to_body(version), place_of(client)
    return len(encode_message(api, "Request", version, 1, body, client_id=client_id))


def _answer_size(api: str, version: int, message: Message) -> int:
    return len(encode_message(api, "Response", version, 1, message.to_body(version)))
