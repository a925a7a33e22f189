"""No wrong "conforms" and no wrong "impossible": for each log here, a weaker judge would give a wrong answer."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from holdfast.check.conform.judge import branch, judge, orders, world
from holdfast.ir.errors import UsageError
from tests.conform.walked_logs import Line, judged, lines

HEADER: Line = {"holdfast": "log", "version": 1, "literals": {"NodeEpoch": {"1": 7}}}
P, Q = ["n1", 7], ["n1", 9]

LOOPS = '''
from holdfast.lang import Int, Map, Model, Nat, Scope, Sort, action, init, require


class Stream(Sort):
    """A stream."""


class Offset(Nat):
    """A number."""


class Level(Int, lo=0, hi=2):
    """A small number."""


class Loops(Model):
    """Each bump raises a stream, and clears all of them."""

    top: Map[Stream, Offset]
    last: Map[Stream, Offset]
    level: Level

    tiny = Scope({Stream: 2, Offset: 3})

    @init
    def begin(self) -> None:
        """All is 0."""
        self.top.fill(Offset(0))
        self.last.fill(Offset(0))
        self.level = Level(0)

    @action
    def bump(self, s: Stream) -> None:
        """One stream goes on, and no stream has a last number any more."""
        self.top[s] = self.top[s] + 1
        for t in Stream:
            self.last[t] = Offset(0)

    @action
    def put(self, s: Stream, a: Offset) -> None:
        """A number that is not above the top."""
        require(a <= self.top[s], "P-1")
        self.last[s] = a

    @action
    def rise(self) -> None:
        """One level up."""
        self.level = self.level + 1

    @action
    def fall(self) -> None:
        """From the top level to the lowest."""
        require(self.level >= Level(2), "P-2")
        self.level = Level(0)
'''


def event(seq: int, action: str, source: str = "a", t: object = None, **more: object) -> Line:
    """A line."""
    return {"source": source, "seq": seq, "t": seq if t is None else t, "action": action, **more}


@pytest.fixture
def loops(tmp_path: Path) -> str:
    """A model whose only action changes all streams."""
    path = tmp_path / "loops_of_conform.py"
    path.write_text(textwrap.dedent(LOOPS))
    return str(path)


# Unknown outcomes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "kind"),
    [
        (100, "conforms"),  # The request may take effect between the two deletes.
        (12, "impossible"),  # It took effect before the first one, or never.
    ],
)
def test_an_unknown_outcome_takes_effect_within_its_interval(end: int, kind: str, tmp_path: Path) -> None:
    """The request is its own source, and its interval ends when it can no longer take effect."""
    log = [
        HEADER,
        event(1, "register", p=P),
        event(1, "open", "request", t=[10, end], p=P, s="s", e=5, heard=False, error="?"),
        event(2, "trim", t=20, p=P, s="s", e=5, q=0, error="STREAM_FENCED"),
        event(3, "trim", t=30, p=P, s="s", e=5, q=0),
    ]
    log[3] = event(2, "trim", t=20, p=P, s="s", e=5, q=0, error="STREAM_INNER_ERROR")
    assert judged("ownership", log, tmp_path / "a.log").kind == kind


def test_an_unknown_outcome_may_be_that_nothing_happened(tmp_path: Path) -> None:
    """A request with an unknown outcome may never take effect, even after its interval."""
    log = [
        HEADER,
        event(1, "register", p=P),
        event(1, "open", "request", t=[10, 20], p=P, s="s", e=5, heard=False, error="?"),
        event(2, "delete", t=30, s="s"),
    ]
    assert judged("ownership", log, tmp_path / "a.log").kind == "conforms"


def test_post_of_an_unknown_outcome_holds_in_both_cases(tmp_path: Path) -> None:
    """The cells show that the request had no effect, so events that need the effect are impossible."""
    log = [
        HEADER,
        event(1, "register", p=P),
        event(2, "open", p=P, s="s", e=5, heard=False, error="?", post={"opened": {"s": False}}),
        event(3, "trim", p=P, s="s", e=5, q=0),
    ]
    assert judged("ownership", log, tmp_path / "a.log").kind == "impossible"
    log[2]["post"] = {"opened": {"s": True}}
    assert judged("ownership", log, tmp_path / "a.log").kind == "conforms"


# Several sources ----------------------------------------------------------------------------------------------------


def test_causes_against_the_times_are_a_damaged_log(tmp_path: Path) -> None:
    """Each cause fits its own event's times, but no order fits all: the log is damaged, whatever the model."""
    log = [
        HEADER,
        event(1, "register", "a", t=[10, 20], p=P, cause=["b", 1]),
        event(1, "register", "b", t=[15, 25], p=P),
        event(1, "register", "c", t=[12, 14], p=P, cause=["a", 1]),
    ]
    with pytest.raises(UsageError, match=r"a\.log:2: no order of the events fits both the times and the causes"):
        judged("ownership", log, tmp_path / "a.log")
    log[2]["t"] = [14, 25]
    assert judged("ownership", log, tmp_path / "a.log").kind == "conforms"


