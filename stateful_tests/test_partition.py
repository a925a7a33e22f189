"""Partitions on real brokers with a real controller. In whatever order messages arrive, no confirmed batch is lost, and
every command of the operator is completed.
"""

from __future__ import annotations

import pytest
from hypothesis import Phase

from impl.rules import guards, without
from stateful_tests.partition.machine import Machine, drive, machine
from stateful_tests.partition.teeth import TEETH, UNNOTICED

WITHIN = 500
"""The most examples until a missing rule is found."""
FAST = ("CL-08", "RA-11")
"""Rules whose absence is found after few examples."""


def test_partitions_keep_what_they_confirm() -> None:
    """Runs of up to thirty steps break no property."""
    drive(machine(), max_examples=150)


@pytest.mark.slow
def test_partitions_keep_what_they_confirm_for_long() -> None:
    """More and longer runs break no property either."""
    drive(machine(), max_examples=250, stateful_step_count=60)


# Missing rules --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", FAST)
def test_missing_rule_is_found(label: str) -> None:
    """Without the rule, a property breaks after few examples."""
    _find(label)


@pytest.mark.slow
@pytest.mark.parametrize("label", TEETH)
def test_every_missing_rule_is_found(label: str) -> None:
    """The same holds for each of the other rules."""
    driven = _find(label)
    print(f"without {label}: found by example {driven.found_after}")  # noqa: T201 - shown by `pytest -rP`


def test_each_label_is_listed_once() -> None:
    """No rule is in both lists: its absence is noticed, or there is a reason why not. Each listed rule exists."""
    assert not set(TEETH) & set(UNNOTICED)
    assert {*TEETH, *UNNOTICED} <= set(guards())


def _find(label: str) -> Machine:
    """Drive a machine without a rule, until a property or an assertion of the implementation fails."""
    driven = machine()
    with without(label), pytest.raises(AssertionError):
        drive(driven, max_examples=WITHIN, derandomize=True, database=None, phases=[Phase.generate])
    assert driven.found_after is not None
    assert driven.found_after <= WITHIN
    return driven
