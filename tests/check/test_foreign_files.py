"""Opening a file of another tool as a run on a model: its actions, scope and claim, and the files that do not fit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.ir.errors import UsageError
from holdfast.runs.loading import open_trace
from holdfast.trace.itf import itf_object
from holdfast.trace.line import to_line
from tests.check.conftest import Compiled
from tests.check.replaying import LINE, TABLE

FOREIGN = Path(__file__).parents[1] / "trace" / "foreign"


@pytest.mark.parametrize("name", ["table.plain.txt", "table.tool.txt", "table.dump.json"])
def test_a_run_of_tlc_on_a_model(name: str) -> None:
    """From states and operator names alone, the actions, their arguments and the violation are found."""
    opened = open_trace(str(FOREIGN / name), model=f"{TABLE} tiny -ST-14")

    assert to_line(opened.trace) == LINE
    assert opened.replayer is not None
    assert open_trace(LINE).trace == opened.trace


@pytest.mark.parametrize(
    ("said", "claim"),
    [
        ("OneHandle", "one_handle"),
        ("HolderOpenedLast", "holder_opened_last"),
        ("holder_opened_last", "holder_opened_last"),
        ("EpochsGrow", "one_handle"),  # The run does not violate it.
        ("TypeOK", "one_handle"),  # The model has no such property.
    ],
)
def test_a_run_of_tlc_claims_what_tlc_said(tmp_path: Path, said: str, claim: str) -> None:
    """Of several violated properties the run claims the one that TLC names, and otherwise the first."""
    path = tmp_path / "run.txt"
    text = (FOREIGN / "table.plain.txt").read_text()
    path.write_text(text.replace("Invariant OneHandle is violated", f"Invariant {said} is violated"))
    shown = open_trace(str(path), model=f"{TABLE} tiny -ST-14").trace.claim
    assert shown is not None
    assert shown.name == claim


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("used = {<<p1, s1, 1>>}", "used = {{p1, s1, 1}}", "used is given for {1, p1, s1}, which is no tuple of 3"),
        ("used = {<<p1, s1, 1>>}", "used = {1}", "used is given for 1, which is no tuple of 3"),
        ("used = {<<p1, s1, 1>>}", "used = {<<p1, s1>>}", "used is given for <<p1, s1>>, which is no tuple of 3"),
        ("used = {<<p1, s1, 1>>}", "used = {<<p1, 1, s1>>}", "used is 1, and no Stream"),
        ("used = {<<p1, s1, 1>>}", "used = 1", "used is 1, and no function"),
        ("opened = {s1}", "opened = {1}", "opened is 1, and no Stream"),
        ("opened = {s1}", "opened = (s1 :> 1)", "opened is 1, and no bool"),
        ("epoch = (s1 :> 1)", "epoch = (s1 :> TRUE)", "epoch is TRUE, and no Epoch"),
        ("epoch = (s1 :> 1)", "epoch = (s9 :> 1)", "epoch is s9: 's9' is not a value of Stream in scope tiny"),
        ("owner = (s1 :> n1)", "owner = (s1 :> 1)", "owner is 1, and no Node"),
        ("<<p2, s1>> :> 0)\n/\\ used = {<<p1", "<<p2, 1>> :> 0)\n/\\ used = {<<p1", "handle is 1, and no Stream"),
    ],
)
def test_a_value_of_another_type(tmp_path: Path, old: str, new: str, problem: str) -> None:
    """A value in a file that does not have the type of its field is refused with the state, the field and the value."""
    text = (FOREIGN / "table.plain.txt").read_text()
    assert old in text
    path = tmp_path / "run.txt"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(UsageError) as caught:
        open_trace(str(path), model=f"{TABLE} tiny -ST-14")
    assert str(caught.value).startswith(f"{path}: state 2 (open): {problem}")


ALIKE = """
n: N
tiny = Scope({N: 1})
@init
def begin(self) -> None:
    self.n = N(0)
@action
def go_on(self) -> None:
    self.n = N(1)
@action
def goon(self) -> None:
    self.n = N(1)
"""


@pytest.mark.parametrize(("name", "action"), [("go_on", "go_on"), ("goon", "goon"), ("GoOn", "go_on")])
def test_names_that_differ_in_underscores(compiled: Compiled, tmp_path: Path, name: str, action: str) -> None:
    """Of actions whose names differ only in capitals and underscores, the file's exact name wins, or else the first."""
    alike = compiled(ALIKE)
    path = tmp_path / "run.itf.json"
    states = [{"n": number, "mbt::actionTaken": name} for number in (0, 1)]
    path.write_text(json.dumps({"vars": ["n", "mbt::actionTaken"], "states": states}))
    assert open_trace(str(path), model=f"{alike.file} tiny").trace.steps[1].action == action


