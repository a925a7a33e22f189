"""Guards: refusals, branches, and rules that are switched off."""

from __future__ import annotations

import pytest

from impl.errors import E
from impl.rules import RefusedError, decided, guards, missed, require, rule, without


def test_a_refusal_carries_its_label_and_error() -> None:
    """The guard that refuses is named."""
    with pytest.raises(RefusedError, match=r"^EX-04: NOT_CONTROLLER$") as refused:
        require(False, "EX-04", E.NOT_CONTROLLER)
    assert (refused.value.label, refused.value.error) == ("EX-04", E.NOT_CONTROLLER)


def test_a_rule_that_is_switched_off_decides_nothing() -> None:
    """A rule that is switched off does not refuse and has no effect. After the block it is on again."""
    with without("EX-04"):
        require(False, "EX-04", E.NOT_CONTROLLER)
        assert not rule("EX-04")
    assert rule("EX-04")


def test_blocks_that_share_a_rule_can_be_nested() -> None:
    """The inner block keeps the outer block's rules switched off."""
    with without("EX-04"):
        with without("EX-04", "EX-01"):
            assert not rule("EX-01")
        assert not rule("EX-04")
        assert rule("EX-01")


def test_an_unknown_label_is_an_error() -> None:
    """A label without a guard is an error, so that a misspelt rule is noticed."""
    with pytest.raises(ValueError, match="no guard has the label EX"), without("EX"):
        pass


def test_only_decisions_count() -> None:
    """A condition that is met, and a branch that is not taken, are no decisions."""
    before = decided["EX-04"], decided["EX-01"]
    require(True, "EX-04", E.NONE)
    rule("EX-01", False)
    assert (decided["EX-04"], decided["EX-01"]) == before
    rule("EX-01")
    assert decided["EX-01"] == before[1] + 1


def test_guards_are_found_where_they_stand() -> None:
    """Each label has the files and lines of its guards."""
    ((file, line),) = guards()["EX-04"]
    assert file == "controller/node.py"
    assert line > 1


def test_a_missing_rule_says_where_it_would_have_decided() -> None:
    """A missing rule reports once where it would have refused, and nothing where it would not."""
    with without("EX-04", "EX-01"):
        require(True, "EX-04", E.NONE)
        rule("EX-01", False)
        assert missed == []
        rule("EX-01")
        require(False, "EX-04", E.NONE)
        rule("EX-01")
        assert missed == ["EX-01", "EX-04"]
    assert missed == []
