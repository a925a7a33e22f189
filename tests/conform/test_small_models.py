"""Models of a few lines, each with one feature that the judge has to handle or to refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.check.conform.judge.judge import MERGED_EVERY
from holdfast.check.conform.judge.projection import project
from holdfast.ir.compile import compile_model
from holdfast.ir.errors import UsageError
from holdfast.ir.load import load_model
from tests.conform.generated_comparing import judged
from tests.differential.running import loaded

HEAD = '''
from enum import Enum

from holdfast.lang import *


class E(Enum):
    """Answers."""

    LATE = 1


class Node(Sort):
    """A node."""


class Proc(Sort):
    """A process."""


class Tick(Nat):
    """A number."""


class Small(Model):
    """A model."""

    clock: Tick
    last: Tick
    on: bool
'''

REST = '''
    tiny = Scope({{Tick: 3{sizes}}}{given})

    @init
    def begin(self) -> None:
        """All is 0."""
        self.clock = Tick(0)
        self.last = Tick(0)
        self.on = False
        {start}

    @action
    def ask(self, v: Tick) -> None:
        """A question after a number."""
        require(v == self.last, "R-1", E.LATE)

    @action
    def go({params}) -> None:
        """A step."""
        {body}
'''

CLOSE = '''
    @action
    def close(self) -> None:
        """A step that prevents others."""
        self.on = True
'''

ALL_UP = '''
    @action
    def meet(self) -> None:
        """All nodes are up."""
        require(all(self.up[x] for x in Node), "R-7")
        self.on = True
'''


def model(
    body: str, params: str = "self", fields: str = "", start: str = "pass", sizes: str = "", given: str = ""
) -> str:
    """The text of a model with an action ``go``."""
    rest = REST.format(body=body.replace("\n", "\n        "), params=params, start=start, sizes=sizes, given=given)
    return HEAD + (f"    {fields}\n" if fields else "") + rest


def said(source: str, folder: Path, *lines: dict[str, Any], **options: Any) -> str:
    """The verdict, or the first words of the refusal."""
    log: list[dict[str, Any]] = [{"holdfast": "log", "version": 1}]
    log += [{"source": "a", "seq": place, "t": place, **line} for place, line in enumerate(lines, start=1)]
    with loaded(source) as found:
        try:
            return judged(compile_model(found), log, folder, **options).kind
        except UsageError as error:
            return f"refused: {error}"


def go(**more: Any) -> dict[str, Any]:
    """A line with action ``go``."""
    return {"action": "go", **more}


@pytest.mark.parametrize("at", [3, 7])
@pytest.mark.parametrize("condition", ["v == 3", "v != 3", "v in (Tick(0), 3)", "v == (Tick(0) if self.on else 3)"])
def test_a_number_of_the_model_without_a_type_is_a_literal(condition: str, at: int, tmp_path: Path) -> None:
    """An untyped number of the model, such as 3, may be any number of the log, so the log must list it as a literal."""
    text = said(model(f'require({condition}, "R-2")', "self, v: Tick"), tmp_path, go(v=at))
    assert text.startswith("refused: ")
    assert "literals" in text


@pytest.mark.parametrize(
    "number", ["count(self.up[x] for x in Node)", "max((1 for x in Node if self.up[x]), default=0)"]
)
def test_a_number_of_elements_is_no_number_of_the_log(number: str, tmp_path: Path) -> None:
    """Comparing a count of elements with a Nat needs the numbers themselves, so order is not enough."""
    source = model(
        f'require({number} < v, "R-2")', "self, v: Tick, n: Node", "up: Rel[Node]", "self.up.fill(True)", ", Node: 2"
    )
    assert said(source, tmp_path, go(v=1, n="a"), go(v=1, n="b")) not in ("conforms", "unknown")
    assert said(source, tmp_path, go(v=3, n="a"), go(v=3, n="b")) not in ("impossible", "unknown")


def test_a_span_is_no_step_that_copies_its_number(tmp_path: Path) -> None:
    """After the span [0, 100) the number before the last is 99, though the log may not mention it."""
    source = model("self.last = self.clock\nself.clock = self.clock + 1")
    span = go(span=[0, 100])
    assert said(source, tmp_path, span, {"action": "ask", "v": 99}) != "impossible"
    assert said(source, tmp_path, span, {"action": "ask", "v": 0}) != "conforms"


def test_a_span_is_no_step_that_two_steps_undo(tmp_path: Path) -> None:
    """The span [0, 2) may be two steps, though the log may not mention 1."""
    source = model("self.on = not self.on\nself.clock = self.clock + 1")
    assert said(source, tmp_path, go(span=[0, 2], post={"on": False})) != "impossible"


def test_a_count_goes_over_numbers_that_nobody_holds(tmp_path: Path) -> None:
    """If no cell holds the mentioned 3, counting may go from 0 to 5, however large the window."""
    source = model("self.clock = self.clock + 1")
    asked = [{"action": "ask", "v": number, "error": "LATE"} for number in (3, 20, 21, 22)]
    for width in (3, 4, 20):
        assert said(source, tmp_path, *asked, go(post={"clock": 5}), windows={"Tick": width}) == "conforms"


def test_a_count_does_not_go_over_a_number_that_is_held(tmp_path: Path) -> None:
    """Counting from 1 to 5 is impossible while another cell holds 3."""
    source = model("self.last = v\nself.clock = self.clock + 1", "self, v: Tick")
    for width in (6, 20):
        for last, kind in ((3, "impossible"), (9, "conforms")):
            log = go(v=last, post={"clock": 1}), go(v=9, post={"clock": 5})
            assert said(source, tmp_path, *log, windows={"Tick": width}) == kind


def test_a_step_of_one_element_that_counts_a_shared_cell_divides_no_model(tmp_path: Path) -> None:
    """If one node's step counts a shared cell, the model cannot be divided: other worlds miss the new number."""
    source = model(
        "self.up[n] = True\nself.clock = self.clock + 1",
        "self, n: Node",
        "up: Rel[Node]",
        "self.up.fill(False)",
        ", Node: 2",
    )
    lines = [go(n="a", post={"clock": 4}), go(n="b", post={"clock": 9})]
    assert said(source, tmp_path, *lines, joint=0) == "conforms"
    assert said(source, tmp_path, *lines, project="Node") == "conforms"
    assert "counts on a number of Tick" in said(source, tmp_path, *lines, project="Node", joint=1)


