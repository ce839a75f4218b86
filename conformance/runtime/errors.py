"""How a command ends when it can't do its work: the error of a missing target, and exit codes.

Bad input is `fencepost.traces.files.bad_input.BadInputError`, since traces are input, too.
"""

from __future__ import annotations

EXIT_USAGE = 64
EXIT_UNAVAILABLE = 69
EXIT_OWN_FAULT = 70


class TargetUnavailableError(Exception):
    """The target can't be started or reached (exit code 69).  `str()` says what to do about it."""
