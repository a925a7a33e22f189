"""Model names that have another use in generated TLA+: nothing collides, and TLC and the search agree."""

from __future__ import annotations

import re
import zipfile

import attrs
import pytest

from holdfast.check.tlc.agreement import CheckerAnswer
from holdfast.check.tlc.process import Tools
from holdfast.ir.errors import UsageError
from holdfast.ir.types import SortType
from holdfast.lower.tla.debts import DebtModule
from holdfast.lower.tla.files import Specification, module_name
from holdfast.lower.tla.names import CONFIGURATION, MODULES, STANDARD, TlaNames
from holdfast.lower.tla.scope import readable
from tests.tla.asking import opinion, system_of
from tests.tla.test_liveness import MAILBOX, compared

NAMES = "tests/tla/models/names.py"


def test_a_model_of_colliding_names_is_searched_alike(tools: Tools) -> None:
    """A model whose names are words of configurations and operators of modules has equally many states for both."""
    found = opinion(tools, system_of(NAMES)).compared()
    assert (found.theirs, found.differences) == (CheckerAnswer("exhausted", 445, 6), ())


def test_a_property_called_nothing_can_be_violated(tools: Tools) -> None:
    """The value for "no violation" is no property's name, and a run names the right one of two similar actions."""
    found = opinion(tools, system_of(NAMES, ["NA-03"])).compared()
    assert (found.theirs, found.differences) == (CheckerAnswer("violated", property="nothing", steps=1), ())
    assert found.run is not None
    assert [step.action for step in found.run.steps] == ["init", "Go"]


def test_what_is_owed_may_be_called_nothing() -> None:
    """The value for "no debt" is no property's name, so a leads-to may be called "nothing"."""
    system = system_of(MAILBOX)
    [prop] = system.of_kind("leads_to")
    scope = Specification.of(system, system.scope("tiny"), "mailbox").scope
    assert DebtModule(scope, [prop]).none == "nothing"
    assert DebtModule(scope, [attrs.evolve(prop, name="nothing")]).none == "nothing_"


@pytest.mark.slow
def test_a_model_of_colliding_names_owes_alike(tools: Tools) -> None:
    """They agree on liveness, whose module has names of its own."""
    assert compared(opinion(tools, system_of(NAMES))).differences == ()


def test_the_names_of_standard_modules_are_known(tools: Tools) -> None:
    """No model name may be an operator of a module that generated ones extend, or the name of such a module."""
    with zipfile.ZipFile(tools.jar) as jar:
        paths = [name for name in jar.namelist() if re.fullmatch(r"tla2sany/StandardModules/\w+\.tla", name)]
        modules = {path.rpartition("/")[2].removesuffix(".tla"): jar.read(path).decode() for path in paths}
    extended = "".join(modules[name] for name in ("Naturals", "Integers", "FiniteSets", "TLC"))
    assert set(re.findall(r"^(\w{2,})(?:\(.*?\))?\s*==", extended, re.MULTILINE)) <= STANDARD
    assert set(modules) <= MODULES


def test_words_of_a_configuration_are_no_names() -> None:
    """An invariant named CONSTRAINT would exclude states from the search, and not be checked."""
    assert TlaNames().take("CONSTRAINT") == "CONSTRAINT_2"
    assert {"VIEW", "SYMMETRY", "INVARIANT", "PROPERTY", "ALIAS"} <= CONFIGURATION


@pytest.mark.parametrize(
    ("target", "module"), [("naturals.py", "naturals_model"), ("TLC.py", "TLC_model"), ("a.py", "a")]
)
def test_no_file_is_that_of_a_standard_module(target: str, module: str) -> None:
    """No file is named like a standard module, in any capitals: TLC would read it instead of the module."""
    assert TlaNames().module(module_name(target)) == module


def test_a_module_written_by_hand_is_not_replaced(tools: Tools) -> None:
    """A model named like a hand-written module, in any capitals, is refused: one file would hide the other."""
    with pytest.raises(UsageError, match=r"its module Model.tla is written by hand too; rename the file of the model"):
        opinion(tools, system_of(MAILBOX), modules={"Model": "---- MODULE Model ----\n===="})


def test_elements_that_tlc_cannot_read_are_refused() -> None:
    """A sort's prefix may be any text for the search. For TLC the line names the sort that needs another one."""
    with pytest.raises(UsageError, match=r"Node: TLC cannot read 'é1', .* class Node\(Sort, prefix=\"x\"\)"):
        readable(SortType("Node"), ["n1", "é1"])


def test_the_invariant_about_ends_is_the_models_deadlock() -> None:
    """If TLC says that NotStuck is violated, the model's claim is meant that it never gets stuck short of its end."""
    for target, expected in (("tests/lower/models/gauges.py", "deadlock"), ("tests/check/models/table.py", None)):
        system = system_of(target)
        checked = Specification.of(system, system.scopes["tiny"], target).scope.checked
        assert checked.invariants.get("NotStuck") == expected
