"""Logs of random runs conform to their own model, with all the gaps that a log may have."""

from __future__ import annotations

import random
from collections import Counter
from copy import deepcopy
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from holdfast.check.conform.judge.order import uses
from holdfast.check.conform.walks.log_lines import CAUSES, Gaps, timed
from holdfast.check.conform.walks.log_scope import MOST, LogScope
from holdfast.check.conform.walks.log_steps import LogStep, LogSteps
from holdfast.check.conform.walks.log_walk import END, IDLE, PAUSE, QUIET, LogWalk, Wear, _Elements
from holdfast.check.conform.walks.stretch import Numbers
from holdfast.cli.walk_log import share
from holdfast.ir.errors import UsageError
from tests.conform.walked_logs import Line, judged, system

MODELS = (
    "ownership",
    "stream_log",
    "fast_close",
    "reassignment",
    "cancellation",
    "route_epoch",
    "routed_produce",
    "wal_retention",
    "kip_236",
    "replica_reassignment",
    "controller_tables",
    "wal",
    "snapshot_read",
    "object_life",
    "sealed_ranges",
    "reassignment_batch",
    "metadata_quorum",
    "failover",
)
"""All models but those that ``conform`` refuses.

``broker_executors`` has threads, which a log cannot tell apart. ``balancer`` adds up loads. ``balancer_execution`` and
``balancer_samples`` have limits that a scope gives and no log tells.
"""

FINITE = ("wal", "object_life")
"""Models whose runs end early: a slot is written once, and an id is given out once."""

EVENTS = 150

CENTRAL = {
    "ownership": {"append", "open", "send_close", "close", "commit", "trim"},
    "stream_log": {"open", "append", "put", "ack", "commit", "send_close", "close"},
    "fast_close": {"open", "append", "put", "ack", "commit", "send_close", "close"},
    "reassignment": {"reassign", "open", "append", "ack", "commit", "close"},
    "snapshot_read": {"append", "confirm", "upload", "open_session", "collect", "answer", "replay", "apply"},
    "route_epoch": {"bump", "learn", "publish", "commit", "apply"},
}
"""The actions of a model that each part of a log should contain."""


@cache
def log(model: str, seed: int, gaps: Gaps | None = None, sources: int = 1) -> list[Line]:
    """The lines of a random run's log."""
    found = system(model)
    walk = LogWalk(found, found.scope("default"), seed=seed, stretched=True, sources=sources, gaps=gaps)
    return list(walk.lines(EVENTS))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_walk_conforms(model: str, seed: int, tmp_path: Path) -> None:
    """Every model's random runs conform, and none ends early but those of ``FINITE``."""
    lines = log(model, seed)
    found = judged(model, lines, tmp_path / "a.log")
    assert (found.kind, found.judged) == ("conforms", len(lines) - 1), found.reason
    assert found.judged == EVENTS or model in FINITE


def test_a_walk_of_a_model_that_holds_records_conforms(tmp_path: Path) -> None:
    """A key that is a truth value, and the parts of a record, are told and judged as any value."""
    model = "tests/lower/models/holders.py"
    lines = deepcopy(log(model, 0))
    told = [line["post"]["known"] for line in lines if "known" in line.get("post", {})]
    assert any("true" in votes for of_node in told for votes in of_node.values())
    assert judged(model, lines, tmp_path / "a.log").kind == "conforms"

    wrong = next(line for line in lines if "last_granted" in line.get("post", {}))
    wrong["post"]["last_granted"] = not wrong["post"]["last_granted"]
    assert judged(model, lines, tmp_path / "b.log").kind == "impossible"


def test_a_walk_with_numbers_below_0_in_records_conforms(tmp_path: Path) -> None:
    """A part that may be negative is told and judged as any number."""
    model = "tests/lower/models/moves.py"
    lines = deepcopy(log(model, 0))
    told = [line["post"]["last_by"] for line in lines if "last_by" in line.get("post", {})]
    assert min(told) < 0
    assert judged(model, lines, tmp_path / "a.log").kind == "conforms"

    wrong = next(line for line in lines if line.get("post", {}).get("last_by", 0) < 0)
    wrong["post"]["last_by"] *= -1
    assert judged(model, lines, tmp_path / "b.log").kind == "impossible"


def test_a_log_begins_with_its_model() -> None:
    """The first line names the model, its variants and the numbers of the model's literals."""
    assert log("ownership", 0)[0] == {
        "holdfast": "log",
        "version": 1,
        "model": "Ownership",
        "variants": [],
        "literals": {"NodeEpoch": {"1": 9}},
    }


@pytest.mark.parametrize("model", CENTRAL)
def test_the_central_actions_are_seen(model: str) -> None:
    """A random run of 400 events takes every central action, and does not end early."""
    found = system(model)
    lines = list(LogWalk(found, found.scope("default"), seed=1, stretched=True).lines(400))[1:]
    assert len(lines) == 400
    taken = {line["action"] for line in lines if "error" not in line}
    assert taken >= CENTRAL[model]


