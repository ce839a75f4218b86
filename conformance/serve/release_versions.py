"""Which versions of which APIs a release of Kafka has, so that a broker can be an older one.

Source: kafka-python's table of what brokers advertise.  It agrees with eleven releases from 2.3.0
to 4.3.0 that were asked themselves, in all APIs that are spoken here (`tox -e clients` asks again).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kafka.protocol.broker_version_data import BROKER_API_VERSIONS

from fencepost.conformance.wire.codec import API_KEYS
from fencepost.model.bad_input import BadInputError

Versions = Mapping[str, tuple[int, int]]

_FORM = re.compile(r"(\d+)\.(\d+)(?:\.\d+)?", re.ASCII)
_OLDEST = (1, 0)
_TELLS_WHICH = (2, 4)


class ReleaseError(BadInputError):
    """No such release.  `str()` says which there are."""


def parse_release(text: str) -> tuple[int, int]:
    """`2.2`, `2.2.1`: major and minor.  Raises ReleaseError."""
    found = _FORM.fullmatch(text)
    number = (int(found[1]), int(found[2])) if found else (0, 0)
    if number < _OLDEST or number not in BROKER_API_VERSIONS:
        known = sorted(one for one in BROKER_API_VERSIONS if one >= _OLDEST)
        names = ", ".join(f"{major}.{minor}" for major, minor in known)
        raise ReleaseError(f"{text!r} is no release of Kafka that is known; there are {names}")
    return number


def as_of(release: tuple[int, int], spoken: Versions) -> dict[str, tuple[int, int]]:
    """What is spoken here and was in that release, too."""
    rows = BROKER_API_VERSIONS[release]
    common = {
        api: (max(low, rows[API_KEYS[api]][0]), min(high, rows[API_KEYS[api]][1]))
        for api, (low, high) in spoken.items()
        if API_KEYS[api] in rows
    }
    return {api: (low, high) for api, (low, high) in common.items() if low <= high}


def tells_which(release: tuple[int, int] | None) -> bool:
    """Whether the answer to a version too high of ApiVersions names those there are (KIP-511)."""
    return release is None or release >= _TELLS_WHICH
