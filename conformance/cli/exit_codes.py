"""Write the exit codes into the help of a command: its own words for 0, 1 and 2, shared others."""

from __future__ import annotations

from fencepost.conformance.runtime.unavailable import EXIT_OWN_FAULT, EXIT_UNAVAILABLE, EXIT_USAGE

_SHARED = {
    EXIT_USAGE: "wrong usage, or input that can't be read",
    EXIT_UNAVAILABLE: "a target or a tool is not available",
    EXIT_OWN_FAULT: "an error in fencepost",
}


def exit_codes(
    fine: str = "it was done", wrong: str | None = None, unknown: str | None = None
) -> str:
    """The epilog of a command.  `wrong`, `unknown`: what 1 and 2 mean; None where they don't occur.

    The words fit behind a code in 80 columns.
    """
    own = {0: fine, 1: wrong, 2: unknown}
    told = {code: said for code, said in own.items() if said is not None} | _SHARED
    return "\b\nExit codes:\n" + "\n".join(f"  {code:<4}{said}" for code, said in told.items())
