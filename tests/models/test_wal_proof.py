"""The proof of the WAL: nothing that was acked is lost, for any number of incarnations and slots."""

from __future__ import annotations

import attrs
import pytest

from holdfast.check.prove.engine import prove
from holdfast.ir.compile import compile_model
from holdfast.ir.lemmas import compile_with_lemmas
from holdfast.ir.load import load_with_lemmas
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System


@pytest.fixture(scope="module")
def wal() -> System:
    """The WAL with its lemmas."""
    found = load_with_lemmas("wal")
    assert found.lemmas_from is not None
    return compile_with_lemmas(found)


def test_the_wal_is_proved(wal: System) -> None:
    """Every invariant and step property is proved, and no lemma is idle."""
    result = prove(wal, cores=0, searched=False)
    assert (result.verdict, result.exit_code, result.unneeded) == ("proved", 0, ())
    assert {proof.verdict for proof in result.properties} == {"proved"}
    needs = {proof.claim.name: proof.needs for proof in result.properties}
    assert "gap_is_trimmed" in needs["listings_are_complete"]


@pytest.mark.slow
@pytest.mark.parametrize("label", ["WL-03.newer", "WL-06.newest"])
def test_what_the_model_calls_spare_is_not_needed(wal: System, label: str) -> None:
    """G-38, G-56. No small scope needs the rule, and none does: INV-02 is proved without it."""
    result = prove(remove_rules(wal, [label]), properties=["INV-02"], cores=0, searched=False)
    assert (result.verdict, result.exit_code) == ("proved", 0)


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["first_object_only", "same_slot_only", "verified_early"])
def test_what_loses_records_is_not_proved(variant: str) -> None:
    """The variants that lose records are not proved, and the search beside the proof shows the loss."""
    found = load_with_lemmas("wal")
    result = prove(compile_model(found.model, variants=(variant,)), cores=0, searched=False, suggest=False)
    assert (result.verdict, result.exit_code) == ("not_inductive", 20)


def test_a_missing_lemma_shows_in_the_smallest_state(wal: System) -> None:
    """Without the order of list and replay an incarnation that has sent lists: one incarnation, one slot."""
    left = attrs.evolve(wal, properties=tuple(prop for prop in wal.properties if prop.name != "steps_in_order"))
    result = prove(left, properties=["objects_are_sent"], cores=0, searched=False, suggest=False)
    assert (result.verdict, result.exit_code) == ("not_inductive", 20)
    found = result.properties[0].counterexample
    assert found is not None
    assert (found.action, found.sizes) == ("list_objects", (("Incarnation", 1), ("Slot", 1)))


@pytest.mark.slow
def test_the_wal_is_proved_with_every_seed(wal: System) -> None:
    """The proof does not depend on the solver's seed."""
    result = prove(wal, cores=2, seeds=3)
    assert (result.exit_code, result.unstable) == (0, ())
