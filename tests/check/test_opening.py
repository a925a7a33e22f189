"""Opening a line or a file as a run on its model: round trips, foreign runs, and models that have changed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import attrs
import itf_py
import pytest

from holdfast.check.search.engine import search
from holdfast.ir.errors import UsageError
from holdfast.ir.removal import remove_rules
from holdfast.runs.loading import ImpossibleError, LoadedRun, RunHeader, RunSource, _said, open_trace
from holdfast.runs.replay import Replayer, Script
from holdfast.trace.itf import Optionals, itf_object, itf_text, write_itf
from holdfast.trace.itf_read import itf_run
from holdfast.trace.line import replay_command, to_line
from holdfast.trace.reading import read_file
from holdfast.trace.trace import Trace
from tests.check.conftest import Compiled
from tests.check.replaying import PINNED, TABLE, counterexample, found, model, target, title

FOREIGN = Path(__file__).parents[1] / "trace" / "foreign"
WALKS = 140


def reopened(trace: Trace, folder: Path, optionals: Optionals = "set") -> LoadedRun:
    """The run, written to a file and opened again."""
    path = folder / "run.itf.json"
    write_itf(trace, path, optionals=optionals)
    return open_trace(str(path))


@pytest.mark.parametrize("word", ["loud", "+", "-"])
def test_a_model_is_named_with_variants_and_labels(word: str) -> None:
    """Every variant and label of a line is read; any other word after the scope is refused."""
    named = RunSource.parse("ownership tiny +loud -ST-14 +late")
    assert named == RunSource("ownership", "tiny", ("loud", "late"), ("ST-14",))
    with pytest.raises(UsageError, match=rf"'{re.escape(word)}' is neither"):
        RunSource.parse(f"ownership tiny -ST-14 {word}")


# Round trips -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", PINNED, ids=title)
def test_pinned_counterexamples_survive(entry: dict[str, Any], tmp_path: Path) -> None:
    """Every pinned counterexample, written as ITF, is read unchanged by itf-py, by us, and from its line."""
    trace = counterexample(entry)
    opened = reopened(trace, tmp_path)

    assert (opened.trace, opened.changed) == (trace, None)
    assert open_trace(to_line(trace)).trace == attrs.evolve(trace, options=None)
    bare = read_file(tmp_path / "run.itf.json").trace()
    assert itf_object(bare) == json.loads(itf_text(trace))
    assert itf_py.trace_from_json(itf_object(bare)) == itf_py.trace_from_json(itf_object(trace))
    assert [(step.action, step.args) for step in bare.steps] == [
        (step.action, step.args) for step in trace.steps if step.refused is None
    ]


@pytest.mark.parametrize("name", ["table", "sampler", "ownership"])
def test_random_runs_survive(name: str, tmp_path: Path) -> None:
    """Random runs, with options written in either form, open unchanged; a lasso keeps its loop."""
    system = model(name)
    replayer = Replayer(system, system.scopes["tiny"], target=target(name), options=None)
    for seed in range(20 if name == "ownership" else WALKS // 2 - 10):
        chance = Random(seed)
        script = random_script(replayer, chance)
        script = attrs.evolve(script, loop=chance.choice([None, len(script.steps)]))
        trace = replayer.trace(script, None)
        assert isinstance(trace, Trace)
        opened = reopened(trace, tmp_path, chance.choice(["set", "variant"]))
        assert (opened.trace, opened.changed) == (trace, None), seed
        assert open_trace(to_line(trace)).trace == trace


def random_script(replayer: Replayer, chance: Random) -> Script:
    """A script of a few random steps."""
    machine = replayer.machine
    state, start = chance.choice(machine.starts())
    steps = []
    for _ in range(chance.randint(0, 8)):
        edges = [
            (new, (action.name, args))
            for action, successors in zip(replayer.system.actions, machine.successors, strict=True)
            for new, args in successors(state)
        ]
        if not edges:
            break
        state, step = chance.choice(edges)
        steps.append(step)
    return Script(start, tuple(steps))


@pytest.mark.parametrize(("name", "inv"), [("sampler", "INV-15"), ("sampler", "INV-16"), ("sampler", None)])
def test_repetitions_survive(name: str, inv: str | None, tmp_path: Path) -> None:
    """The repeated step of a run that violates idempotence survives a round trip through a file."""
    system = model(name)
    for trace in search(system, system.scopes["tiny"], target=target("sampler"), properties=inv and [inv]).findings:
        assert reopened(trace, tmp_path).trace == trace
        assert open_trace(replay_command(trace) or "").trace.steps == trace.steps


def test_a_run_of_one_property_survives(tmp_path: Path) -> None:
    """The options of the command that found a run are kept in the file."""
    trace = found(model("table", "ST-14"), "one_handle")

    assert reopened(trace, tmp_path).trace.command == trace.command


# Models that have changed ----------------------------------------------------------------------------------------


LINE = f"{TABLE} tiny -ST-14 #35e6084304bdb5d7 one_handle: open(p1,s1,1) open(p2,s1,2)"


def test_a_changed_model_says_so(tmp_path: Path) -> None:
    """A run that is still possible opens on a changed model, with a notice of the change; states may differ."""
    path = tmp_path / "table.py"
    source = Path(TABLE).read_text()
    path.write_text(source.replace("Epoch: 2}", "Epoch: 3}"))
    opened = open_trace(LINE.replace(TABLE, str(path)))

    assert opened.trace.claim is not None
    assert opened.changed is not None
    assert "its fingerprint in scope tiny was 35e6084304bdb5d7 and is " in opened.changed


def test_a_run_that_is_no_longer_possible() -> None:
    """If a changed model refuses a step, the error names the step and the rule, and is no usage error."""
    with pytest.raises(ImpossibleError) as caught:
        open_trace(LINE.replace(" -ST-14", ""))
    assert caught.value.exit_code == 20
    assert str(caught.value).startswith(
        "the run is no longer possible: step 2, open(p2,s1,2), is refused by ST-14 (STREAM_NOT_CLOSED); the model has "
        "changed since the run was made"
    )


@pytest.mark.parametrize(
    ("old", "new"), [("one_handle", "one_hand"), ("open(p2", "reopen(p2"), ("p2,s1,2", "p2,s1,9"), ("p2,s1,2", "p2,s1")]
)
def test_what_a_changed_model_lacks(old: str, new: str) -> None:
    """A name or value that only a changed model lacks is the change's fault; otherwise it is a usage error."""
    line = LINE.replace(old, new)
    with pytest.raises(UsageError):
        open_trace(line)
    with pytest.raises(ImpossibleError, match="the model has changed since the run was made"):
        open_trace(line.replace("#35e6", "#0000"))


