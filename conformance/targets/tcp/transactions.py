"""Put each TxnOffsetCommit into a transaction of its own, and commit that transaction.

A group's coordinator takes such offsets only from a producer whose transaction is under way, and
nobody reads them before it was committed.  So InitProducerId and AddOffsetsToTxn come first, EndTxn
after the answer, and then OffsetFetch until the offsets are stable.  The transaction is committed
whatever the answer was: offsets that were refused must not appear.

Source: KIP-98 (transactions); KIP-447 (stable offsets); KIP-890 (a transaction is verified).  Seen
on 2.5.1 to 4.3.0: until 3.5 TxnOffsetCommit alone was taken, from any producer id.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fencepost.conformance.targets.tcp.cluster_admin import (
    Admin,
    AdminError,
    KeyType,
    RefusedError,
    repeat,
)
from fencepost.conformance.targets.tcp.security import Address
from fencepost.model.coordinator import UnsupportedError
from fencepost.model.messages.errors import CONCURRENT_TRANSACTIONS, MOVING, Error

COMMIT = "TxnOffsetCommit"
_NEEDED = frozenset({"FindCoordinator", "InitProducerId", "AddOffsetsToTxn", "EndTxn"})
_STABLE_SINCE = 7
"""From this version on OffsetFetch tells that a transaction is not over (KIP-447)."""


def offers_transactions(advertised: Mapping[str, tuple[int, int]]) -> bool:
    """Return True if offsets can be committed in a transaction, and be seen to be committed."""
    highest = advertised.get("OffsetFetch", (0, 0))[1]
    return advertised.keys() >= _NEEDED and highest >= _STABLE_SINCE


_TIMEOUT_MS = 30_000
"""The broker ends a transaction by itself after that; ours take a fraction of a second."""
_UNSTABLE_OFFSET_COMMIT = 88
_AGAIN = frozenset({*MOVING, CONCURRENT_TRANSACTIONS})


class BusyError(AdminError):
    """The transaction before is not over, though that took longer than a step may."""

    def __init__(self, api: str) -> None:
        super().__init__(f"{api} was answered CONCURRENT_TRANSACTIONS all the time")


@dataclass(frozen=True, slots=True)
class Transaction:
    """A transaction that is under way: its id, its producer, the coordinator that has it."""

    name: str
    producer_id: int
    epoch: int
    at: Address

    @property
    def fields(self) -> dict[str, Any]:
        """The fields by which a request names it."""
        return {
            "transactionalId": self.name,
            "producerId": self.producer_id,
            "producerEpoch": self.epoch,
        }


class Transactions:
    """The transactions of one target; `most_s`: seconds that each step may take."""

    def __init__(self, admin: Admin, most_s: float) -> None:
        self._admin = admin
        self._most_s = most_s
        self._works = False
        self._problem: str | None = None

    async def begin(self, name: str, group_id: str) -> Transaction:
        """Begin a transaction with offsets of a group; what its producer left open is aborted.

        Raises AdminError, AddressError; UnsupportedError where none could ever be begun, except
        by a broker that is busy with the one before: that has transactions.
        """
        if self._problem is not None:
            raise UnsupportedError(self._problem)
        try:
            at = await self._admin.find_coordinator(name, of=KeyType.TRANSACTION)
            body = {"transactionalId": name, "transactionTimeoutMs": _TIMEOUT_MS}
            answer = await self._call("InitProducerId", body, at)
        except AdminError as error:
            if self._works or isinstance(error, BusyError):
                raise
            self._problem = f"transactions: {error}"
            raise UnsupportedError(self._problem) from error
        self._works = True
        begun = Transaction(name, answer["producerId"], answer["producerEpoch"], at)
        await self._call("AddOffsetsToTxn", {**begun.fields, "groupId": group_id}, at)
        return begun

    async def commit(self, transaction: Transaction, body: Mapping[str, Any], at: Address) -> None:
        """Commit it, and wait until its offsets can be read.

        `body`: the TxnOffsetCommit; `at`: the group's coordinator.  Raises AdminError,
        AddressError.
        """
        await self._call("EndTxn", {**transaction.fields, "committed": True}, transaction.at)
        topics = [
            {
                "name": topic["name"],
                "partitionIndexes": [row["partitionIndex"] for row in topic["partitions"]],
            }
            for topic in body["topics"]
        ]
        fetch = {"groupId": body["groupId"], "topics": topics, "requireStable": True}

        async def attempt() -> bool | None:
            answer = await self._admin.call("OffsetFetch", fetch, at)
            return None if _UNSTABLE_OFFSET_COMMIT in _row_errors(answer) else True

        if not await repeat(attempt, self._most_s):
            raise AdminError(f"{at} shows no offsets of a transaction that was committed")

    async def _call(self, api: str, body: Mapping[str, Any], at: Address) -> dict[str, Any]:
        """Send a request until it is answered NONE.

        Raises AdminError (BusyError where the transaction before is not over), AddressError.
        """
        code = Error.UNKNOWN_SERVER_ERROR.value

        async def attempt() -> dict[str, Any] | None:
            nonlocal code
            answer = await self._admin.call(api, body, at)
            code = answer["errorCode"]
            if code not in {Error.NONE.value, *_AGAIN}:
                raise RefusedError(api, code)
            return answer if code == Error.NONE.value else None

        answer = await repeat(attempt, self._most_s)
        if answer is None:
            raise BusyError(api) if code == CONCURRENT_TRANSACTIONS else RefusedError(api, code)
        return answer


def _row_errors(answer: Mapping[str, Any]) -> Iterator[int]:
    for topic in answer["topics"]:
        yield from (row["errorCode"] for row in topic["partitions"])
