"""The limits of the numbers that ``holdfast walk`` takes."""

from __future__ import annotations

import re
from typing import Any

import pytest

from holdfast.check.walk.options import WalkOptions
from holdfast.ir.errors import UsageError


@pytest.mark.parametrize(
    ("option", "least", "most"),
    [
        ("seed", 0, 2**64 - 1),
        ("traces", 1, 10**15),
        ("depth", 1, 1_000_000),
        ("run", 0, None),
        ("pct", 1, 100),
    ],
)
def test_numbers_have_limits(option: str, least: int, most: int | None) -> None:
    """The least and the greatest number are taken, and the next ones are refused."""
    said: list[str] = []

    def refused(value: int) -> bool:
        given: dict[str, Any] = {option: value}
        try:
            WalkOptions(**given)
        except UsageError as error:
            said.append(str(error))
            return True
        return False

    assert (refused(least), refused(least - 1)) == (False, True)
    assert refused(10**30)
    if most is not None:
        assert (refused(most), refused(most + 1)) == (False, True)
    option = "runs" if option == "traces" else option
    assert all(
        re.match(rf"--{option} -?\d+: it is out of range; choose a number from {least} to \d", each) for each in said
    )


def test_what_makes_the_same_runs() -> None:
    """The options that a command needs to repeat a run, besides the seed and the run's number."""
    assert WalkOptions(depth=9).command_line == ("--depth", "9")
    whole = WalkOptions(depth=9, pct=2, pct_sort="Node", swarm=False)
    assert whole.command_line == ("--depth", "9", "--pct", "2", "--pct-sort", "Node", "--no-swarm")
    with pytest.raises(UsageError, match="add --pct, such as --pct 3"):
        WalkOptions(pct_sort="Node")
