"""The epilog names what can happen, and nothing else."""

from __future__ import annotations

from fencepost.conformance.cli.cli import exit_codes


def test_what_does_not_occur_is_not_told() -> None:
    assert "  0   it was done\n  64  " in exit_codes()
    told = exit_codes("fine", "wrong", "unknown")
    assert "  0   fine\n  1   wrong\n  2   unknown\n  64  " in told
    assert "  1 " not in exit_codes("fine")
