"""The proof of routed_produce: every safety property, for any number of connections, batches, records and threads."""

from __future__ import annotations

import attrs
import pytest

from holdfast.check.prove.engine import prove
from holdfast.ir.lemmas import compile_with_lemmas
from holdfast.ir.load import load_with_lemmas
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System


@pytest.fixture(scope="module")
def routed_produce() -> System:
    """routed_produce with its lemmas."""
    found = load_with_lemmas("routed_produce")
    assert found.lemmas_from is not None
    return compile_with_lemmas(found)


@pytest.mark.slow
def test_routed_produce_is_proved(routed_produce: System) -> None:
    """I-3, I-8, I-9 and I-13, and no lemma is idle."""
    result = prove(routed_produce, cores=2)
    assert (result.verdict, result.exit_code, result.unneeded) == ("proved", 0, ())
    assert {proof.verdict for proof in result.properties} == {"proved"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("M-20", "index_is_stored_in_full"),
        ("M-21", "stored_with_own_link"),
        ("M-22", "appended_in_order"),
        ("M-22.loop", "appended_in_order"),
    ],
)
def test_a_property_is_not_proved_without_its_rule(routed_produce: System, label: str, name: str) -> None:
    """M-20 to M-22. The lemmas do not replace the rule that a property needs."""
    left = remove_rules(routed_produce, [label])
    result = prove(left, properties=[name], cores=0, searched=False, sane=False, suggest=False)
    assert (result.verdict, result.exit_code) == ("not_inductive", 20)


@pytest.mark.slow
def test_a_missing_lemma_shows_in_a_small_state(routed_produce: System) -> None:
    """I-9. Without the lemma that appends start in order, one connection with two records is a counterexample."""
    left = attrs.evolve(
        routed_produce, properties=tuple(each for each in routed_produce.properties if each.name != "starts_in_order")
    )
    result = prove(left, properties=["appended_in_order"], cores=0, searched=False, sane=False, suggest=False)
    assert (result.verdict, result.exit_code) == ("not_inductive", 20)
    found = next(each.counterexample for each in result.properties if each.claim.name == "appended_in_order")
    assert found is not None
    assert (found.action, dict(found.sizes)["Record"]) == ("append", 2)
