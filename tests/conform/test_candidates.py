"""The reasons against an impossible event: one for each way in which the model could have taken it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest

from holdfast.check.conform.answer.candidates import CELL, FREE, GUARD, Candidate
from holdfast.check.conform.answer.verdict import SHOWN, LogVerdict, call, render, verdict_of
from holdfast.ir.compile import compile_model
from tests.conform.generated_comparing import judged
from tests.conform.test_small_models import CLOSE, go, model
from tests.differential.running import loaded

COUNT = "self.clock = self.clock + 1"
ON = "self.on = True"
GUARDED = 'require(self.on, "R-2")'
ANSWERED = 'require(self.on, "R-2", E.LATE)'
SET_LAST = model("self.last = v", "self, v: Tick")
TOPS = model(
    "self.top[x] = self.top[x] + 1", "self, x: Node", "top: Map[Node, Tick]", "self.top.fill(Tick(0))", ", Node: 2"
)
TWO_STEPS = go(x="a", post={"top": {"a": 5}}), go(x="b", post={"top": {"b": 5}})
UP = "up: Rel[Node]\n    owner: Node | None"
BEGIN = "self.up.fill(False)\n        self.owner = None"
OWNED = model("self.owner = n\nself.up[n] = True", "self, n: Node", UP, BEGIN, ", Node: 6")


def verdict(source: str, folder: Path, *lines: dict[str, Any], **options: Any) -> LogVerdict:
    """The verdict about a log whose last event is impossible."""
    log: list[dict[str, Any]] = [{"holdfast": "log", "version": 1}]
    log += [{"source": "a", "seq": place, "t": place, **line} for place, line in enumerate(lines, start=1)]
    with loaded(source) as found:
        system = compile_model(found)
        judgement = judged(system, log, folder, **options)
        assert (judgement.kind, judgement.judged) == ("impossible", len(lines) - 1), judgement.reason
        return verdict_of(system, judgement)


def reasons(source: str, folder: Path, *lines: dict[str, Any], **options: Any) -> tuple[Candidate, ...]:
    """The reasons against the first impossible event of a log."""
    return verdict(source, folder, *lines, **options).candidates


@pytest.mark.parametrize(
    ("source", "lines", "text", "blame"),
    [
        # The state before the event.
        (model(ON), [go(pre={"on": True})], "on before the event is false in the model and true in the log", CELL),
        (OWNED, [go(n="a", pre={"owner": "a"})], "owner before the event is null in the model and a in the log", CELL),
        # The model refuses.
        (model(GUARDED), [go()], "R-2 refuses go", GUARD),
        (model(ANSWERED), [go()], "R-2 refuses go with LATE", GUARD),
        (model(GUARDED), [go(error="LATE")], "R-2 forbids the request, the log has LATE", GUARD),
        (
            model(ANSWERED),
            [go(error="LATE", post={"on": True})],
            "on after the refusal is false in the model and true in the log",
            CELL,
        ),
        # The model takes the step.
        (model(ON), [go(error="LATE")], "the model allows go, the log has LATE", FREE),
        (model(ON), [go(post={"on": False})], "on after the step is true in the model and false in the log", CELL),
        # Values are those of the log.
        (SET_LAST, [go(v=7, post={"last": 3})], "last after the step is 7 in the model and 3 in the log", CELL),
        (
            OWNED,
            [go(n="a"), go(n="b", post={"owner": "a"})],
            "owner after the step is b in the model and a in the log",
            CELL,
        ),
        (
            OWNED,
            [go(n="a", post={"owner": None})],
            "owner after the step is a in the model and null in the log",
            CELL,
        ),
        (
            model(COUNT),
            [go(post={"clock": 5}), go(post={"clock": 3})],
            "clock after the step is above 5 in the model and 3 in the log",
            CELL,
        ),
        # Steps of a span.
        (model(COUNT), [go(span=[0, 5], error="LATE")], "the model allows go, the log has LATE", FREE),
        (model(f"{GUARDED}\n{COUNT}"), [go(span=[0, 5])], "R-2 refuses go at 0", GUARD),
        (
            model(COUNT),
            [go(span=[0, 3]), go(span=[2, 5])],
            "go counts clock on from 3 in the model and from 2 in the log",
            CELL,
        ),
        (
            model(f"if self.on:\n    {COUNT}"),
            [go(span=[0, 5])],
            "go counts clock on from nothing in the model and from 0 in the log",
            CELL,
        ),
        (
            model(COUNT),
            [go(span=[0, 3], post={"on": True, "clock": 3})],
            "on after the span is false in the model and true in the log",
            CELL,
        ),
    ],
)
def test_a_reason_and_who_may_be_wrong(
    source: str, lines: list[dict[str, Any]], text: str, blame: str, tmp_path: Path
) -> None:
    """The only reason names the rule or the cell, and says what would be wrong in the model, the code and the log."""
    (found,) = reasons(source, tmp_path, *lines)
    assert (found.text, found.blame, found.states) == (text, blame, 1)


def test_a_count_past_all_numbers_of_the_log(tmp_path: Path) -> None:
    """If the model's next number lies above all numbers of the log, the reason says so and names the action."""
    again = go(x="a", post={"top": {"a": 5, "b": 5}})
    (found,) = reasons(TOPS, tmp_path, *TWO_STEPS, again, windows={"Tick": 2})
    assert (found.text, found.blame) == ("go counts Tick past all numbers of the log", CELL)
    assert found.at is not None


def test_an_unknown_outcome_has_two_reasons(tmp_path: Path) -> None:
    """A request without an answer may have taken effect or not; each is refuted by its own reason."""
    found = reasons(SET_LAST, tmp_path, go(v=2, error="?", post={"last": 1}))
    assert [each.text for each in found] == [
        "last after the step is 2 in the model and 1 in the log",
        "last without the step is 0 in the model and 1 in the log",
    ]


