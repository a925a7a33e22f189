"""The proof of broker_executors: every safety property, for any number of brokers, threads and partitions."""

from __future__ import annotations

import pytest

from holdfast.check.prove.engine import prove
from holdfast.ir.lemmas import compile_with_lemmas
from holdfast.ir.load import load_with_lemmas
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System


@pytest.fixture(scope="module")
def executors() -> System:
    """The brokers and their threads, with the lemmas."""
    found = load_with_lemmas("broker_executors")
    assert found.lemmas_from is not None
    return compile_with_lemmas(found)


def test_broker_executors_are_proved(executors: System) -> None:
    """Every property is proved, and no lemma is idle."""
    result = prove(executors, cores=0, searched=False, tried=False)
    assert (result.verdict, result.exit_code) == ("proved", 0)
    assert result.unneeded == ()
    assert {proof.verdict for proof in result.properties} == {"proved"}


def test_a_partition_that_two_threads_open_is_seen(executors: System) -> None:
    """RA-11. Without the rule two threads of a broker may open one partition, and one of them never ends."""
    left = remove_rules(executors, ["RA-11"])
    result = prove(left, properties=["works_on_moves"], cores=0, searched=False, sane=False, suggest=False)
    assert (result.verdict, result.exit_code) == ("not_inductive", 20)
