"""The proof of ownership: every safety property, for any number of nodes, processes, streams, epochs and offsets."""

from __future__ import annotations

import pytest

from holdfast.check.prove.engine import prove
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_with_lemmas
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System


@pytest.fixture(scope="module")
def ownership() -> System:
    """Ownership with its lemmas."""
    found = load_with_lemmas("ownership")
    assert found.lemmas_from is not None
    return compile_model(found.model)


def test_ownership_is_proved(ownership: System) -> None:
    """Every invariant, step property and idempotence is proved, and no lemma is idle."""
    result = prove(ownership, cores=0)
    assert (result.verdict, result.exit_code, result.unneeded) == ("proved", 0, ())
    assert {proof.verdict for proof in result.properties} == {"proved"}
    needs = {proof.claim.name: proof.needs for proof in result.properties}
    assert "live_handle_is_newest" in needs["one_owner"]


@pytest.mark.slow
def test_late_answers_are_proved(ownership: System) -> None:
    """The variant with late answers is proved with the same lemmas, which speak of awaited handles like of others."""
    late = compile_model(ownership.python, variants=["late_answers"])
    result = prove(late, cores=0)
    assert (result.verdict, result.exit_code, result.unneeded) == ("proved", 0, ())
    assert "hear" in [action.name for action in late.actions]


def test_a_missing_rule_is_found_by_the_search(ownership: System) -> None:
    """Without ST-14 a run of two steps shows the defect before anything is proved."""
    result = prove(remove_rules(ownership, ["ST-14"]), cores=0)
    assert (result.verdict, result.exit_code) == ("violated", 12)
    assert result.searched[0].findings[0].length == 2


@pytest.mark.slow
def test_ownership_is_proved_with_every_seed(ownership: System) -> None:
    """The proof does not depend on the solver's seed."""
    result = prove(ownership, cores=2, seeds=3)
    assert (result.exit_code, result.unstable) == (0, ())
