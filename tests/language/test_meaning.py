"""The meaning of accepted models: the compiled system and the class run by CPython behave the same."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from holdfast.ir.removal import remove_rules
from tests.language.cases import Case, read_cases
from tests.language.writing import compiled, disagreement, idle_actions, load

CASES = read_cases("accepted")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_model_means_what_python_does(case: Case, tmp_path: Path) -> None:
    """Both executors agree on every step, refusal, cut and property of the first states and of random ones."""
    system = compiled(tmp_path, case.source)

    assert disagreement(system) is None
    assert idle_actions(system) == [], "an action that never changes anything shows nothing"


@pytest.mark.parametrize("case", [case for case in CASES if '"' in case.source], ids=lambda case: case.name)
def test_a_model_means_the_same_without_a_rule(case: Case, tmp_path: Path) -> None:
    """Both executors agree when any one rule is removed, everywhere or in one action."""
    system = compiled(tmp_path, case.source)
    for rule in (rule for rule in system.rules if rule.has_label):
        for removed in (rule.label, *(f"{rule.label}@{action}" for action in rule.actions)):
            assert disagreement(remove_rules(system, [removed]), states=20) is None, removed


BODY = 'require(e != Epoch(2), "EP-01"); self.clock = e'
OTHERS = {
    "another value": 'require(e != Epoch(2), "EP-01"); self.clock = Epoch(1)',
    "another cell": 'require(e != Epoch(2), "EP-01"); self.clock = e; self.phase = Phase.BUSY',
    "no refusal": "self.clock = e",
    "a refusal more": 'require(e == Epoch(0), "EP-01"); self.clock = e',
    "another error": 'require(e != Epoch(2), "EP-01", error=E.FENCED); self.clock = e',
    "a cut": 'require(e != Epoch(2), "EP-01"); self.clock = e + e + e',
    "another start": BODY,
    "another property": BODY,
}


@pytest.mark.parametrize("other", OTHERS)
def test_a_disagreement_is_seen(other: str, tmp_path: Path) -> None:
    """The comparison notices a class that behaves differently from the system."""
    model = """
class M(Table):
    @init
    def start_phase(self) -> None:
        self.phase = Phase.START

    @action
    def advance(self, e: Epoch) -> None:
        BODY

    @invariant
    def fine(self) -> bool:
        return self.clock < Epoch(LIMIT)
"""
    texts = {
        "system": model.replace("BODY", BODY).replace("START", "IDLE").replace("LIMIT", "2"),
        "class": model.replace("BODY", OTHERS[other])
        .replace("START", "BUSY" if other == "another start" else "IDLE")
        .replace("LIMIT", "1" if other == "another property" else "2"),
    }
    for folder in texts:
        (tmp_path / folder).mkdir()
    system = compiled(tmp_path / "system", texts["system"])

    assert disagreement(system) is None
    assert disagreement(attrs.evolve(system, python=load(tmp_path / "class", texts["class"]))) is not None