def test_a_line_that_was_edited() -> None:
    """A step that the unchanged model refuses makes the line wrong."""
    with pytest.raises(
        UsageError, match=r"step 2, open\(p2,s1,0\), is refused by ST-12 .*: the model allows no such run"
    ):
        open_trace(LINE.replace("p2,s1,2", "p2,s1,0"))


def test_a_file_that_was_edited(tmp_path: Path) -> None:
    """A state that the unchanged model does not reach is an error that shows both values."""
    path = tmp_path / "run.itf.json"
    edited = itf_object(found(model("table", "ST-14")))
    edited["states"][2]["epoch"]["#map"][0][1] = {"#bigint": "1"}
    path.write_text(json.dumps(edited))

    with pytest.raises(
        UsageError, match=r"state 3 is not what the model gives there: epoch\[s1\] is 1 in the file and 2"
    ):
        open_trace(str(path))


def test_a_file_whose_model_is_gone(tmp_path: Path) -> None:
    """If its model is gone, our file opens like a foreign file, with the reason."""
    path = tmp_path / "run.itf.json"
    trace = attrs.evolve(found(model("table", "ST-14")), target="nowhere/table.py")
    write_itf(trace, path)
    opened = open_trace(str(path))

    assert opened.trace.is_foreign
    assert opened.replayer is None
    assert opened.changed is not None
    assert "there is no model file nowhere/table.py" in opened.changed
    assert open_trace(str(path), model=TABLE).trace.steps == trace.steps


