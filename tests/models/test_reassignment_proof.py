"""The proof of reassignment: every safety property, for any number of brokers, streams, epochs and offsets."""

from __future__ import annotations

import attrs
import pytest

from holdfast.check.prove.engine import prove
from holdfast.ir.lemmas import compile_with_lemmas
from holdfast.ir.load import load_with_lemmas
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System


@pytest.fixture(scope="module")
def reassignment() -> System:
    """Reassignment with its lemmas."""
    found = load_with_lemmas("reassignment")
    assert found.lemmas_from is not None
    return compile_with_lemmas(found)


@pytest.mark.slow
def test_no_stream_epoch_passes_the_leader_epoch(reassignment: System) -> None:
    """SP-03. A broker opens with an epoch of the controller, and a stream with that epoch belongs to the replica."""
    result = prove(reassignment, properties=["SP-03"], cores=0, searched=False)
    assert (result.verdict, result.exit_code) == ("proved", 0)
    needs = {proof.claim.name: proof.needs for proof in result.properties}
    assert "epochs_come_from_the_controller" in needs["stream_epoch_within_leader_epoch"]


@pytest.mark.slow
def test_reassignment_is_proved(reassignment: System) -> None:
    """Everything is proved, with two seeds. Two lemmas are idle, unless a rule that the model calls spare is gone."""
    result = prove(reassignment, cores=2, seeds=2)
    assert (result.verdict, result.exit_code) == ("proved", 0)
    assert (result.unneeded, result.unstable) == (("closes_differ_in_epochs", "closed_epoch_is_the_owners"), ())
    assert {proof.verdict for proof in result.properties} == {"proved"}


@pytest.mark.slow
def test_a_missing_lemma_shows_in_the_smallest_state(reassignment: System) -> None:
    """One broker and one stream: the broker has a handle of an epoch that it has closed, and the close arrives."""
    lemma = "handle_above_own_close"
    left = attrs.evolve(reassignment, properties=tuple(each for each in reassignment.properties if each.name != lemma))
    result = prove(left, properties=["one_lease"], cores=0, searched=False, suggest=False)
    assert (result.verdict, result.exit_code) == ("not_inductive", 20)
    found = next(each.counterexample for each in result.properties if each.claim.name == "one_lease")
    assert found is not None
    assert found.action in ("close", "late_close")
    assert {dict(found.sizes)[name] for name in ("Node", "Stream")} == {1}


@pytest.mark.slow
def test_a_rule_that_the_model_calls_spare_is_not_needed(reassignment: System) -> None:
    """RA-19. Without the owner check a close still ends only its sender's lease, so SP-01 is proved."""
    result = prove(remove_rules(reassignment, ["CK-02.node"]), properties=["SP-01"], cores=0, searched=False)
    assert (result.verdict, result.exit_code) == ("proved", 0)


@pytest.mark.slow
def test_a_missing_rule_is_not_proved(reassignment: System) -> None:
    """RA-20 row 5. If an open ends another broker's lease, SP-01 has no proof."""
    result = prove(remove_rules(reassignment, ["ST-14"]), properties=["SP-01"], cores=0, searched=False, suggest=False)
    assert (result.verdict, result.exit_code) == ("not_inductive", 20)
