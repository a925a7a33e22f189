"""Opening a line or a file as a run on its model: round trips, models that have changed, and headers of files."""

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
from tests.check.replaying import LINE, PINNED, TABLE, counterexample, found, model, target, title

WALKS = 140


def reopened(trace: Trace, folder: Path, optionals: Optionals = "set") -> LoadedRun:
    """The run, written to a file and opened again."""
    path = folder / "run.itf.json"
    write_itf(trace, path, optionals=optionals)
    return open_trace(str(path), model=trace.target)


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
        open_trace(str(path), model=TABLE)


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

    assert open_trace(str(path), model=TABLE).trace == open_trace(LINE).trace


# Arguments and headers -------------------------------------------------------------------------------------------


def test_what_is_neither_line_nor_file() -> None:
    """A word that names no file, an empty argument and a wrong line give different errors."""
    for what, problem in (
        ("ownership", "there is no file 'ownership'; give an ITF file"),
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
