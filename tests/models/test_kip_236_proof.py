"""The proof of KIP-236: every safety property, for any number of brokers, rollbacks and crashes."""

from __future__ import annotations

import attrs
import pytest

from holdfast.check.prove.engine import prove
from holdfast.ir.lemmas import compile_with_lemmas
from holdfast.ir.load import load_with_lemmas
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System


@pytest.fixture(scope="module")
def kip_236() -> System:
    """KIP-236 with its lemmas."""
    found = load_with_lemmas("kip_236")
    assert found.lemmas_from is not None
    return compile_with_lemmas(found)


def test_kip_236_is_proved(kip_236: System) -> None:
    """Every property is proved. One lemma is idle, unless RA-47.replicas is removed."""
    result = prove(kip_236, cores=0, searched=False, tried=False)
    assert (result.verdict, result.exit_code) == ("proved", 0)
    assert set(result.unneeded) <= {"followers_are_replicas"}
    assert {proof.verdict for proof in result.properties} == {"proved"}


def test_without_an_original_in_sync_a_rollback_empties_the_isr(kip_236: System) -> None:
    """C3. Without the lemma of an original in the ISR after C1, one broker is enough for a counterexample."""
    left = attrs.evolve(
        kip_236, properties=tuple(prop for prop in kip_236.properties if prop.name != "original_stays_in_sync")
    )
    result = prove(left, properties=["isr_is_not_empty"], cores=0, searched=False, sane=False, suggest=False)
    assert (result.verdict, result.exit_code) == ("not_inductive", 20)
    found = result.properties[0].counterexample
    assert found is not None
    assert (found.action, found.sizes) == ("roll_back", (("Broker", 1),))


@pytest.mark.slow
@pytest.mark.parametrize("label", ["RA-47.replicas", "SP-12.unclean"])
def test_a_rule_that_the_model_calls_equivalent_is_not_needed(kip_236: System, label: str) -> None:
    """RA-47, SP-12. Without the rule every property is still proved."""
    result = prove(remove_rules(kip_236, [label]), cores=0, searched=False, sane=False)
    assert (result.verdict, result.exit_code) == ("proved", 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("label", "name"),
    [("CA-05", "stays_online"), ("CA-02.leader", "elects_in_order"), ("CA-02.epoch", "isr_is_replicas")],
)
def test_a_property_is_not_proved_without_its_rule(kip_236: System, label: str, name: str) -> None:
    """CA-02, CA-05. Without a rule the property that it protects is not proved: the lemmas do not replace the rule."""
    left = remove_rules(kip_236, [label])
    result = prove(left, properties=[name], cores=0, searched=False, sane=False, suggest=False)
    assert (result.verdict, result.exit_code) == ("not_inductive", 20)
    assert {proof.claim.name: proof.verdict for proof in result.properties}[name] == "not_inductive"


@pytest.mark.slow
def test_kip_236_is_proved_with_every_seed(kip_236: System) -> None:
    """The proof does not depend on the solver's seed."""
    result = prove(kip_236, cores=2, seeds=3)
    assert (result.exit_code, result.unstable) == (0, ())
