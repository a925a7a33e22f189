"""A model's properties as pytest items."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.ir.load import load_model
from holdfast.pytest import properties
from tests.live.asking import LEASE

TABLE = Path(__file__).parents[1] / "check" / "models" / "table.py"

test_the_table = properties(load_model(str(TABLE)))
test_leases = properties(load_model(str(LEASE)))


BLINK = """
from holdfast.lang import *
class Blink(Model):
    lit: bool
    tiny = Scope({})
    @init
    def dark(self) -> None:
        self.lit = False
    @action(fair="weak")
    def switch(self) -> None:
        self.lit = not self.lit
    @always_eventually
    def recurs(self) -> bool:
        return self.lit
    @eventually_always
    def lasts(self) -> bool:
        return self.lit
"""


def names(test: Callable[[str], None]) -> list[str]:
    """The names of a test function's items."""
    (mark,) = test.pytestmark  # type: ignore[attr-defined]
    return list(mark.args[1])


def failure(test: Callable[[str], None], name: str) -> str:
    """The failure message of an item."""
    with pytest.raises(pytest.fail.Exception) as failed:
        test(name)
    return str(failed.value)


def test_every_property_is_an_item() -> None:
    """Each property of states or steps, each witness, leads-to and idempotence is an item."""
    assert names(test_the_table) == [
        "one_handle", "holder_opened_last", "epochs_grow", "closed_before", "handed_over", "close_idempotent",
    ]  # fmt: skip
    assert names(test_leases) == ["served", "freed"]


def test_what_is_violated_fails_with_its_run() -> None:
    """A violated property fails with its run. Others pass, although all share one search."""
    broken = properties(load_model(str(TABLE)), removed=["ST-14"])
    assert failure(broken, "one_handle").startswith("one_handle: violated after 2 steps")
    broken("epochs_grow")
    starved = properties(load_model(str(LEASE)), removed=["LS-08"])
    assert failure(starved, "freed").startswith("freed: violated by 2 steps, after which nothing happens")


def test_every_kind_of_liveness_is_decided(tmp_path: Path) -> None:
    """Conditions that must recur, or last, are items too; each is decided alone."""
    (tmp_path / "blink.py").write_text(BLINK)
    blink = properties(load_model(str(tmp_path / "blink.py")))
    assert names(blink) == ["recurs", "lasts"]
    blink("recurs")
    assert failure(blink, "lasts").startswith("lasts: violated by 2 steps, the last 2 of them over and over")


def test_what_is_never_shown_fails(tmp_path: Path) -> None:
    """An unreached witness fails, and so does a vacuous property."""
    text = TABLE.read_text().replace('require(e > self.epoch[s], "ST-12"', 'require(e < self.epoch[s], "ST-12"')
    (tmp_path / "shut.py").write_text(text)
    shut = properties(load_model(str(tmp_path / "shut.py")))
    assert failure(shut, "handed_over") == "no reachable state is a witness of handed_over"
    assert failure(shut, "one_handle") == "one_handle is vacuous: its premise is true nowhere, so it says nothing"