def test_a_line_in_a_file(tmp_path: Path) -> None:
    """A file may hold a line, with its command or without."""
    path = tmp_path / "run.txt"
    path.write_text(f"holdfast replay '{LINE}'\n")

    assert open_trace(str(path)).trace == open_trace(LINE).trace


# Foreign runs on a model -----------------------------------------------------------------------------------------


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
    with pytest.raises(UsageError, match=r"epoch is 3: .*is not a value of Epoch in scope tiny: use 0 to 2"):
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


def test_what_is_neither_line_nor_file() -> None:
    """A word that names no file, an empty argument and a wrong line give different errors."""
    for what, problem in (
        ("ownership", "there is no file 'ownership'; a run is an ITF file"),
        ("", "neither line nor file in an empty argument"),
        ("ownership tiny", "the line, column 15: the fingerprint is missing"),
        ("x" * 5000, "there is no file"),
        ("\0", "there is no file"),
    ):
        with pytest.raises(UsageError, match=problem):
            open_trace(what)


def test_removing_another_rule_is_another_model() -> None:
    """A line's fingerprint changes with the removed rules and with the scope."""
    system, scope = model("table"), model("table").scopes["tiny"]
    prints = {
        Replayer(each, where).origin.fingerprint
        for each in (system, remove_rules(system, ["ST-14"]))
        for where in (scope, system.scopes["default"], attrs.evolve(scope, given={"node_of": (1, 0)}))
    }
    assert len(prints) == 6


def header(**more: Any) -> RunHeader:
    """The header of a file that Holdfast wrote, with more entries."""
    meta = {"fingerprint": "f", "source": "ownership", "scope": "tiny", **more}
    said = _said(itf_run({"#meta": meta, "vars": ["n"], "states": [{"n": 0}]}, Path("x.itf.json")))
    assert said is not None
    return said


def test_a_file_that_names_no_variants_is_of_the_model_as_it_is() -> None:
    """A file that names neither variants nor removed rules belongs to the plain model."""
    said = header()
    assert said.source == RunSource("ownership", "tiny", (), ())
    assert (said.claim, said.options, said.seed) == (None, None, None)


@pytest.mark.parametrize(("seed", "read"), [(0, 0), (7, 7), (True, None), ("7", None), ([7], None), (None, None)])
def test_the_seed_of_a_file_is_a_number(seed: object, read: int | None) -> None:
    """A file keeps the seed of the random walk that made its run; anything but a number counts as no seed."""
    assert header(seed=seed).seed == read


@pytest.mark.parametrize("missing", ["fingerprint", "source", "scope"])
def test_a_file_of_another_tool_has_no_header(missing: str) -> None:
    """Only a file with a fingerprint, a source and a scope, each a text, counts as written by Holdfast."""
    meta: dict[str, Any] = {"fingerprint": "f", "source": "ownership", "scope": "tiny", missing: 3}
    assert _said(itf_run({"#meta": meta, "vars": ["n"], "states": [{"n": 0}]}, Path("x.itf.json"))) is None


@pytest.mark.parametrize("name", ["variants", "without", "options"])
@pytest.mark.parametrize("value", ["+late", 3, ["late", 3]])
def test_a_header_with_other_lists_is_refused(name: str, value: object) -> None:
    """Variants, removed rules and options are lists of texts; anything else is refused with the entry's name."""
    with pytest.raises(UsageError, match=f"#meta: {name} is no list of texts"):
        header(**{name: value})
    found = header(**{name: ["late"]})
    assert ("late",) in (found.source.variants, found.source.removed, found.options)
