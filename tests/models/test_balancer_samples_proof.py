"""The proof of balancer_samples: every safety property, for any number of brokers and partitions, and any delay."""

from __future__ import annotations

import pytest

from holdfast.check.prove.engine import prove
from holdfast.ir.compile import compile_model
from holdfast.ir.removal import remove_rules
from models.balancer_samples import BalancerSamples


def test_samples_are_proved_without_lemmas() -> None:
    """All three properties are proved."""
    result = prove(compile_model(BalancerSamples), cores=0, searched=False, tried=False)
    assert (result.verdict, result.exit_code) == ("proved", 0)
    assert {proof.verdict for proof in result.properties} == {"proved"}


@pytest.mark.parametrize("label", ["BG-01", "BG-02.placement", "BG-02.time", "BG-03"])
def test_no_guard_is_needless(label: str) -> None:
    """Without any one of the guards, something is not proved."""
    left = remove_rules(compile_model(BalancerSamples), [label])
    result = prove(left, cores=0, searched=False, sane=False, suggest=False, tried=False)
    assert (result.verdict, result.exit_code) == ("not_inductive", 20)
