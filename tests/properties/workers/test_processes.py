"""Worker processes: none outlives its parent, and errors come back as they were raised."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from fencepost.properties.workers.processes import Failure

PATIENCE_S = 120
TESTS = Path(__file__).parents[2]


class TwoArguments(Exception):
    def __init__(self, first: str, second: str) -> None:
        super().__init__(first + second)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_worker_that_never_ends_ends_with_its_parent(
    tmp_path: Path, number: signal.Signals
) -> None:
    script = tmp_path / "parent.py"
    script.write_text(
        textwrap.dedent(
            """
            import signal
            from support.tasks import holds
            from fencepost.properties.workers.processes import WorkerGroup

            if __name__ == "__main__":
                # As from a terminal, even if these tests run where SIGINT is ignored.
                signal.signal(signal.SIGINT, signal.default_int_handler)
                with WorkerGroup() as group:
                    print(group.start(holds).receive(), flush=True)
                    signal.pause()
            """
        ),
        "utf-8",
    )
    parent = subprocess.Popen(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with parent:
        assert parent.stdout is not None
        worker = os.pidfd_open(int(parent.stdout.readline()))
        parent.send_signal(number)
        ended, _, _ = select.select([worker], [], [], PATIENCE_S)
        os.close(worker)
        assert ended
        assert parent.wait() == -number


def test_an_error_that_cannot_be_pickled_is_described() -> None:
    error = TwoArguments("a", "b")
    error.add_note("in a worker")
    failure = Failure.of(error)
    assert isinstance(failure.error, RuntimeError)
    assert str(failure.error) == "TwoArguments: ab"
    assert failure.error.__notes__ == ["in a worker"]
    assert str(failure) == "TwoArguments: ab"


def test_an_error_of_a_group_is_named_with_its_place() -> None:
    with pytest.raises(ValueError, match="invalid literal") as raised:
        int("no number")
    failure = Failure.of(ExceptionGroup("several", [raised.value]))
    assert isinstance(failure.error, ExceptionGroup)
    assert str(failure).startswith("ValueError: invalid literal")
    assert "(test_processes.py, line " in str(failure)


def test_no_worker_gets_a_signal_before_it_ignores_it() -> None:
    """Not even the first, with which Python starts a process of its own."""
    ended = subprocess.run(
        [sys.executable, "-c", _FIRST_WORKER],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert ended.stdout.splitlines()[-1] == "True"


_FIRST_WORKER = """
import signal
from multiprocessing import util
from fencepost.properties.workers.processes import WorkerGroup, listen

spawn = util.spawnv_passfds
def spawned(path, arguments, fds):
    print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()), flush=True)
    return spawn(path, arguments, fds)
util.spawnv_passfds = spawned
with WorkerGroup() as group:
    group.start(listen)
"""
