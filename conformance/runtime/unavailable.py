"""What can't be had: a target, or a tool that starts it."""

from __future__ import annotations


class TargetUnavailableError(Exception):
    """The target can't be started or reached (exit code 69).  `str()` says what to do about it."""
