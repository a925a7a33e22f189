"""Claims are told apart by name, even if a property is called like a deadlock or a failed repetition."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.check.budget import Budget
from holdfast.check.search.engine import search
from holdfast.ir.errors import UsageError
from holdfast.ir.system import System
from holdfast.lower.tla.files import Specification
from holdfast.pytest import properties
from holdfast.records.search import search_record
from holdfast.runs.loading import open_trace
from holdfast.runs.replay import Replayer
from holdfast.runs.selection import select
from holdfast.trace.itf import itf_text
from holdfast.trace.line import to_line
from tests.check.conftest import Compiled
from tests.kernel.plain import use_python

SAME_NAMES = """
n: N
on: bool
tiny = Scope({N: 3})
@init
def begin(self) -> None:
    self.n = N(0)
    self.on = False
@action(idempotent="NM-09")
def turn(self) -> None:
    require(self.n < N(2), "NM-01")
    self.on = not self.on
    self.n = self.n + 1
@invariant
def deadlock(self) -> bool:
    \"\"\"NM-02. The number is not 1.\"\"\"
    return self.n != N(1)
@step
def turn_idempotent(self, old: Self) -> bool:
    \"\"\"NM-09. A turn changes the switch only from off to on.\"\"\"
    return self.on or not old.on
@final
def over(self) -> bool:
    return self.n == N(3)
"""

ALL = [
    ("deadlock", "invariant", 1),
    ("turn_idempotent", "step", 2),
    ("@turn_idempotent", "idempotent", 1),
    ("@deadlock", "deadlock", 2),
]
"""Every violation of the model: its name, its kind, and the number of steps of a shortest run."""


@pytest.fixture
def system(compiled: Compiled) -> System:
    """A model in which a property has each name that an engine uses for its own findings."""
    return compiled(SAME_NAMES)


def test_no_claim_hides_another(system: System) -> None:
    """A search with keep-going finds all four violations, and each report has a case for each."""
    result = search(system, system.scopes["tiny"], keep_going=True)
    assert [(each.shown.name, each.shown.kind, each.length) for each in result.findings] == ALL
    cases = [case.name for case in search_record(system, result, "check").cases]
    assert sorted(cases) == sorted(name for name, _, _ in ALL)


def test_the_kernel_keeps_them_apart(system: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel finds the same as the interpreter, also after resuming from a checkpoint."""
    use_python(monkeypatch)
    scope, file = system.scopes["tiny"], tmp_path / "search"
    plain = search(system, scope, keep_going=True)
    assert search(system, scope, keep_going=True, engine="kernel").findings == plain.findings
    search(system, scope, keep_going=True, checkpoint=file, budget=Budget(states=2))
    assert search(system, scope, keep_going=True, resume_from=file).findings == plain.findings


def test_each_is_replayed_as_itself(system: System, tmp_path: Path) -> None:
    """Each claim is replayed as itself, from its line and from its ITF file."""
    for trace in search(system, system.scopes["tiny"], keep_going=True).findings:
        assert open_trace(to_line(trace)).trace.shown.name == trace.shown.name
        file = tmp_path / "run.itf.json"
        file.write_text(itf_text(trace))
        assert open_trace(str(file), model=trace.target).trace.shown.kind == trace.shown.kind


def test_each_is_asked_for_by_its_name(system: System) -> None:
    """``deadlock`` selects the invariant, ``@deadlock`` the deadlock, and an id of two properties selects both."""
    asked = {name: select(system, [name]) for name in ("deadlock", "@deadlock", "NM-09")}
    said = {
        name: ([p.name for p in each.properties if p.kind != "final"], each.deadlock) for name, each in asked.items()
    }
    assert said == {"deadlock": (["deadlock"], False), "@deadlock": ([], True), "NM-09": (["turn_idempotent"], False)}
    assert [action.name for action in asked["NM-09"].idempotent] == ["turn"]


def test_a_name_that_is_free_has_no_mark(compiled: Compiled) -> None:
    """Without such a property a deadlock is called ``deadlock``, and ``@deadlock`` is an unknown property."""
    plain = compiled(SAME_NAMES.replace("def deadlock(", "def low(").replace("def turn_idempotent(", "def up("))
    names = Replayer(plain, plain.scopes["tiny"]).claim_names
    assert names == ("low", "up", "turn_idempotent", "deadlock")
    with pytest.raises(UsageError, match="has no property '@deadlock'"):
        select(plain, ["@deadlock"])


def test_a_file_of_tlc_tells_them_apart_by_kind(system: System, tmp_path: Path) -> None:
    """If TLC reports a deadlock, the run claims the deadlock and not the invariant called ``deadlock``."""
    states = ["n = 0\n/\\ on = FALSE", "n = 1\n/\\ on = TRUE", "n = 2\n/\\ on = FALSE"]
    for error, length, name in (
        ("Deadlock reached.", 3, "@deadlock"),
        ("Invariant Deadlock is violated.", 2, "deadlock"),
    ):
        shown = [
            f"State {number}: <{'turn' if number > 1 else 'Initial predicate'}>\n/\\ {state}\n"
            for number, state in enumerate(states[:length], start=1)
        ]
        file = tmp_path / f"{length}.txt"
        file.write_text("\n".join([f"Error: {error}", "Error: The behavior up to this point is:", *shown]))
        assert open_trace(str(file), model=f"{system.file} tiny").trace.shown.name == name


def test_a_deadlock_of_tlc_is_no_invariant_of_that_name(compiled: Compiled, tmp_path: Path) -> None:
    """If a run's last state violates the invariant called ``deadlock`` and has no step, TLC's word decides."""
    both = compiled(SAME_NAMES.replace("return self.n != N(1)", "return self.n != N(2)"))
    shown = [
        f"State {number + 1}: <{'turn' if number else 'Initial predicate'}>\n/\\ n = {number}\n" for number in range(3)
    ]
    for error, name in (("Deadlock reached.", "@deadlock"), ("Invariant Deadlock is violated.", "deadlock")):
        file = tmp_path / f"{len(error)}.txt"
        file.write_text("\n".join([f"Error: {error}", "Error: The behavior up to this point is:", *shown]))
        assert open_trace(str(file), model=f"{both.file} tiny").trace.shown.name == name


def test_pytest_has_an_item_for_each(system: System) -> None:
    """Each violation fails its own pytest item with its own run."""
    test = properties(system.python, scope="tiny")
    for name, _, steps in ALL:
        with pytest.raises(pytest.fail.Exception) as failed:
            test(name)
        assert str(failed.value).startswith(f"{name}: violated after {steps} step")


def test_a_step_property_may_be_called_nothing(compiled: Compiled) -> None:
    """The generated module uses another word for steps that break nothing, so TLC still reports this property."""
    text = SAME_NAMES.replace("def turn_idempotent(", "def nothing(")
    written = compiled(text)
    files = Specification.of(written, written.scopes["tiny"], "written.py").files
    [module] = [text for name, text in files.items() if name.endswith("_tiny.tla")]
    assert 'THEN "nothing"' in module
    assert 'NothingBroken == broken = "@nothing"' in module
