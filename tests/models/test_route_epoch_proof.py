"""The proof of route_epoch: every safety property, for any number of proxies, mains, requests and epochs."""

from __future__ import annotations

import attrs
import pytest

from holdfast.check.prove.engine import prove
from holdfast.ir.lemmas import compile_with_lemmas
from holdfast.ir.load import load_with_lemmas
from holdfast.ir.system import System


@pytest.fixture(scope="module")
def route_epoch() -> System:
    """route_epoch with its lemmas."""
    found = load_with_lemmas("route_epoch")
    assert found.lemmas_from is not None
    return compile_with_lemmas(found)


@pytest.mark.slow
def test_a_skipped_main_has_nothing_left(route_epoch: System) -> None:
    """I-12. A main without opening streams has uploaded all its links."""
    result = prove(route_epoch, properties=["I-12"], cores=0, searched=False, tried=False)
    assert (result.verdict, result.exit_code) == ("proved", 0)
    needs = {proof.claim.name: proof.needs for proof in result.properties}
    assert "not_uploaded_is_served" in needs["skipped_has_nothing_left"]


@pytest.mark.slow
def test_route_epoch_is_proved(route_epoch: System) -> None:
    """I-1 to I-8, I-12 and V-2, and no lemma is idle."""
    result = prove(route_epoch, cores=2)
    assert (result.verdict, result.exit_code, result.unneeded) == ("proved", 0, ())
    assert {proof.verdict for proof in result.properties} == {"proved"}


@pytest.mark.slow
def test_a_missing_lemma_shows_in_a_small_state(route_epoch: System) -> None:
    """Without the lemma, a main without opening streams may have a link: it comes back, and has lost the link."""
    lemma = "not_uploaded_is_served"
    left = attrs.evolve(route_epoch, properties=tuple(each for each in route_epoch.properties if each.name != lemma))
    result = prove(left, properties=["comes_back_recovered"], cores=0, searched=False, suggest=False)
    assert (result.verdict, result.exit_code) == ("not_inductive", 20)
    found = next(each.counterexample for each in result.properties if each.claim.name == "comes_back_recovered")
    assert found is not None
    assert found.action == "join"