def test_no_node_is_missing_once_all_have_come(tmp_path: Path) -> None:
    """A rule about all nodes is satisfied once each node of the log has come up, since there are no others."""
    source = model("self.up[n] = True", "self, n: Node", "up: Rel[Node]", "self.up.fill(False)", ", Node: 2") + ALL_UP
    lines = [go(n="a"), go(n="b"), {"action": "meet"}]
    assert said(source, tmp_path, *lines, joint=0) == "conforms"
    assert said(source, tmp_path, *lines, project="Node", joint=1) == "conforms"
    assert said(source, tmp_path, lines[0], lines[2], lines[1], project="Node", joint=1) == "impossible"


def test_processes_divide_no_model(tmp_path: Path) -> None:
    """A model is not divided by processes, since each process has its own constants."""
    source = model(
        'require(self.born[p] <= v, "R-2")\nself.up[p] = True', "self, p: Proc, v: Tick",
        "born: Map[Proc, Tick]\n    up: Rel[Proc]", "self.up.fill(False)", ", Proc: 2", ', given={"born": (0, 1)}',
    )  # fmt: skip
    lines = [go(p=[3], v=5), go(p=[7], v=7), go(p=[5], v=5)]
    assert said(source, tmp_path, *lines, project="Proc") == "conforms"
    assert said(source, tmp_path, *lines, go(p=[7], v=6), project="Proc") == "impossible"
    with loaded(source) as found:
        assert "born is a constant of each Proc" in str(project(compile_model(found), "Proc", frozenset()).problem)


def test_a_hidden_step_before_an_event_that_prevents_it(tmp_path: Path) -> None:
    """A hidden step may be inserted before an event that disables it."""
    source = model('require(not self.on, "R-2")\nself.done = True', "self", "done: bool", "self.done = False") + CLOSE
    lines: list[dict[str, Any]] = [{"action": "close"}, {"action": "ask", "args": {"v": 0}, "post": {"done": True}}]
    assert said(source, tmp_path, *lines, hidden=("go",)) == "conforms"
    assert said(source, tmp_path, lines[0], {"action": "ask", "args": {"v": 0}, "pre": {"on": False}}) == "impossible"


def test_a_number_that_nobody_told_may_be_any(tmp_path: Path) -> None:
    """A number that the log omits may be any number, in an event, in a hidden step and in the start."""
    source = model("self.last = v", "self, v: Tick")
    ask = {"action": "ask", "args": {"v": 7}}
    assert said(source, tmp_path, go(), ask) in ("conforms", "unknown")
    ascending = model('require(v > self.last, "R-2")\nself.last = v', "self, v: Tick")
    between = {"action": "ask", "args": {"v": 9}, "error": "LATE", "pre": {"on": False}}
    assert said(ascending, tmp_path, go(args={"v": 4}), go(args={"v": 9}), hidden=("go",)) == "conforms"
    assert said(ascending, tmp_path, go(args={"v": 9}), between, hidden=("go",)) in ("conforms", "unknown")
    begins = source.replace("def begin(self)", "def begin(self, v: Tick)").replace(
        "self.last = Tick(0)", "self.last = v"
    )
    assert said(begins, tmp_path, ask) in ("conforms", "unknown")


UP = "up: Rel[Node]"