def test_the_scope_is_found(tmp_path: Path) -> None:
    """Without a scope in the command, the first scope that the run fits is used."""
    text = (FOREIGN / "table.plain.txt").read_text()
    # In the default scope, and not in tiny, there is an epoch 3, and both processes are of one node.
    for old, new in (("(s1 :> 2)", "(s1 :> 3)"), ("s1>> :> 2)", "s1>> :> 3)"), ("s1, 2>>", "s1, 3>>"), ("n2", "n1")):
        text = text.replace(old, new)
    path = tmp_path / "run.txt"
    path.write_text(text)

    assert open_trace(str(path), model=f"{TABLE} -ST-14").trace.scope == "default"
    with pytest.raises(UsageError, match=r"epoch is 3: .*is not a value of Epoch in scope tiny; use 0 to 2"):
        open_trace(str(path), model=f"{TABLE} tiny -ST-14")


def test_states_without_names(tmp_path: Path) -> None:
    """If a step has no name, any action may explain it."""
    path = tmp_path / "run.txt"
    path.write_text((FOREIGN / "table.plain.txt").read_text().replace("<open line", "<Next line"))

    assert to_line(open_trace(str(path), model=f"{TABLE} tiny -ST-14").trace) == LINE


@pytest.mark.parametrize(
    ("name", "spec", "problem"),
    [
        ("table.plain.txt", TABLE, "state 3 (open) does not follow in Table in scope tiny: the step is refused by "),
        (
            "table.dump.json",
            TABLE,
            "state 3 (open) does not follow in Table in scope tiny: the step is refused by ST-14",
        ),
        ("lasso.plain.txt", TABLE, "no variable and no action of it belongs to Table"),
        ("table.plain.txt", "nowhere", "there is no model 'nowhere'"),
        ("table.plain.txt", f"{TABLE} huge", "Table has no scope 'huge'"),
        ("table.plain.txt", f"{TABLE} tiny ST-14", "'ST-14' is neither +VARIANT nor -LABEL"),
    ],
)
def test_a_model_that_does_not_fit(name: str, spec: str, problem: str) -> None:
    """A run that the model does not allow is refused at its first wrong state, with the rule or the differing cells."""
    with pytest.raises(UsageError) as caught:
        open_trace(str(FOREIGN / name), model=spec)
    assert problem in str(caught.value)


def test_a_model_without_state_takes_no_other_action(compiled: Compiled, tmp_path: Path) -> None:
    """If a model has no variables, a file's action names must exist in the model, or be absent."""
    body = "tiny = Scope({})\n@init\ndef begin(self) -> None:\n    pass\n@action\ndef stay(self) -> None:\n    pass"
    still = compiled(body)
    path = tmp_path / "run.itf.json"
    for name, fits in (("stay", True), (None, True), ("leave", False)):
        step = {} if name is None else {"mbt::actionTaken": name}
        path.write_text(json.dumps({"vars": ["x", *step], "states": [{"x": 1, **step}, {"x": 2, **step}]}))
        if fits:
            trace = open_trace(str(path), model=f"{still.file} tiny").trace
            assert [each.action for each in trace.steps] == ["init", "stay"]
        else:
            with pytest.raises(UsageError, match=r"state 2 \(leave\): Written in scope tiny has no action 'leave'"):
                open_trace(str(path), model=f"{still.file} tiny")


def test_a_state_that_does_not_fit(tmp_path: Path) -> None:
    """A state that no action reaches is compared with the nearest state that one reaches."""
    path = tmp_path / "run.txt"
    path.write_text((FOREIGN / "table.plain.txt").read_text().replace("owner = (s1 :> n2)", "owner = (s1 :> n1)"))

    with pytest.raises(
        UsageError, match=r"state 3 \(open\) does not follow .*: after the step that comes nearest, owner"
    ):
        open_trace(str(path), model=f"{TABLE} tiny -ST-14")


def test_a_lasso_has_to_lead_back(tmp_path: Path) -> None:
    """A lasso opens on a model only if an action leads from its last state back."""
    path = tmp_path / "run.itf.json"
    data = itf_object(open_trace(str(FOREIGN / "table.plain.txt")).trace)
    for loop, fits in ((2, True), (0, False)):
        path.write_text(json.dumps(data | {"loop": loop}))
        if fits:
            assert open_trace(str(path), model=f"{TABLE} tiny -ST-14").trace.loop == 2
        else:
            with pytest.raises(UsageError, match="no action of Table in scope tiny leads from the last state back"):
                open_trace(str(path), model=f"{TABLE} tiny -ST-14")
