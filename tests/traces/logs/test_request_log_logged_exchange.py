"""What is read off an exchange without its messages."""

from __future__ import annotations

import pytest

from fencepost.traces.logs.request_log import LoggedExchange


@pytest.mark.parametrize(
    ("connection", "host"),
    [
        ("127.0.0.1:20106-127.1.8.3:55961-20", "127.1.8.3"),  # as 2.8.0 writes it
        ("127.0.0.1:27717-127.1.8.3:56485-1-20", "127.1.8.3"),  # as 4.3.0 does
        ("0:0:0:0:0:0:0:1:9092-0:0:0:0:0:0:0:7:4711-3", "0:0:0:0:0:0:0:7"),
        ("", ""),
        ("somewhere", ""),
    ],
)
def test_the_clients_host_is_in_the_connection(connection: str, host: str) -> None:
    assert (
        LoggedExchange(
            "Heartbeat", 4, 0, 0, {}, {}, "c", connection, source="f", line=1, broker="b"
        ).host
        == host
    )
