"""Define the error of a missing target, and the exit codes of commands.

Bad input is `fencepost.model.bad_input.BadInputError`, since traces are input, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fencepost.model.coordinator import CoordinatorFailure, UnsupportedError

EXIT_USAGE = 64
EXIT_UNAVAILABLE = 69
EXIT_OWN_FAULT = 70


class TargetUnavailableError(Exception):
    """The target can't be started or reached (exit code 69).  `str()` has the remedy."""


@contextmanager
def needed_of_a_target() -> Iterator[None]:
    """Treat a failure before any case as an unavailable target.

    Raises TargetUnavailableError for UnsupportedError and CoordinatorFailure.
    """
    try:
        yield
    except (CoordinatorFailure, UnsupportedError) as error:
        raise TargetUnavailableError(str(error)) from error
