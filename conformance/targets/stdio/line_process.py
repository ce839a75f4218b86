"""Run a program that answers lines with lines, and end it for certain.

It is started without a shell by a keeper (keeper.py), in a session of its own, and gets one line at
a time.  Whatever happened, it is ended with everything that it started: as soon as the keeper's
pipe is closed, or this process is gone.  This module does not know what the lines mean.

Its stdout may have one line for each line sent.  Its stderr is always read, so that a program that
writes much is not blocked; only the end is kept, for error messages.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shutil
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from fencepost.conformance.runtime.toolchain.child import KEEPER, child_environment, how_it_ended
from fencepost.conformance.targets.stdio.protocol_schemas import shortened
from fencepost.traces.files.bounded import LINE_LIMIT

STDERR_LINES = 50
_STDERR_BYTES = 16 * 1024
_STDIN, _STDOUT, _STDERR = 0, 1, 2
END_S = 2.0
"""Seconds for a program to end by itself; half of that after SIGTERM."""


class LineProcessError(Exception):
    """The program broke off or broke the rhythm.  `str()` completes "the program …"."""


class LineProcess:
    """A running program.  One question at a time; after any LineProcessError it is to be killed."""

    def __init__(self, transport: asyncio.SubprocessTransport, pipes: Pipes, kept: int) -> None:
        self._transport = transport
        self._kept = kept
        self._pipes = pipes
        self.pid = transport.get_pid()

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        pipes: Callable[[], Pipes] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> LineProcess:
        """Start a program.  Raises OSError where the system can't.

        `pipes`: makes the receiver of its output; `env`: variables beside those of this process.
        """
        if shutil.which(argv[0]) is None:
            number = errno.EACCES if os.access(argv[0], os.F_OK) else errno.ENOENT
            raise OSError(number, os.strerror(number), argv[0])
        loop = asyncio.get_running_loop()
        theirs, kept = os.pipe()
        try:
            transport, made = await loop.subprocess_exec(
                pipes or Pipes,
                *(*KEEPER, "--pipe", str(theirs), *argv),
                start_new_session=True,
                pass_fds=[theirs],
                env=child_environment(env),
            )
        except BaseException:
            os.close(kept)
            raise
        finally:
            os.close(theirs)
        return cls(transport, made, kept)

    def write(self, line: bytes) -> None:
        """Write a line, unless the program no longer reads."""
        stdin = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(_STDIN))
        if not stdin.is_closing():
            stdin.write(line + b"\n")

    async def ask(self, line: bytes, within_s: float) -> bytes:
        """Write a line and read the one that answers it.  Raises LineProcessError."""
        pipes = self._pipes
        pipes.refuse_extra_lines()
        self.write(line)
        try:
            async with asyncio.timeout(within_s):
                answer = await pipes.next_line()
        except TimeoutError:
            silent = f"did not answer within {within_s:g} s{pipes.half_a_line()}"
            raise LineProcessError(silent) from None
        if answer is None:
            how = await self._how_it_ended()
            raise LineProcessError(f"{how} instead of answering{pipes.half_a_line()}")
        pipes.refuse_extra_lines(after=answer)
        return answer

    async def end(self, within_s: float = END_S) -> None:
        """End it gently, if it lets us: end of input, then SIGTERM, then SIGKILL for all of it.

        `within_s`: how long it may take to end by itself.
        """
        try:
            stdin = self._transport.get_pipe_transport(_STDIN)
            if stdin is not None:
                stdin.close()
            if not await _within(within_s, self._pipes.exited):
                with contextlib.suppress(ProcessLookupError):
                    self._transport.terminate()
                await _within(END_S / 2, self._pipes.exited)
        finally:
            await self.kill()

    def kill_at_once(self) -> None:
        """Have the process and all that it started killed, without waiting for the end."""
        if self._kept >= 0:
            os.close(self._kept)
            self._kept = -1

    async def kill(self) -> None:
        """Kill the process and all that it started; returns when they are gone."""
        try:
            self.kill_at_once()
            self._pipes.stop_reading()
            await _within(END_S, self._pipes.closed)
        finally:
            self._transport.close()

    def how_it_ended(self) -> str:
        """Return the exit code or the signal, in words; "" while it runs."""
        return self._pipes.how_it_ended()

    def last_words(self) -> list[str]:
        """Return the last lines of its stderr."""
        text = bytes(self._pipes.stderr).decode(errors="replace")
        return text.splitlines()[-STDERR_LINES:]

    def forget_words(self) -> None:
        """Drop its stderr so far."""
        self._pipes.stderr.clear()

    async def exit_code(self, within_s: float) -> int | None:
        """Return the code that it exits with in this time, or None; negative: the signal."""
        await _within(within_s, self._pipes.exited)
        return self._transport.get_returncode()

    async def _how_it_ended(self) -> str:
        if not await _within(END_S, self._pipes.exited):
            return "closed its stdout"
        return self._pipes.how_it_ended()


class Pipes(asyncio.SubprocessProtocol):
    """The output of the process so far; a subclass may take each line at once (`take_line`)."""

    def __init__(self) -> None:
        self.stderr = bytearray()
        self.exited = asyncio.Event()
        self.closed = asyncio.Event()
        """Exited, and nobody holds its pipes any more."""
        self._lines: deque[bytes] = deque()
        self._partial = bytearray()
        self.is_flooded = False
        self._has_ended = False
        self._news = asyncio.Event()
        self._transport: asyncio.SubprocessTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport of a process that asyncio has started."""
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Take output from asyncio."""
        if fd == _STDERR:
            self.stderr += data
            del self.stderr[:-_STDERR_BYTES]
        elif not self.is_flooded:
            self._take(data)
            self._news.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        """Note the end of a pipe."""
        if fd == _STDOUT:
            self._has_ended = True
            self._news.set()

    def process_exited(self) -> None:
        """Note the end of the keeper, and so of the program and all that it started."""
        self.exited.set()

    def how_it_ended(self) -> str:
        """Return the exit code or the signal of an ended process, in words; "" while it runs."""
        code = None if self._transport is None else self._transport.get_returncode()
        return "" if code is None else how_it_ended(code)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        """Note that the process has exited and all its pipes have ended."""
        self.closed.set()

    async def next_line(self) -> bytes | None:
        """Return the next line of stdout, None at its end.

        Raises LineProcessError for one too long.
        """
        while not self._lines:
            if self.is_flooded:
                start = shortened(bytes(self._partial[:1000]))
                raise LineProcessError(f"wrote a line of more than {LINE_LIMIT} bytes: {start!r}")
            if self._has_ended:
                return None
            self._news.clear()
            await self._news.wait()
        return self._lines.popleft()

    def refuse_extra_lines(self, after: bytes | None = None) -> None:
        """Raise LineProcessError where the program wrote a line that no request asked for.

        `after`: the line taken for the answer, which may itself be the extra one: a debug print.
        """
        if self._lines:
            if after is not None and not after.lstrip().startswith(b"{"):
                other = f"wrote {shortened(after)!r}, which is not a JSON reply"
                raise LineProcessError(f"{other}; write nothing else to stdout")
            extra = f"wrote an unrequested line: {shortened(self._lines[0])!r}"
            before = "" if after is None else f", after {shortened(after)!r}"
            raise LineProcessError(extra + before)

    def half_a_line(self) -> str:
        """Return an unfinished last line of the output, for the end of a sentence."""
        if not self._partial:
            return ""
        return f"; it wrote {shortened(bytes(self._partial))!r}, without a newline behind it"

    def stop_reading(self) -> None:
        """Give up a stdout that is paused: its end would never be seen."""
        stdout = self._transport and self._transport.get_pipe_transport(_STDOUT)
        if self.is_flooded and stdout is not None:
            stdout.close()

    def take_line(self, line: bytes) -> None:
        """Keep a line until it is read."""
        self._lines.append(line)

    def _take(self, data: bytes) -> None:
        first, *rest = data.split(b"\n")
        self._partial += first
        for piece in rest:
            if len(self._partial) > LINE_LIMIT:
                break
            self.take_line(bytes(self._partial))
            self._partial = bytearray(piece)
        # Nothing more is read of a program that writes on and on: memory stays bounded.
        if len(self._partial) > LINE_LIMIT or len(self._lines) > 1:
            self.is_flooded = True
            stdout = self._transport and self._transport.get_pipe_transport(_STDOUT)
            if stdout is not None:
                cast("asyncio.ReadTransport", stdout).pause_reading()


async def _within(seconds: float, event: asyncio.Event) -> bool:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
    return event.is_set()