def test_a_long_event_before_a_short_one_of_its_source(tmp_path: Path) -> None:
    """A source's first event takes effect before its second, and so before b's, however late its interval ends."""
    log = [
        HEADER,
        event(1, "register", "a", t=[1, 100], p=P),
        event(2, "register", "a", t=[5, 6], p=P),
        event(1, "open", "b", t=[10, 20], p=P, s="s", e=5, heard=False, error="NODE_EPOCH_NOT_EXIST"),
    ]
    assert judged("ownership", log, tmp_path / "a.log").kind == "impossible"
    log[3] = event(1, "open", "b", t=[6, 20], p=P, s="s", e=5, heard=False, error="NODE_EPOCH_NOT_EXIST")
    assert judged("ownership", log, tmp_path / "a.log").kind == "conforms"


# Streams ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sources", [1, 2])
def test_all_streams_have_the_same_start(sources: int, tmp_path: Path) -> None:
    """All streams share one start: s1 needs the node to be registered there and s2 needs it not to be."""
    log = [
        HEADER,
        event(1, "open", p=P, s="s1", e=5, heard=False),
        event(2, "open", p=P, s="s2", e=5, heard=False, error="NODE_EPOCH_NOT_EXIST"),
    ]
    if sources == 2:
        log[2] = {**log[2], "source": "b", "seq": 1}
    found = judged("ownership", log, tmp_path / "a.log")
    assert (found.kind, found.judged) == ("impossible", 1)
    log[2] = {**log[2], "error": "NODE_EPOCH_NOT_EXIST", "action": "trim", "q": 0}
    log[1] |= {"error": "NODE_EPOCH_NOT_EXIST"}
    del log[2]["heard"]
    assert judged("ownership", log, tmp_path / "a.log").kind == "conforms"


BEGUN = """
from holdfast.lang import Model, Rel, Scope, Sort, action, init, require


class Stream(Sort): ...


class Begun(Model):
    up: Rel[Stream]
    tiny = Scope({Stream: 2})

    @init
    def begin(self, x: bool) -> None:
        self.up.fill(x)

    @action
    def rise(self, s: Stream) -> None:
        self.up[s] = True

    @action
    def use(self, s: Stream) -> None:
        require(self.up[s], "P-1")

    @action
    def rest(self, s: Stream) -> None:
        require(not self.up[s], "P-2")
"""
"""All streams are up at the start, or none is."""