@pytest.mark.parametrize("model", [model for model in MODELS if model not in ("wal", "stream_log")])
def test_a_walk_with_gaps_conforms(model: str, tmp_path: Path) -> None:
    """A log with unknown outcomes, missing arguments and spans conforms."""
    found = judged(model, log(model, 1, Gaps(0.02, 0.05, spans=True)), tmp_path / "a.log")
    assert found.kind == "conforms", found.reason


@pytest.mark.parametrize("model", ["ownership", "cancellation", "kip_236"])
def test_a_walk_of_two_sources_conforms(model: str, tmp_path: Path) -> None:
    """The true order of two sources lies within the intervals and respects the causes, so the log conforms."""
    lines = log(model, 1, sources=2)
    assert any("cause" in line for line in lines)
    found = judged(model, lines, tmp_path / "a.log")
    assert found.kind == "conforms", found.reason


class Extreme(random.Random):
    """Chance that always draws the least number, or always the greatest."""

    def __init__(self, *, greatest: bool) -> None:
        super().__init__(0)
        self.greatest = greatest

    def randint(self, a: int, b: int) -> int:
        """One of the two limits."""
        return b if self.greatest else a


def test_an_interval_reaches_as_far_to_both_sides() -> None:
    """With several sources, the time of an event lies within its interval, at most as far from one end as the other."""
    for greatest, most in ((False, 0), (True, 60)):
        # With equal draws, the first event happens at the same time, whether one source writes the log or two.
        (instant, same) = next(timed([{}], 1, Extreme(greatest=greatest)))["t"]
        (begin, end) = next(timed([{}], 2, Extreme(greatest=greatest)))["t"]
        assert (same - instant, instant - begin, end - instant) == (0, most, most)


def test_begins_of_a_source_ascend() -> None:
    """Each source has ascending numbers and begins, and names only earlier events of another source as causes."""
    lines = list(timed([{}] * 2_000, 3, random.Random(1)))
    seen: dict[str, int] = {}
    begins: dict[str, int] = {}
    for each in lines:
        source, (begin, end) = each["source"], each["t"]
        seen[source] = seen.get(source, 0) + 1
        assert each["seq"] == seen[source]
        assert begins.get(source, 0) <= begin <= end
        begins[source] = begin
        if "cause" in each:
            assert each["cause"][0] != source
            assert each["cause"][1] == seen[each["cause"][0]]
    assert sorted(seen) == ["n1", "n2", "n3"]
    assert len(lines) / CAUSES / 2 < sum("cause" in each for each in lines) < len(lines) / CAUSES


@pytest.mark.parametrize(
    ("streams", "effects", "cost"),
    [
        (1, 1, {}),  # One effect says too little.
        (3, 1, {"Stream": 3 / 5}),
        (8, 1, {"Stream": 8 / 10}),
        (4, 2, {}),  # Half of the effects were followed by another one on the same stream.
    ],
)
def test_an_action_uses_up_if_most_of_its_effects_were_the_last(
    streams: int, effects: int, cost: dict[str, float]
) -> None:
    """Deletes use streams up if, for most of all deletes, nothing happened to the stream later."""
    found = system("ownership")
    given = uses(found, frozenset(var.name for var in found.variables if var.ghost))
    steps = LogSteps(LogScope(found, found.scope("default"), given, 3, 100, {"Stream": MOST}), random.Random(0))
    wear = Wear()
    elements = _Elements(steps, wear)
    delete = next(action for action in found.actions if action.name == "delete")
    for stream in range(streams):
        for _ in range(effects):
            elements.note(LogStep(delete, (stream,), b"", b"", steps.windows), 0)
    steps.appeared["Stream"] = streams
    elements.review(IDLE)
    assert wear.cost("delete") == {}, "they may still take part in a step"
    elements.review(IDLE + 1)
    assert wear.cost("delete") == cost


def test_gaps_are_there() -> None:
    """The log has as many gaps as requested, and every kind of gap."""
    lines = log("ownership", 1, Gaps(0.5, 0.5, spans=True))[1:]
    assert 0.2 * EVENTS < sum(line.get("error") == "?" for line in lines) < 0.6 * EVENTS
    opens = [line for line in lines if line["action"] == "open"]
    assert any("p" not in line or "heard" not in line for line in opens)
    assert all(
        "span" in line and "post" not in line for line in lines if line["action"] == "append" and "error" not in line
    )
    assert all("s" in line for line in opens)


def test_new_processes_appear() -> None:
    """A long random run has more processes than the scope."""
    found = system("ownership")
    walk = LogWalk(found, found.scope("default"), seed=1, stretched=True)
    named = {str(line["p"]) for line in walk.lines(3000) if "p" in line}
    assert len(named) > found.scope("default").sizes["Proc"]


