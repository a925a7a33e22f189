"""Runs in files of other tools on a small model: encodings of values, steps without names, lassos, and limits."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from holdfast.ir.compile import compile_model
from holdfast.ir.errors import UsageError
from holdfast.ir.load import load_model
from holdfast.ir.system import System
from holdfast.runs import matching
from holdfast.runs.loading import ImpossibleError, LoadedRun, open_trace
from holdfast.trace.itf import itf_object
from tests.check.conftest import HEADER
from tests.check.replaying import TABLE, found, model

WORLD = """
mode: Mode
held: Map[tuple[Node, Node], N]
step: Map[N, N]
n: N
tiny = Scope({Node: 2, N: 2}, budgets={"hold": 2})
@init
def begin(self) -> None:
    self.mode = Mode.IDLE
    self.held.fill(N(0))
    self.step.fill(N(0))
    self.n = N(0)
@action
def wake(self) -> None:
    self.mode = Mode.BUSY
@action
def rest(self) -> None:
    require(self.mode == Mode.BUSY, "FR-01")
    self.mode = Mode.IDLE
@action
def hold(self, a: Node, b: Node) -> None:
    require(a != b, "FR-02")
    self.held[a, b] = N(2)
@action
def walk(self, at: N) -> None:
    require(at > N(0), "FR-03")
    self.step[at] = N(1)
@action
def climb(self) -> None:
    require(self.n < N(2) or self.mode == Mode.IDLE, "FR-04")
    self.n = self.n + 1
"""


@pytest.fixture
def world(tmp_path: Path) -> System:
    """A model with an Enum, a map of pairs, a map of numbers, and a number that ends."""
    mode = 'class Mode(Enum):\n    """A mode."""\n    IDLE = 1\n    BUSY = 2\n'
    path = tmp_path / "world.py"
    path.write_text(f"{HEADER}{mode}class World(Model):\n{indent(WORLD, '    ')}")
    return compile_model(load_model(str(path)))


def opened(world: System, folder: Path, *states: dict[str, Any], **more: Any) -> LoadedRun:
    """The run of a file with these states, on the model."""
    path = folder / "run.itf.json"
    path.write_text(json.dumps({"vars": list(states[0]), "states": states, **more}))
    return open_trace(str(path), model=f"{world.file} tiny")


def steps(run: LoadedRun) -> list[str]:
    """The steps of a run as calls."""
    return [f"{step.action}({','.join(str(value) for _, value in step.args)})" for step in run.trace.steps[1:]]


@pytest.mark.parametrize(
    ("field", "start", "after", "step"),
    [
        ("mode", "IDLE", "BUSY", "wake()"),
        ("mode", {"tag": "IDLE", "value": {}}, {"tag": "BUSY", "value": {}}, "wake()"),
        # A function with two arguments: keys are tuples, or functions are nested.
        (
            "held",
            {"#map": [[{"#tup": ["n1", "n2"]}, 0], [{"#tup": ["n2", "n1"]}, 0]]},
            {"#map": [[{"#tup": ["n1", "n2"]}, 0], [{"#tup": ["n2", "n1"]}, 2]]},
            "hold(n2,n1)",
        ),
        (
            "held",
            {"#map": [["n1", {"#map": [["n2", 0]]}], ["n2", {"#map": [["n1", 0]]}]]},
            {"#map": [["n1", {"#map": [["n2", 0]]}], ["n2", {"#map": [["n1", 2]]}]]},
            "hold(n2,n1)",
        ),
        ("held", {"n1": {"n2": 0}, "n2": {"n1": 0}}, {"n1": {"n2": 2}, "n2": {"n1": 0}}, "hold(n1,n2)"),
        # A sequence is a function of the numbers from 1 on.
        ("step", [0, 0], [0, 1], "walk(2)"),
        ("step", [0, 0], [1, 0], "walk(1)"),
        ("step", {"#map": [[1, 0], [2, 0]]}, {"#map": [[1, 0], [2, 1]]}, "walk(2)"),
    ],
)
def test_each_encoding_of_a_value_is_followed(
    world: System, tmp_path: Path, field: str, start: object, after: object, step: str
) -> None:
    """Tools write members of Enums and functions in several ways; each tells the action and its arguments."""
    assert steps(opened(world, tmp_path, {field: start}, {field: after})) == [step]


def test_a_run_of_one_state_is_a_run(world: System, tmp_path: Path) -> None:
    """A file with the initial state alone is the run without a step; another state is no initial state."""
    assert steps(opened(world, tmp_path, {"mode": "IDLE"})) == []
    with pytest.raises(UsageError, match="state 1 is no initial state of World in scope tiny"):
        opened(world, tmp_path, {"mode": "BUSY"})


def test_a_step_that_a_bound_cuts_is_not_refused(world: System, tmp_path: Path) -> None:
    """Of a named step that is not possible, the rules that refuse it are told; a bound that cuts it is no rule."""
    end = [{"n": number, "mbt::actionTaken": "climb"} for number in (0, 1, 2, 2)]
    with pytest.raises(UsageError, match=r"state 4 \(climb\) does not follow .*: no such step is possible"):
        opened(world, tmp_path, *end)
    rest = [{"mode": "IDLE", "mbt::actionTaken": "rest"} for _ in range(2)]
    with pytest.raises(UsageError, match=r"state 2 \(rest\) does not follow .*: the step is refused by FR-01; "):
        opened(world, tmp_path, *rest)


def test_a_file_that_tells_too_little_is_not_followed(
    world: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If too many states agree with a file, the error names the place, and nothing more is tried."""
    path = {"mode": "IDLE"}, {"mode": "IDLE"}
    monkeypatch.setattr(matching, "MOST_RUNS", 5)
    assert len(steps(opened(world, tmp_path, *path))) == 1
    monkeypatch.setattr(matching, "MOST_RUNS", 4)
    with pytest.raises(UsageError, match=r"state 2.*: more than 4 states of World in scope tiny agree with the file"):
        opened(world, tmp_path, *path)


