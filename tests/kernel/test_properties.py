"""Step properties and idempotence depend on the right fields, whatever their types."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.check.search.engine import search
from holdfast.check.walk.engine import walk
from holdfast.check.walk.options import WalkOptions
from holdfast.ir.system import System
from tests.kernel.searching import equal_searches
from tests.kernel.writing import written

TOGGLED = {
    "bool": ("bool", "False", "True"),
    "Part": ("Part", "Part.A", "Part.C"),
    "N": ("N", "N(0)", "N(2)"),
    "Gap": ("Gap", "Gap(-2)", "Gap(1)"),
    "an Optional of a sort": ("Node | None", "None", "n"),
    "an Optional number": ("N | None", "None", "N(2)"),
    "an Optional Int": ("Gap | None", "Gap(-2)", "None"),
    "an Optional Enum": ("Part | None", "Part.D", "Part.B"),
}
"""For each type of a field, a value and another value."""

TOGGLE = """
pad: N
here: TYPE
tiny = Scope({Node: 2, N: 2})
@init
def zero(self) -> None:
    self.pad = N(0)
    self.here = ONE
@action(idempotent="R-1")
def toggle(self, n: Node) -> None:
    if self.here == ONE:
        self.here = OTHER
    else:
        self.here = ONE
"""


def toggled(folder: Path, kind: str) -> System:
    """A model in which repeating a step undoes it, in a field of that type."""
    type_, one, other = TOGGLED[kind]
    body = TOGGLE.replace("TYPE", type_).replace("OTHER", other).replace("self.here == ONE", "SAME").replace("ONE", one)
    same = "self.here is None" if one == "None" else f"self.here == {one}"
    if one != "None" and type_.endswith("None"):
        same = f"self.here is not None and {same}"
    return written(folder, body.replace("SAME", same))


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("kind", TOGGLED)
def test_a_repetition_that_changes_any_field_is_a_violation(kind: str, tmp_path: Path) -> None:
    """For each type of the field, the kernel's text, the interpreter and random runs find the violation."""
    system = toggled(tmp_path, kind)

    assert equal_searches(system, "tiny").verdict == "violated"
    assert walk(system, system.scopes["tiny"], WalkOptions(seed=1, traces=3, depth=4)).verdict == "violated"


STEPS = """
first: N
second: Map[Node, bool]
third: Node | None
tiny = Scope({N: 1, Node: 2})
@init
def zero(self) -> None:
    self.first = N(1)
    self.second.fill(True)
    self.third = None
@action
def change_first(self) -> None:
    self.first = N(0)
@action
def change_second(self, n: Node) -> None:
    self.second[n] = False
@action
def change_third(self, n: Node) -> None:
    self.third = n
@step
def first_stays(self, old: Self) -> bool:
    return self.first == old.first
@step
def second_stays(self, old: Self) -> bool:
    return all(self.second[n] == old.second[n] for n in Node)
@step
def third_stays(self, old: Self) -> bool:
    return self.third is None or old.third is not None
"""


@pytest.mark.usefixtures("uncompiled")
def test_each_step_property_is_asked_where_its_own_fields_change(tmp_path: Path) -> None:
    """Steps that change only one property's fields violate that property, for each of the properties."""
    system = written(tmp_path, STEPS)

    found = equal_searches(system, "tiny", keep_going=True)

    assert [trace.shown.name for trace in found.findings] == ["first_stays", "second_stays", "third_stays"]
    for name in ("first_stays", "second_stays", "third_stays"):
        assert search(system, system.scopes["tiny"], properties=[name]).verdict == "violated"


MANY = "n: N\non: bool\ntiny = Scope({N: 1})\n@init\ndef zero(self) -> None:\n    self.n = N(0)\n    self.on = False\n"


def many_actions(count: int) -> str:
    """A model with N idle actions and a last one that claims to be idempotent and is not."""
    idle = "".join(f"@action\ndef a{number}(self) -> None:\n    self.n = N({number % 2})\n" for number in range(count))
    return f'{MANY}{idle}@action(idempotent="R-1")\ndef last(self) -> None:\n    self.on = not self.on\n'


@pytest.mark.usefixtures("uncompiled")
def test_more_actions_than_a_word_has_bits(tmp_path: Path) -> None:
    """Of seventy actions, the last is checked like the first."""
    assert equal_searches(written(tmp_path, many_actions(69)), "tiny").verdict == "violated"


@pytest.mark.slow
def test_more_actions_than_a_word_has_bits_in_machine_code(tmp_path: Path) -> None:
    """In machine code too, where a word is limited to 64 bits."""
    assert equal_searches(written(tmp_path, many_actions(69)), "tiny").verdict == "violated"
