"""What a world judges of an event of another stream: the loop over all streams, with the arguments that it needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.check.conform.judge.frame import Frame
from holdfast.check.conform.judge.judge import Judgement
from holdfast.check.conform.judge.projection import project
from holdfast.ir.compile import compile_model
from tests.conform.generated_comparing import judged
from tests.conform.simulated_logs import model
from tests.differential.running import loaded

SOURCE = '''
from enum import Enum

from holdfast.lang import *


class E(Enum):
    """Answers."""

    NO = 1


class Node(Sort):
    """A node."""


class Stream(Sort):
    """A stream."""


class Tick(Nat):
    """A number."""


class Small(Model):
    """One action writes cells of all streams; three ask for them, each in one stream."""

    level: Map[Stream, Tick]
    seen: Rel[Stream, Node]
    hit: Rel[Stream, Tick]
    on: Rel[Node]

    tiny = Scope({Tick: 3, Stream: 2, Node: 2})

    @init
    def begin(self) -> None:
        """All is 0 or false."""
        self.level.fill(Tick(0))
        self.seen.fill(False)
        self.hit.fill(False)
        self.on.fill(False)

    @action
    def turn(self, p: Node) -> None:
        """A node is on."""
        self.on[p] = True

    @action
    def level_is(self, s: Stream, v: Tick) -> None:
        """The number of the stream."""
        require(v == self.level[s], "R-1", E.NO)

    @action
    def was_seen(self, s: Stream, p: Node) -> None:
        """A node that the stream has seen."""
        require(self.seen[s, p], "R-2", E.NO)

    @action
    def was_hit(self, s: Stream, v: Tick) -> None:
        """A number that the stream has met."""
        require(self.hit[s, v], "R-3", E.NO)

    @action
    def mark(self, s: Stream, p: Node, n: Tick) -> None:
        """The loop."""
        BODY
'''

Event = tuple[str, dict[str, Any]]
MARK: Event = ("mark", {"s": "s1", "p": "a", "n": 2})
TURN: Event = ("turn", {"p": "a"})

LOOPS = {
    "in the value": ("for t in Stream:\n    self.level[t] = n", "n", ("level_is", "v", 2, 1)),
    "in a local": ("m = n\nfor t in Stream:\n    self.level[t] = m", "n", ("level_is", "v", 2, 1)),
    "in a key": ("for t in Stream:\n    self.seen[t, p] = True", "p", ("was_seen", "p", "a", "b")),
    "in a test": (
        "for t in Stream:\n    if not self.on[p]:\n        self.hit[t, Tick(0)] = True",
        "p",
        ("was_hit", "v", None, 0),
    ),
    "around the loop": (
        "if not self.on[p]:\n    for t in Stream:\n        self.hit[t, Tick(0)] = True",
        "p",
        ("was_hit", "v", None, 0),
    ),
    "in an inner loop": (
        "for t in Stream:\n    for k in Tick:\n        if k <= n:\n            self.hit[t, k] = True",
        "n",
        ("was_hit", "v", 2, 3),
    ),
}
"""By where a loop needs a parameter that its range does not name: the body of ``mark``, the parameter, and a question
of another stream, with an argument that the loop makes possible, None for none, and one that stays impossible.
"""


def said(body: str, folder: Path, *events: Event, joint: int | None = None) -> Judgement:
    """The answer about a log of events, with streams judged apart unless ``joint`` is 0."""
    log: list[dict[str, Any]] = [{"holdfast": "log", "version": 1, "literals": {"Tick": {"0": 0}}}]
    log += [
        {"source": "a", "seq": place, "t": place, "action": action, "args": args}
        for place, (action, args) in enumerate(events, start=1)
    ]
    with loaded(_text(body)) as found:
        return judged(compile_model(found), log, folder, joint=joint)


def _text(body: str) -> str:
    return SOURCE.replace("BODY", body.replace("\n", "\n        "))


def test_an_event_of_another_stream_has_only_the_arguments_of_its_loop() -> None:
    """A commit of another stream brings none of that stream's offsets into a world: its loop does not use them."""
    mapping, system = model("fast_close")
    loops = Frame.of(system, mapping.about.literals).projection("Stream").elsewhere
    assert [param.name for param in loops["commit"].params] == ["p"]


