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
    """It neither refuses nor takes effect, and is on again after the block."""
    with without("EX-04"):
        require(False, "EX-04", E.NOT_CONTROLLER)
        assert not rule("EX-04")
    assert rule("EX-04")


def test_blocks_that_share_a_rule_can_be_nested() -> None:
    """The inner block leaves off what the outer one has switched off."""
    with without("EX-04"):
        with without("EX-04", "EX-01"):
            assert not rule("EX-01")
        assert not rule("EX-04")
        assert rule("EX-01")


def test_an_unknown_label_is_an_error() -> None:
    """Nobody believes to have switched off what has no guard."""
    with pytest.raises(ValueError, match="no guard has the label EX"), without("EX"):
        pass


def test_only_decisions_count() -> None:
    """A condition that is met refuses nothing, and one that is not met takes no branch."""
    before = decided["EX-04"], decided["EX-01"]
    require(True, "EX-04", E.NONE)
    rule("EX-01", False)
    assert (decided["EX-04"], decided["EX-01"]) == before
    rule("EX-01")
    assert decided["EX-01"] == before[1] + 1


def test_guards_are_found_where_they_stand() -> None:
    """A label has the places of its guards: file and line."""
    ((file, line),) = guards()["EX-04"]
    assert file == "controller/node.py"
    assert line > 1


def test_a_missing_rule_says_where_it_would_have_decided() -> None:
    """Once until somebody takes it, and not where its condition leaves it nothing to do."""
    with without("EX-04", "EX-01"):
        require(True, "EX-04", E.NONE)
        rule("EX-01", False)
        assert missed == []
        rule("EX-01")
        require(False, "EX-04", E.NONE)
        rule("EX-01")
        assert missed == ["EX-01", "EX-04"]
    assert missed == []