@pytest.mark.parametrize(
    ("modes", "loop", "taken"),
    [
        (["IDLE", "BUSY", "IDLE"], 0, ["wake()", "rest()"]),  # The file has the state of the loop twice.
        (["IDLE", "BUSY"], 0, ["wake()", "rest()"]),  # It leaves out the step that leads back.
    ],
)
def test_the_step_that_leads_back_may_be_left_out(
    world: System, tmp_path: Path, modes: list[str], loop: int, taken: list[str]
) -> None:
    """A lasso may end with the state of its loop, or before the step that leads there."""
    still = {"n": 0, "step": [0, 0], "held": {"n1": {"n1": 0, "n2": 0}, "n2": {"n1": 0, "n2": 0}}}
    run = opened(world, tmp_path, *({"mode": mode, **still} for mode in modes), loop=loop)
    assert (steps(run), run.trace.loop) == (taken, loop)


# Files and lines of Holdfast --------------------------------------------------------------------------------------

LINE = f"{TABLE} tiny -ST-14 #35e6084304bdb5d7 one_handle: open(p1,s1,1) open(p2,s1,2)"


def test_another_model_keeps_the_scope_of_the_run(tmp_path: Path) -> None:
    """If the model to replay on is named without a scope, the scope of the line or the file counts."""
    path = tmp_path / "run.itf.json"
    path.write_text(json.dumps(itf_object(found(model("table", "ST-14"), "one_handle"))))
    for run in (LINE, str(path)):
        for named, scope in ((f"{TABLE} -ST-14", "tiny"), (f"{TABLE} tiny -ST-14", "tiny"), (TABLE, "tiny")):
            trace = open_trace(run, model=named).trace
            assert (trace.scope, trace.removed) == (scope, ("ST-14",))


def test_a_variable_that_a_file_lacks_is_not_compared(tmp_path: Path) -> None:
    """A file from which somebody has removed a variable still opens on its model."""
    path = tmp_path / "run.itf.json"
    data = itf_object(found(model("table", "ST-14"), "one_handle"))
    data["vars"].remove("owner")
    for state in data["states"]:
        del state["owner"]
    path.write_text(json.dumps(data))
    assert open_trace(str(path), model=TABLE).trace.length == 2


def test_a_state_without_an_action_is_named(tmp_path: Path) -> None:
    """In a file that Holdfast wrote each state but the first names its action; the error counts states from 1."""
    path = tmp_path / "run.itf.json"
    for place in (1, 2):
        data = itf_object(found(model("table", "ST-14"), "one_handle"))
        for name in ("mbt::actionTaken", "mbt::nondetPicks"):
            data["vars"].remove(name)
            for state in data["states"]:
                del state[name]
        del data["states"][place]["#meta"]["action"]
        path.write_text(json.dumps(data))
        with pytest.raises(UsageError, match=rf": state {place + 1} names no action, as a file of Holdfast does; "):
            open_trace(str(path), model=TABLE)


def test_a_loop_that_does_not_lead_back() -> None:
    """A loop that does not lead back makes the line wrong, or is the fault of a model that has changed since."""
    line = LINE.replace("one_handle: ", "one_handle: loop: ")
    with pytest.raises(
        UsageError, match=r"does not lead back: the last state is not that after step 0; check the line"
    ):
        open_trace(line)
    with pytest.raises(ImpossibleError, match=r"does not lead back: .*; the model has changed since the run was made"):
        open_trace(line.replace("#35e6", "#0000"))


@pytest.mark.parametrize(("sizes", "choices"), [("Epoch: 7", "use 0, 1, 2, 3, 4, 5, 6, 7"), ("Epoch: 8", "use 0 to 8")])
def test_a_wrong_value_is_answered_with_the_choices(tmp_path: Path, sizes: str, choices: str) -> None:
    """A value that a line gives and the scope lacks is refused with up to eight choices, or with the first and last."""
    path = tmp_path / "table.py"
    path.write_text(Path(TABLE).read_text().replace("Epoch: 2}", f"{sizes}}}"))
    with pytest.raises(ImpossibleError) as refused:
        open_trace(LINE.replace(TABLE, str(path)).replace("p2,s1,2", "p2,s1,9"))
    assert f"9 is not a value of e (Epoch) in scope tiny; {choices}; the model has changed" in str(refused.value)