@pytest.mark.parametrize(
    ("fields", "params", "body", "problem"),
    [
        (
            UP,
            "self, n: Node",
            'require(any(self.up[x] for x in Node), "R-2")\nself.up[n] = True',
            "any element of Node",
        ),
        (
            UP,
            "self, n: Node",
            'require(not all(self.up[x] for x in Node), "R-2")\nself.up[n] = True',
            "all element of Node",
        ),
        (
            UP,
            "self, n: Node",
            'some = any(self.up[x] for x in Node)\nrequire(some, "R-2")\nself.up[n] = True',
            "any element",
        ),
        (UP, "self, n: Node", "if all(self.up[x] for x in Node):\n    self.up[n] = False", "outside of a require"),
        (UP, "self, n: Node, m: Node", "self.up[n] = self.up[m]", "parameters n, m of Node"),
        (UP, "self, n: Node", "self.on = self.up[n]", "depends on n"),
        (UP, "self, n: Node", "was = self.up[n]\nfor x in Node:\n    self.up[x] = was", "depends on "),
        (
            f"{UP}\n    owner: Node | None",
            "self, n: Node",
            "self.up[n] = True\nself.owner = None",
            "owner holds an element",
        ),
        (UP, "self, n: Node", 'require(all(self.up[x] for x in Node), "R-2")\nself.up[n] = False', None),
        (UP, "self, n: Node", 'require(not any(self.up[x] for x in Node), "R-2")\nself.up[n] = True', None),
        (
            UP,
            "self, n: Node",
            'none = not any(self.up[x] for x in Node)\nrequire(none, "R-2")\nself.up[n] = True',
            None,
        ),
        (UP, "self, n: Node", "self.up[n] = True\nfor x in Node:\n    self.up[x] = self.on", None),
    ],
)
def test_what_divides_a_model(fields: str, params: str, body: str, problem: str | None) -> None:
    """A model is divided only if a world of one node never refuses too much and sees all effects of other nodes."""
    start = "self.up.fill(False)" + ("\n        self.owner = None" if "owner" in fields else "")
    with loaded(model(body, params, fields, start, ", Node: 2")) as found:
        said_problem = project(compile_model(found), "Node", frozenset()).problem
    assert (said_problem is None) if problem is None else (problem in str(said_problem))


@pytest.mark.parametrize("told", ["pre", "post"])
def test_a_hidden_step_before_an_event_that_tells_its_cell(told: str, tmp_path: Path) -> None:
    """A hidden step is inserted before an event that gives its cell, even if the event's action does not use it."""
    source = model("self.on = True")
    line = {"action": "ask", "args": {"v": 0}, told: {"on": True}}
    assert said(source, tmp_path, line, hidden=("go",)) == "conforms"
    assert said(source, tmp_path, line) == "impossible"


@pytest.mark.parametrize("optional", ["", " | None"])
def test_a_process_is_not_named_by_itself(optional: str, tmp_path: Path) -> None:
    """A constant that holds a process is refused, since a process's name lists its constants and would be endless."""
    source = model(
        f'require(self.peer[p] {"is None" if optional else "== p"}, "R-2")', "self, p: Proc",
        f"peer: Map[Proc, Proc{optional}]", sizes=", Proc: 2", given=', given={"peer": (0, 1)}',
    )  # fmt: skip
    text = said(source, tmp_path, go(p=["a"]))
    assert text.startswith("refused: ")
    assert "peer is again an element of Proc" in text


def test_a_count_goes_over_a_number_of_an_overlapping_event(tmp_path: Path) -> None:
    """Two overlapping events work in either order, with the same windows for both orders."""
    source = model("self.clock = self.clock + 1")
    first = {"source": "a", "seq": 1, "t": [0, 100], **go(post={"clock": 5})}
    second = {"source": "b", "seq": 1, "t": [0, 100], "action": "ask", "v": 3, "error": "LATE"}
    assert said(source, tmp_path, first, second) == "conforms"
    assert said(source, tmp_path, first, {**second, "error": "EARLY"}).startswith("refused")
    assert said(source, tmp_path, {**first, "post": {"clock": 5, "on": True}}, second) in ("impossible", "unknown")


def test_a_log_without_streams_is_judged(tmp_path: Path) -> None:
    """A log without streams is judged: its events concern nodes, and each must be a step of the model."""
    log = [
        {"action": "register", "p": ["n1", 7]},
        {"action": "register", "p": ["n1", 7], "error": "NODE_EPOCH_EXPIRED"},
    ]
    header = {"holdfast": "log", "version": 1, "literals": {"NodeEpoch": {"1": 7}}}
    lines = [header, *({"source": "a", "seq": number, "t": number, **line} for number, line in enumerate(log, 1))]
    found = judged(compile_model(load_model("ownership")), lines, tmp_path)
    assert (found.kind, found.judged) == ("impossible", 1)


@pytest.mark.parametrize("on", [True, False])
def test_initial_states_stay_apart_before_a_stream_is_named(on: bool, tmp_path: Path) -> None:
    """Events that name no stream leave both initial states possible; a later event tells which one it was."""
    source = model("self.up[n] = self.on", "self, n: Node", "up: Rel[Node]", "self.up.fill(False)", ", Node: 2")
    source = source.replace("def begin(self)", "def begin(self, b: bool)").replace("self.on = False", "self.on = b")
    waiting = [{"action": "ask", "v": 0}] * MERGED_EVERY
    events = [go(n="b"), go(n="a", post={"up": {"a": on}})]
    assert said(source, tmp_path, *waiting, *events, project="Node", joint=1) == "conforms"
