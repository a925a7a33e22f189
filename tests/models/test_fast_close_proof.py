"""The proof of fast_close: every safety property, for any number of nodes, processes, streams, epochs and offsets."""

from __future__ import annotations

import pytest

from holdfast.check.prove.engine import prove
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_with_lemmas
from holdfast.ir.system import System


@pytest.fixture(scope="module")
def fast_close() -> System:
    """Fast close with its lemmas."""
    found = load_with_lemmas("fast_close")
    assert found.lemmas_from is not None
    return compile_model(found.model)


@pytest.mark.slow
def test_an_entry_bars_its_node(fast_close: System) -> None:
    """INV-09 and INV-08 are inductive together: ST-15 is all that they need."""
    result = prove(fast_close, properties=["INV-08"], cores=0, searched=False, sane=False, tried=False, suggest=False)
    assert (result.verdict, result.exit_code) == ("proved", 0)
    proofs = {proof.claim.name: proof.needs for proof in result.properties if proof.verdict == "proved"}
    assert proofs["entries_only_drain"] == ("entry_is_no_lease",)


@pytest.mark.slow
def test_fast_close_is_proved(fast_close: System) -> None:
    """Every safety property is proved, among them INV-02, INV-06, INV-07 and INV-09."""
    result = prove(fast_close, cores=2)
    assert (result.verdict, result.exit_code) == ("proved", 0)
    proved = {proof.claim.name for proof in result.properties if proof.verdict == "proved"}
    assert {"no_acked_loss", "covered_once", "no_hole", "entry_is_no_lease"} <= proved


@pytest.mark.slow
def test_late_answers_are_proved(fast_close: System) -> None:
    """The variant with late answers is proved with the same lemmas."""
    result = prove(compile_model(fast_close.python, variants=["late_answers"]), cores=2)
    assert (result.verdict, result.exit_code) == ("proved", 0)
