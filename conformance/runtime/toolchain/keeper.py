"""Keep a child process: it never outlives the process that started it, nor does what it started.

The child is ended at once, with all below it, when a pipe ends: stdin, or with `--pipe NUMBER` that
descriptor, so that stdin is the child's own.  A pipe is closed in any case: after an exception,
Ctrl-C, even SIGKILL.  Run it as a script with the child's command line; it imports nothing but the
standard library, to start quickly.  If the keeper itself is killed, Linux ends the child; elsewhere
nothing does.  On Linux it is the one to whom orphans of the child fall, whatever session they have.

The exit code is the child's, or 128 and the signal that ended it; with `--pipe` the same signal
ends the keeper.  127 if the child can't be started.
"""

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import sys
import threading

_NOT_STARTED = 127
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
"""Of prctl(2)."""
_PIPE = "--pipe"
_FOR_PARENT = signal.SIGINT, signal.SIGTERM, signal.SIGHUP


def _end(child: "subprocess.Popen[bytes]") -> None:
    """End the child's whole process group; a broker's data is thrown away, so nothing is lost."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)


def _when_it_ends(pipe: int, child: "subprocess.Popen[bytes]") -> None:
    while os.read(pipe, 4096):
        pass
    _end(child)


def _end_orphans() -> None:
    """End what the child left behind in sessions of its own, until nothing is left."""
    while children := _children():
        for pid in children:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, 0)


def _children() -> list[int]:
    pids: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir("/proc/self/task"):  # noqa: PTH208  (quick to start)
            with open(f"/proc/self/task/{task}/children", encoding="ascii") as file:  # noqa: PTH123
                pids += map(int, file.read().split())
    return pids


def _become_child() -> None:
    """Take signals as any program, and have Linux kill this process when the keeper is gone."""
    for number in _FOR_PARENT:
        signal.signal(number, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _let_go() -> None:
    """Give the child's streams up, so that their other ends see when the child closes them."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nowhere, number)


def main(command: list[str]) -> int:
    """Start the command, wait for it, and see to its end."""
    pipe, has_streams = 0, command[0] == _PIPE
    if has_streams:
        pipe, command = int(command[1]), command[2:]
    for number in _FOR_PARENT:
        # The parent decides: it closes the pipe, or dies, which closes it too.
        signal.signal(number, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    try:
        child = subprocess.Popen(  # noqa: S603  (ours)
            command,
            stdin=None if has_streams else subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=_become_child,  # noqa: PLW1509  (no threads yet)
        )
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        return _NOT_STARTED
    if has_streams:
        _let_go()
        signal.signal(signal.SIGTERM, lambda *_: os.killpg(child.pid, signal.SIGTERM))
    threading.Thread(target=_when_it_ends, args=(pipe, child), daemon=True).start()
    code = child.wait()
    _end(child)
    _end_orphans()
    if code < 0 and has_streams:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(OSError):  # SIGKILL
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