@pytest.mark.parametrize("last", ["use", "rest"])
def test_starts_differ_while_a_stream_is_not_named_yet(
    last: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two starts that agree about every stream so far are both kept, as the next line may name another stream."""
    monkeypatch.setattr(judge, "MERGED_EVERY", 1)
    path = tmp_path / "begun_of_conform.py"
    path.write_text(BEGUN)
    log = [event(1, "rise", s="s1"), event(2, last, s="s2"), event(3, "use", s="s1")]
    assert judged(str(path), log, tmp_path / "a.log", joint=1).kind == "conforms"


# Cells --------------------------------------------------------------------------------------------------------------


def test_post_of_a_refusal_is_compared(tmp_path: Path) -> None:
    """The cells of a refused request are compared with the unchanged state."""
    log = [HEADER, event(1, "register", p=P), event(2, "open", p=P, s="s", e=5, heard=False)]
    refused = event(3, "delete", s="s", error="STREAM_NOT_CLOSED", post={"exists": {"s": True}})
    assert judged("ownership", [*log, refused], tmp_path / "a.log").kind == "conforms"
    refused["post"] = {"exists": {"s": False}}
    assert judged("ownership", [*log, refused], tmp_path / "a.log").kind == "impossible"


def test_pre_is_compared_after_the_hidden_steps(tmp_path: Path) -> None:
    """A hidden step may come before the cells that a line gives as ``pre``, but not between them and the event."""
    log = [HEADER, event(1, "register", p=P), event(2, "register", p=Q)]
    needs = event(3, "open", p=Q, s="s", e=5, heard=True, pre={"reserved": {'["n1",9]': True}})
    assert judged("ownership", [*log, needs], tmp_path / "a.log", hidden=("reserve",)).kind == "conforms"
    needs["pre"] = {"reserved": {'["n1",9]': False}}
    assert judged("ownership", [*log, needs], tmp_path / "a.log", hidden=("reserve",)).kind == "impossible"


# Spans and counts ---------------------------------------------------------------------------------------------------


def test_a_span_goes_over_the_numbers_within(tmp_path: Path) -> None:
    """A span is one step for each part between two numbers of the window, and every step must be possible."""
    log = [
        HEADER,
        event(1, "register", p=P),
        event(2, "reserve", p=P),
        event(3, "open", p=P, s="s", e=5, heard=True),
        event(4, "commit", p=P, s="s", a=0, b=40),
        event(5, "append", p=P, s="s", span=[0, 100]),
    ]
    assert judged("ownership", log, tmp_path / "a.log").kind == "conforms"
    again = event(6, "append", p=P, s="s", span=[40, 100])
    assert judged("ownership", [*log, again], tmp_path / "a.log").kind == "impossible"


def test_each_step_of_a_span_is_counted(tmp_path: Path) -> None:
    """A span counts as many steps as it has parts, for a limit of steps."""
    log = [HEADER, event(1, "register", p=P), event(2, "reserve", p=P), event(3, "open", p=P, s="s", e=5, heard=True)]
    log += [event(4, "commit", p=P, s="s", a=0, b=40), event(5, "append", p=P, s="s", span=[0, 100])]
    steps = [judged("ownership", log[:length], tmp_path / "a.log").tally.steps for length in (5, 6)]
    assert steps == [4, 6]


def test_a_span_of_nothing_is_damaged(tmp_path: Path) -> None:
    """An empty span is damaged, since it would have no step and ask no guard."""
    log = [HEADER, event(1, "register", p=P), event(2, "append", p=P, s="s", span=[5, 5])]
    with pytest.raises(UsageError, match="has no offset"):
        judged("ownership", log, tmp_path / "a.log")


def test_a_span_of_a_loop_over_all_streams_is_unknown(loops: str, tmp_path: Path) -> None:
    """Each step of the span changes all streams, and a world of one stream cannot know how many steps there are."""
    log = [event(1, "put", s="s2", a=0), event(2, "bump", s="s1", span=[0, 10])]
    found = judged(loops, log, tmp_path / "a.log")
    assert (found.kind, "each step of which changes all streams" in str(found.reason)) == ("unknown", True)


# Hidden steps and guesses -------------------------------------------------------------------------------------------


def test_hidden_steps_at_the_bound_of_an_int(loops: str, tmp_path: Path) -> None:
    """Beyond the bound of an Int nothing is impossible, since the system may have more values than the model."""
    log = [event(1, "put", s="s", a=0), event(2, "fall"), event(3, "fall", post={"level": 1})]
    assert judged(loops, log, tmp_path / "a.log", hidden=("rise",)).kind == "unknown"
    assert judged(loops, log[:2], tmp_path / "a.log", hidden=("rise",)).kind == "conforms"


def test_a_guess_names_the_line_that_fits_no_state(tmp_path: Path) -> None:
    """After an unknown argument nothing is impossible, even if the argument does not matter."""
    log = [
        HEADER,
        event(1, "register", p=P),
        event(2, "open", p=P, s="s", e=5, heard=False),
        event(3, "trim", p=P, s="s", q=0),
        event(4, "delete", s="s"),
    ]
    found = judged("ownership", log, tmp_path / "a.log")
    assert found.kind == "unknown"
    assert "a.log:5, but not every number was tried for e, which" in str(found.reason)


def test_more_hidden_steps_than_are_tried_are_unknown(
    loops: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An event that would need more hidden steps than are tried is unknown; here it needs two."""
    log = [event(1, "put", s="s", a=0), event(2, "fall")]
    monkeypatch.setattr(world, "IN_A_ROW", 2)
    assert judged(loops, log, tmp_path / "a.log", hidden=("rise",)).kind == "conforms"
    monkeypatch.setattr(world, "IN_A_ROW", 1)
    found = judged(loops, log, tmp_path / "a.log", hidden=("rise",))
    assert "more than 1 hidden steps before one event were not tried" in str(found.reason)


@pytest.mark.parametrize(
    ("module", "name", "options"),
    [
        (world, "MOST_STATES", {"hidden": ("reserve",)}),
        (orders, "MOST_NODES", {}),
        (orders, "MOST_HELD", {}),
        (branch, "WORLDS", {}),
    ],
)
@pytest.mark.parametrize("wrong", [False, True])
def test_a_cap_is_unknown(
    module: object, name: str, options: dict[str, object], wrong: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above the cap the answer is unknown, for a run and for other logs."""
    sources = 3 if module is orders else 1
    log = [line for line in lines("ownership", 1, 60, sources=sources) if line.get("action") != "reserve"]
    if not options:
        log = lines("ownership", 1, 60, sources=sources)
    for source in ("n1", "n2", "n3"):
        for number, line in enumerate([line for line in log if line.get("source") == source], start=1):
            line["seq"] = number
            line.pop("cause", None)
    if wrong:
        log[-1] = {**log[-1], "action": "register", "error": "STREAM_NOT_EXIST"}
        for each in ("post", "s", "e", "a", "b", "q", "heard"):
            log[-1].pop(each, None)
        log[-1]["p"] = next(line["p"] for line in log[1:] if "p" in line)
    free = judged("ownership", log, tmp_path / "a.log", **options)
    assert free.kind == ("impossible" if wrong else "conforms"), free.reason
    monkeypatch.setattr(module, name, 1)
    capped = judged("ownership", log, tmp_path / "a.log", **options)
    assert capped.kind == "unknown", capped.kind