@pytest.mark.parametrize("where", LOOPS)
def test_a_loop_keeps_a_parameter_that_its_range_does_not_name(where: str, tmp_path: Path) -> None:
    """Another stream sees the argument: what it makes possible conforms, and all else is impossible."""
    body, param, (action, name, possible, impossible) = LOOPS[where]
    with loaded(_text(body)) as found:
        division = project(compile_model(found), "Stream", frozenset())
    assert division.problem is None
    assert [each.name for each in division.elsewhere["mark"].params] == [param]
    for joint in (None, 0):
        before = (TURN, MARK) if possible is None else (MARK,)
        wrong = said(body, tmp_path, *before, (action, {"s": "s2", name: impossible}), joint=joint)
        assert wrong.kind == "impossible"
        if possible is not None:
            right = said(body, tmp_path, *before, (action, {"s": "s2", name: possible}), joint=joint)
            assert right.kind == "conforms"


def test_each_world_chooses_an_argument_that_is_left_out_and_the_answer_says_so(tmp_path: Path) -> None:
    """Two streams may see two nodes in one event that names none; the answer says so. Together they may not."""
    body, *_ = LOOPS["in a key"]
    events: tuple[Event, ...] = (
        ("mark", {"s": "s1", "n": 2}),
        ("was_seen", {"s": "s1", "p": "a"}),
        ("was_seen", {"s": "s2", "p": "b"}),
    )
    apart = said(body, tmp_path, *events)
    assert (apart.kind, apart.apart) == ("conforms", ("unknown arguments",))
    assert said(body, tmp_path, *events, joint=0).kind == "impossible"


def test_a_number_that_is_left_out_has_no_answer(tmp_path: Path) -> None:
    """Not every number can be tried for a loop, so nothing that follows from it is called possible or impossible."""
    body, *_ = LOOPS["in the value"]
    asked = [("level_is", {"s": stream, "v": number}) for stream, number in (("s1", 2), ("s2", 1))]
    assert said(body, tmp_path, ("mark", {"s": "s1", "p": "a"}), *asked).kind == "unknown"


@pytest.mark.parametrize(
    ("condition", "is_divisible"),
    [
        ("False if any(self.hit[t, n] for t in Stream) else self.on[p]", True),
        ("False if all(self.hit[t, n] for t in Stream) else self.on[p]", False),
        ("True if all(self.hit[t, n] for t in Stream) else self.on[p]", True),
        ("True if any(self.hit[t, n] for t in Stream) else self.on[p]", False),
        ("all(self.hit[t, n] for t in Stream) if self.on[p] else True", True),
        ("any(self.hit[t, n] for t in Stream) if self.on[p] else True", False),
        ("not (False if all(self.hit[t, n] for t in Stream) else self.on[p])", True),
        ("not (True if all(self.hit[t, n] for t in Stream) else self.on[p])", False),
        # It means `any and on`; the judge need not see that the other branch is constant.
        ("self.on[p] if any(self.hit[t, n] for t in Stream) else False", False),
    ],
)
def test_a_choice_is_divided_only_if_fewer_streams_make_it_weaker(condition: str, is_divisible: bool) -> None:
    """A world with one stream must not refuse what all streams together allow."""
    with loaded(_text(f'require({condition}, "R-4")')) as found:
        division = project(compile_model(found), "Stream", frozenset())
    assert (division.problem is None) == is_divisible
    assert division.weak == ({"mark": ("R-4",)} if is_divisible else {})


def test_one_stream_allows_what_another_stream_refuses(tmp_path: Path) -> None:
    """A rule about all streams is judged in each stream alone: together, the second step is impossible."""
    body = 'require(False if any(self.hit[t, n] for t in Stream) else True, "R-4")\nself.hit[s, n] = True'
    events: tuple[Event, ...] = (MARK, ("mark", {"s": "s2", "p": "a", "n": 2}))
    assert said(body, tmp_path, *events).kind == "conforms"
    assert said(body, tmp_path, *events, joint=0).kind == "impossible"
    # The same stream is judged either way.
    for joint in (None, 0):
        assert said(body, tmp_path, MARK, MARK, joint=joint).kind == "impossible"
