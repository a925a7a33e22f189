"""A model's declared outcomes of its mutants: read with places, inherited, and checked against the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.ir.compile import compile_model
from holdfast.ir.errors import ModelError
from holdfast.ir.system import Declaration
from tests.language.conftest import Build
from tests.language.writing import compiled, disagreement, load

BASE = """
class Base(Table):
    loose: Flag

    mutants = outcomes({
        "ST-14": redundant(with_="ST-12@open", reason="it is  as\\nmuch"),
        "ST-12@open": equivalent("nothing"),
        "ST-44": liveness("opens", "it waits"),
        "loose": sound("no harm"),
    })

    @action
    def open(self, s: Stream) -> None:
        require(not self.opened[s], "ST-14")
        self.check(s)
        if rule("ST-44"):
            self.opened[s] = True

    @action
    def reopen(self, s: Stream) -> None:
        self.check(s)

    def check(self, s: Stream) -> None:
        require(self.loose or self.clock == Epoch(0), "ST-12")

    @leads_to
    def opens(self, s: Stream) -> tuple[bool, bool]:
        return True, self.opened[s]
"""


def declared(outcomes: dict[str, Declaration]) -> dict[str, tuple[str, str, int]]:
    """Each declaration as the model has it, with its reason and its line."""
    return {name: (str(each), each.reason, each.at.line) for name, each in outcomes.items()}


def test_declarations_are_read_with_their_places(build: Build) -> None:
    """Each declaration has its kind, its names, its reason on one line, and its line. A model may declare nothing."""
    system = build(BASE.replace("Base", "M"))

    assert declared(dict(system.outcomes)) == {
        "ST-14": ("redundant(ST-12@open)", "it is as much", 6),
        "ST-12@open": ("equivalent", "nothing", 7),
        "ST-44": ("liveness(opens)", "it waits", 8),
        "loose": ("sound", "no harm", 9),
    }
    assert disagreement(system) is None


def test_a_model_without_outcomes_declares_none(build: Build) -> None:
    """A model without declarations has an empty list of outcomes."""
    assert build("class M(Table):\n    pass\n").outcomes == {}


def test_outcomes_are_inherited_or_replaced(tmp_path: Path) -> None:
    """The outcomes of the nearest class that declares any count, and no others."""
    source = BASE + '\nclass Heir(Base): ...\n\nclass M(Heir):\n    mutants = outcomes({"ST-14": missing("closes")})\n'
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()

    assert list(compiled(tmp_path / "one", source).outcomes) == ["ST-14"]
    inherited = BASE + "\nclass M(Base): ...\n"
    assert list(compiled(tmp_path / "two", inherited).outcomes) == ["ST-14", "ST-12@open", "ST-44", "loose"]


def test_an_inherited_outcome_of_a_rule_that_is_gone(tmp_path: Path) -> None:
    """A model that overrides an action and drops a rule must declare its own outcomes. The error has the base line."""
    source = (
        BASE + "\nclass M(Base):\n    @action\n    def open(self, s: Stream) -> None:\n        self.clock = Epoch(0)\n"
    )
    with pytest.raises(ModelError, match=r"mutants: ST-14: the model has no rule or variant 'ST-14'") as refused:
        compiled(tmp_path, source)

    assert refused.value.place.line == 6


def test_a_variant_may_lack_a_rule(tmp_path: Path) -> None:
    """Labels are checked in the model without variants. A variant may lack one of them."""
    source = BASE + (
        '\nclass M(Base):\n    @variant("plain", replaces="open")\n'
        "    def open_plain(self, s: Stream) -> None:\n        self.opened[s] = True\n"
    )
    system = compile_model(load(tmp_path, source), variants=("plain",))

    assert list(system.outcomes) == ["ST-14", "ST-12@open", "ST-44", "loose"]
