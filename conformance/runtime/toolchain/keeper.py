"""Keep a child process: it ends when this program's stdin does, and so never outlives its parent.

The child is ended at once, with all that it started, whatever happened to the process that started
it (an exception, Ctrl-C, even SIGKILL), since a pipe is closed in any case.  Run it as a script
with the child's command line; it imports nothing but the standard library, to start quickly.  If
the keeper itself is killed, Linux ends the child; elsewhere nothing does.
The exit code is the child's, or 128 and the signal that ended it; 127 if it can't be started.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading

_NOT_STARTED = 127
_PR_SET_PDEATHSIG = 1
"""Of prctl(2)."""


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the child's whole process group; a broker's data is thrown away, so nothing is lost."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def _when_stdin_ends(child: subprocess.Popen[bytes]) -> None:
    while os.read(0, 4096):
        pass
    _end(child)


def _die_with_keeper() -> None:
    """Have Linux kill this process, which becomes the child, when the keeper is gone."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def main(command: list[str]) -> int:
    """Start the command, wait for it, and see to its end."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # The parent decides: it closes the pipe, or dies, which closes it too.
        signal.signal(number, signal.SIG_IGN)
    try:
        child = subprocess.Popen(  # noqa: S603  (ours)
            command,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=_die_with_keeper if sys.platform == "linux" else None,  # noqa: PLW1509  (no threads yet)
        )
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        return _NOT_STARTED
    threading.Thread(target=_when_stdin_ends, args=(child,), daemon=True).start()
    code = child.wait()
    _end(child)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
