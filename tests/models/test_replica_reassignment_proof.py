"""The proof of replica reassignment: every safety property, for any number of brokers and overlapping starts."""

from __future__ import annotations

import pytest

from holdfast.check.prove.engine import prove
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_with_lemmas
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System


@pytest.fixture(scope="module")
def replicas() -> System:
    """Replica reassignment with its lemmas."""
    found = load_with_lemmas("replica_reassignment")
    assert found.lemmas_from is not None
    return compile_model(found.model)


@pytest.mark.slow
def test_replica_reassignment_is_proved(replicas: System) -> None:
    """SP-10 to SP-13, SP-05 and CA-26: everything is proved. Two lemmas are idle, unless a rule is removed."""
    result = prove(replicas, cores=0)
    assert (result.verdict, result.exit_code) == ("proved", 0)
    assert set(result.unneeded) <= {"followers_are_replicas", "lists_are_short"}
    assert {proof.verdict for proof in result.properties} == {"proved"}


def test_completion_in_sync_needs_its_rule(replicas: System) -> None:
    """SP-11. Without RA-44 a run of one step completes a reassignment too early."""
    result = prove(remove_rules(replicas, ["RA-44"]), cores=0)
    assert (result.verdict, result.exit_code) == ("violated", 12)
