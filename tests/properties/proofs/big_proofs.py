"""The accepted text is proved, too: `tox -e explore`."""

from __future__ import annotations

from fencepost.model.revisions import revisions
from fencepost.properties.claims.registry import FORMULAS
from fencepost.properties.proofs.proofs import prove


def test_the_accepted_text_is_proved() -> None:
    proof = prove(revisions.find("kip-345"))
    assert [one.about for one in proof.failures] == []
    assert proof.uncovered == ()
    assert len(proof.obligations) > 5000
    found: dict[str, set[str]] = {}
    for one in proof.expected:
        found.setdefault(one.about, set()).add(one.rule)
    said = {
        p.id: set(p.expected_rules["kip-345"]) for p in FORMULAS if "kip-345" in p.expected_rules
    }
    assert found == said