def test_new_elements_appear_at_a_steady_pace() -> None:
    """After half of a walk's events half of the further streams have appeared, and at its end all of them."""
    found = system("ownership")
    walk = LogWalk(found, found.scope("default"), seed=1, stretched=True, streams=3)
    steps = walk._steps(1_000, {"Stream": 13})
    turns = walk._turns(1_000, steps, Wear())
    appeared = []
    for made in (0, 499, 500, 999, 1_000):
        for _ in range(20):
            turns._appear(made, 0)
        appeared.append(steps.appeared["Stream"])
    first, count = steps.sizes.first["Stream"], steps.sizes.count("Stream")
    assert first < (first + count) // 2 < count
    assert appeared == [first, *(first + (count - first) * made // 1_000 for made in (499, 500, 999)), count]


def test_a_plain_number_may_be_any_of_the_scope_at_first() -> None:
    """All numbers of the scope, 0 among them, appear at the start of a walk; greater ones appear later."""
    for name in MODELS:
        found = system(name)
        scope, given = found.scope("default"), uses(found, frozenset())
        sizes = LogScope(found, scope, given, 3, 1_000, {})
        assert {nat: sizes.first[nat] for nat in given.plain} == {nat: scope.sizes[nat] + 1 for nat in given.plain}
    assert any(uses(system(name), frozenset()).plain for name in MODELS)


def test_numbers_of_a_log_have_gaps() -> None:
    """A walk's log has large gaps between offsets, and small ones between other numbers; without stretching, none."""
    numbers = Numbers(1, stretched=True)
    for nat, least, most in (("Offset", 500, 1500), ("WalOffset", 500, 1500), ("Epoch", 1, 9)):
        told = [numbers.of(nat, number) for number in range(50)]
        assert told[0] == 0
        assert all(least <= after - before <= most for before, after in pairwise(told))
    assert Numbers(1, stretched=False).of("Offset", 3) == 3


def test_more_elements_appear_now_and_then_while_nothing_has_an_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    """While no request has an effect, a walk adds elements every PAUSE requests, and then ends without events."""
    found = system("ownership")
    walk = LogWalk(found, found.scope("default"), seed=1, stretched=True)
    steps = walk._steps(100, {})
    turns = walk._turns(100, steps, Wear())
    quiet: list[int] = []
    monkeypatch.setattr(steps, "step", lambda _: None)
    monkeypatch.setattr(turns, "_appear", lambda _, idle: quiet.append(idle))
    assert list(turns.runs()) == []
    assert quiet == [0, *range(QUIET, END, PAUSE)]


def test_an_action_that_uses_elements_up_is_due_within_its_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the start each action is due at a random event within its rest; one that uses nothing up is due at once."""
    found = system("ownership")
    walk = LogWalk(found, found.scope("default"), seed=1, stretched=True)
    turns = walk._turns(100, walk._steps(100, {}), Wear())
    rests = {action.name: 10.0 * place for place, action in enumerate(turns.actions)}
    monkeypatch.setattr(turns, "_rest", lambda action: rests[action.name])
    monkeypatch.setattr(turns, "count", 0)
    assert list(turns.runs()) == []
    assert turns.due[0] == 0
    assert all(0 <= due < rests[action.name] for action, due in list(zip(turns.actions, turns.due, strict=True))[1:])


def test_a_range_ends_one_or_two_numbers_above_its_begin() -> None:
    """Some second numbers of a range lie just above the first: one or two numbers further."""

    class InTurn(random.Random):
        """Chance that gives these numbers in turn."""

        def __init__(self, *numbers: float) -> None:
            super().__init__(0)
            self.numbers = list(numbers)

        def random(self) -> float:
            """The next number."""
            return self.numbers.pop(0)

    found = system("ownership")
    steps = LogWalk(found, found.scope("default"), seed=1, stretched=True)._steps(100, {})
    for drawn, further in ((0.3, 1), (0.7, 2)):
        # The begin and the end are first drawn as number 0; then chance decides on the end.
        steps.chance = InTurn(0, 0, drawn, 0)
        assert steps._args([(range(9), 9), (range(9), 9)], [(1, 0, [])]) == (0, further)


def test_there_is_room_for_the_numbers_of_crashed_processes() -> None:
    """Crashed processes keep their numbers; the scope has room for more, or nothing could be appended."""
    found = system("fast_close")
    given = uses(found, frozenset())
    sizes = LogScope(found, found.scope("default"), given, 3, 100_000, {"Proc": MOST}).scope.sizes
    assert sizes["Offset"] > 2 * 3 * sizes["Proc"], "next_offset and confirm_offset of each process and stream"


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "events"), [(0, 20_000), (2, 10_000)])
def test_a_long_walk_goes_on(seed: int, events: int) -> None:
    """Until its end a long random run opens, appends and commits, and sometimes a process crashes."""
    found = system("fast_close")
    lines = list(LogWalk(found, found.scope("default"), seed=seed, stretched=True).lines(events))
    assert len(lines) == events + 1
    last = Counter(line["action"] for line in lines[-4_000:] if "error" not in line)
    assert min(last[action] for action in CENTRAL["fast_close"]) >= 40
    assert 2 <= sum(line["action"] == "reserve" for line in lines[1:]) <= 16


@pytest.mark.parametrize("text", ["1", "x%", "101%", "-1%", "%"])
def test_a_share_is_a_percentage(text: str) -> None:
    """A share that is no percentage is refused with the option's name."""
    with pytest.raises(UsageError, match="--unknown"):
        share("--unknown", text)