def test_a_refusal_may_have_kept_the_answer_from_a_request(tmp_path: Path) -> None:
    """If a request without an answer shows an effect, the rule that refuses it and the state without it are reasons."""
    found = reasons(model(ANSWERED), tmp_path, go(error="?", post={"on": True}))
    assert [(each.text, each.blame) for each in found] == [
        ("R-2 refuses go with LATE", GUARD),
        ("on without the step is false in the model and true in the log", CELL),
    ]


def test_an_event_of_one_node_tells_a_cell_of_another(tmp_path: Path) -> None:
    """In a world of one node, an event of another node takes no step, so a wrong cell is one after the event."""
    source = model("self.up[n] = True", "self, n: Node", "up: Rel[Node]", "self.up.fill(False)", ", Node: 2")
    (found,) = reasons(source, tmp_path, go(n="a", post={"up": {"b": True}}), project="Node", joint=1)
    assert (found.text, found.at) == ("up[b] after the event is false in the model and true in the log", None)
    (found,) = reasons(source, tmp_path, go(n="b"), go(n="a", pre={"up": {"b": False}}), project="Node", joint=1)
    assert found.text == "up[b] before the event is true in the model and false in the log"


def test_reasons_are_ranked_by_the_states_in_which_they_hold(tmp_path: Path) -> None:
    """A reason that holds in more states comes first; each counts once a state, whatever arguments give it."""
    source = model(
        f'require(not self.up[n], "R-2")\nrequire(self.on, "R-3")\n{ON}', "self, n: Node", UP, BEGIN, ", Node: 2"
    )
    source += '''
    @action
    def rise(self, n: Node) -> None:
        """A node comes up."""
        self.up[n] = True
'''
    # After the unknown outcome two states are possible: in one of them ``a`` is up. No line says which node goes.
    found = reasons(source, tmp_path, {"action": "rise", "n": "a", "error": "?"}, go(pre={"up": {"b": False}}))
    assert [(each.text, each.states) for each in found] == [("R-3 refuses go", 2), ("R-2 refuses go", 1)]


def test_a_reason_names_four_cells(tmp_path: Path) -> None:
    """If many cells differ, the reason names four of them and counts the others."""
    names = "abcdef"
    (found,) = reasons(OWNED, tmp_path, go(n="a", post={"up": dict.fromkeys(names, True)}))
    assert found.text == "; ".join(
        [
            *(f"up[{name}] after the step is false in the model and true in the log" for name in "bcde"),
            "1 more cells differ",
        ]
    )
    (found,) = reasons(OWNED, tmp_path, go(n="a", post={"up": dict.fromkeys(names[:5], True)}))
    assert found.text.count("; ") == 3
    assert "more" not in found.text


def test_a_step_that_the_log_may_lack_is_named(tmp_path: Path) -> None:
    """A step after which the event is possible is named; a step that changes nothing is not."""
    found = verdict(model(GUARDED) + CLOSE, tmp_path, go())
    assert found.nearby == ("close() makes the event possible, if it comes before it",)
    assert verdict(model(GUARDED), tmp_path, go()).nearby == ()


def test_an_action_that_the_log_may_have_meant_is_named(tmp_path: Path) -> None:
    """Another action that gives all cells of the event their values is named, if it changes one of them."""
    source = model(f"self.last = self.clock\n{ON}") + CLOSE
    ask = {"action": "ask", "v": 0, "post": {"on": True}}
    instead = {text for text in verdict(source, tmp_path, ask).nearby if text.endswith("gives the cells of the event")}
    assert instead == {f"{name}() gives the cells of the event" for name in ("go", "close")}
    refused = {"action": "ask", "v": 0, "error": "LATE"}
    assert not any("gives the cells" in text for text in verdict(source, tmp_path, refused).nearby)


def test_nearby_steps_name_the_elements_of_the_log(tmp_path: Path) -> None:
    """In a world of one node, a nearby step has the node's name in the log, as in one world of all nodes."""
    body = 'require(self.up[n], "R-2")\nself.done[n] = True'
    fields, start = "up: Rel[Node]\n    done: Rel[Node]", "self.up.fill(False)\n        self.done.fill(False)"
    source = model(body, "self, n: Node", fields, start, ", Node: 2")
    source += '''
    @action
    def rise(self, n: Node) -> None:
        """A node comes up."""
        self.up[n] = True
'''
    rise = {"action": "rise", "n": "a"}
    for options in ({"project": "Node", "joint": 1}, {"joint": 0}):
        found = verdict(source, tmp_path, rise, go(n="a"), go(n="b"), **options)
        assert found.nearby == ("rise(n=b) makes the event possible, if it comes before it",)


def test_the_text_counts_the_reasons_that_it_does_not_show(tmp_path: Path) -> None:
    """The text shows the first reasons and counts the others, if there are any."""
    found = verdict(model(GUARDED), tmp_path, go())
    for count, said in ((SHOWN, []), (SHOWN + 2, ["  and 2 more reasons; --json lists all"])):
        lines = render(attrs.evolve(found, candidates=found.candidates * count)).splitlines()
        assert sum(line.startswith("  - R-2 refuses go") for line in lines) == SHOWN
        assert [line for line in lines if "more reasons" in line] == said


def test_an_event_is_shown_with_its_outcome(tmp_path: Path) -> None:
    """An event is shown as a call, with the error behind it if the log has one."""
    for line, shown in ((go(), "go()"), (go(error="LATE"), "go() → LATE")):
        source = model(f"{GUARDED}\n{ON}")
        facts = verdict(source, tmp_path, line).judgement.facts
        assert facts is not None
        assert call(facts) == shown
