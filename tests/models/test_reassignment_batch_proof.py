"""The proof of reassignment_batch: every safety property, for any number of brokers, plans and partitions."""

from __future__ import annotations

import pytest

from holdfast.check.prove.engine import prove
from holdfast.ir.lemmas import compile_with_lemmas
from holdfast.ir.load import load_with_lemmas
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System


@pytest.fixture(scope="module")
def batch() -> System:
    """Plans with their lemma."""
    found = load_with_lemmas("reassignment_batch")
    assert found.lemmas_from is not None
    return compile_with_lemmas(found)


def test_reassignment_batch_is_proved(batch: System) -> None:
    """Every property is proved, and no lemma is idle."""
    result = prove(batch, cores=0, searched=False, tried=False)
    assert (result.verdict, result.exit_code) == ("proved", 0)
    assert result.unneeded == ()
    assert {proof.verdict for proof in result.properties} == {"proved"}


def test_a_plan_is_not_proved_whole_if_it_grows_while_it_is_handled(batch: System) -> None:
    """RA-01. Without the rule that closes a plan, nothing shows that all its rows are handled together."""
    left = remove_rules(batch, ["RA-01"])
    result = prove(left, properties=["plan_is_whole"], cores=0, searched=False, sane=False, suggest=False)
    assert (result.verdict, result.exit_code) == ("not_inductive", 20)
