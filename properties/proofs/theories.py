"""Find the theory of a revision's protocol."""

from __future__ import annotations

from collections.abc import Mapping

from fencepost.model.revision import Revision
from fencepost.properties.proofs.classic_theory import CLASSIC_THEORY
from fencepost.properties.proofs.consumer_theory import CONSUMER_THEORY
from fencepost.properties.proofs.theory import Theory

_THEORIES: Mapping[str, Theory] = {"classic": CLASSIC_THEORY, "consumer": CONSUMER_THEORY}
"""Name of a protocol → its theory."""


def theory_of(revision: Revision) -> Theory:
    """Return the theory of a revision's protocol, which must have one."""
    return _THEORIES[revision.protocol.name]
