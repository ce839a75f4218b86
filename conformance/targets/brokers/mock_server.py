"""librdkafka's mock cluster, alone in a process: `python -m` and this module's name.

The process writes one line to stdout, `HOST:PORT VERSION`, and runs until stdin is closed.  A pipe
is closed with the process at its other end, whatever happens to it, so no mock outlives its user.
The mock has a process of its own because it aborts on some input.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys


def main() -> None:
    """Serve until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the user's process, which ends us
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import confluent_kafka  # noqa: PLC0415  the signal first: this import takes a while

    producer = confluent_kafka.Producer(
        {"bootstrap.servers": "mock", "test.mock.num.brokers": 1, "log_level": 0}
    )
    broker = next(iter(producer.list_topics(timeout=10).brokers.values()))
    sys.stdout.write(f"{broker.host}:{broker.port} {confluent_kafka.libversion()[0]}\n")
    sys.stdout.flush()
    while sys.stdin.buffer.read(4096):
        pass
    os._exit(0)  # nothing is worth the time that a tidy end takes


if __name__ == "__main__":
    main()
