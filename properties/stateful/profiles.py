"""Define profiles for Hypothesis: the length of a search, and its seed.

`dev` searches little and at random, `ci` always the same, so that a failure can be repeated,
`nightly` long and at random.  HYPOTHESIS_PROFILE names the one to use.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

PROFILES: dict[str, dict[str, object]] = {
    "dev": {"max_examples": 50},
    "ci": {"max_examples": 200, "derandomize": True, "database": None},
    "nightly": {"max_examples": 5_000},
}


def register_profiles() -> None:
    """Make the profiles known to Hypothesis.  Nothing is timed: a slow machine is no failure."""
    for name, chosen in PROFILES.items():
        settings.register_profile(
            name,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
            print_blob=False,
            **chosen,  # type: ignore[arg-type]
        )


def load_profile(default: str = "dev") -> str:
    """Register the profiles, load the one that HYPOTHESIS_PROFILE names, and return its name."""
    register_profiles()
    name = os.environ.get("HYPOTHESIS_PROFILE") or default
    settings.load_profile(name)
    return name
