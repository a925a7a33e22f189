"""The proof of metadata_quorum: every safety property, for any number of brokers and epochs."""

from __future__ import annotations

import pytest

from holdfast.check.prove.engine import prove
from holdfast.ir.lemmas import compile_with_lemmas
from holdfast.ir.load import load_with_lemmas
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System


@pytest.fixture(scope="module")
def quorum() -> System:
    """The quorum with its lemmas."""
    found = load_with_lemmas("metadata_quorum")
    assert found.lemmas_from is not None
    return compile_with_lemmas(found)


def test_metadata_quorum_is_proved(quorum: System) -> None:
    """Every property is proved, and no lemma is idle."""
    result = prove(quorum, cores=0, searched=False, tried=False)
    assert (result.verdict, result.exit_code) == ("proved", 0)
    assert result.unneeded == ()
    assert {proof.verdict for proof in result.properties} == {"proved"}


@pytest.mark.parametrize("label", ["EX-01", "EX-02"])
def test_early_answers_have_no_proof(quorum: System, label: str) -> None:
    """EX-01, EX-02. If answers do not wait, nothing shows that a broker with a handle has the stream."""
    left = remove_rules(quorum, [label])
    result = prove(left, properties=["handle_is_lease"], cores=0, searched=False, sane=False, suggest=False)
    assert (result.verdict, result.exit_code) == ("not_inductive", 20)
