"""Scenarios with changes of controller, and their replay."""

from __future__ import annotations

import pytest

from impl.controller.node import Controller
from impl.records import S3Stream, StreamState
from impl.scenario.failovers import run_with_failovers
from impl.scenario.language import read_text
from impl.scenario.replay import check_replay
from impl.scenario.runner import ScenarioVerdict, run
from impl.scenario.session import ScenarioSession
from tests.impl.scenario_steps import OPENED

MOVING = """
  - {op: broker, state: active, each: [{node: 0}, {node: 1}]}
  - {op: create_topic, topic: a, partitions: [[0]], elastic: true}
  - {op: alter, topics: {a: {0: [1]}}, expect: {rows: {a-0: NONE}}}
"""


# Changes of controller, replay ----------------------------------------------------------------------------------


def failed_over(steps: str, head: str = "") -> ScenarioVerdict:
    """The verdict with a change of controller before each step in turn."""
    (scenario,) = read_text(f"{head}steps:{steps}")
    return run_with_failovers(scenario)


def test_a_change_of_controller_loses_no_metadata() -> None:
    """Stream metadata is in the log: the scenario passes with a change before each of its steps."""
    verdict = failed_over(OPENED + "  - {op: state, stream: 0, expect: {state: OPENED, owner: 0}}\n")

    assert (verdict.failure, verdict.runs, verdict.excused) == (None, 5, ())


def test_a_change_of_controller_loses_generations() -> None:
    """The generations of destroyed objects begin anew (OB-05), which excuses a later check of objects."""
    verdict = failed_over(
        """
  - {op: prepare, count: 1, ttl_ms: 0}
  - {op: object_clock, advance_ms: 60001, repeat: 2}
  - {op: object_clock, advance_ms: 60001, expect: {deletes: [1]}}
"""
    )

    assert (verdict.failure, verdict.excused) == (None, ("OB-05",))


def test_a_change_of_controller_forgets_heartbeats() -> None:
    """Only its controller knows that a fenced broker was shutting down (ND-30)."""
    verdict = failed_over(
        """
  - {op: register_node, node: 0, node_epoch: 1}
  - {op: broker, node: 0, each: [{state: active}, {state: shutting_down}, {state: fenced}]}
  - {op: registration, node: 0, expect: {state: CONTROLLED_SHUTDOWN}}
"""
    )

    assert (verdict.failure, verdict.excused) == (None, ("ND-30",))


@pytest.mark.parametrize(("timer", "rules"), [("automq", ("EL-06",)), ("epoch", ("EL-12",))])
def test_a_change_of_controller_and_timers(timer: str, rules: tuple[str, ...]) -> None:
    """Timers are lost as built (EL-06); by default they are armed anew, from the change on (EL-12)."""
    steps = MOVING + "  - {op: tick, advance_ms: 8000}\n  - {op: tick, advance_ms: 3000, expect: {fired: [a-0]}}\n"

    verdict = failed_over(steps, f"profile: {{timer: {timer}}}\n")

    assert (verdict.failure, verdict.excused) == (None, rules)


def test_a_change_of_controller_excuses_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """A difference that no lost memory explains is a failure, and names the change."""
    (scenario,) = read_text(f"steps:{OPENED}  - {{op: state, stream: 0, expect: {{state: OPENED}}}}\n")

    def lose(controller: Controller) -> None:
        controller.image.apply(S3Stream(0, 5, 0, 0, StreamState.CLOSED))

    monkeypatch.setattr(Controller, "fail_over", lose)
    verdict = run_with_failovers(scenario, at=(4,))

    assert verdict.failure is not None
    assert verdict.failure.when == "with a change of controller before step 4"


def test_a_lost_memory_excuses_no_other_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """A controller that forgets the generations (OB-05) and loses a record besides is at fault for the record."""
    (scenario,) = read_text(
        f"""steps:{OPENED}
  - {{op: prepare, count: 1, ttl_ms: 0}}
  - {{op: object_clock, advance_ms: 60001, repeat: 2}}
  - {{op: list}}
  - {{op: object_clock, advance_ms: 1}}
  - {{op: state, stream: 0, expect: {{state: OPENED}}}}
"""
    )
    fail_over = Controller.fail_over

    def lose(controller: Controller) -> None:
        fail_over(controller)
        controller.image.apply(S3Stream(0, 5, 0, 0, StreamState.CLOSED))

    monkeypatch.setattr(Controller, "fail_over", lose)
    verdict = run_with_failovers(scenario, at=(6,))

    assert verdict.failure is not None
    assert verdict.excused == ()


def test_replay_sees_a_change_beside_the_log() -> None:
    """An image that was changed without a log record is reported by the replay."""
    (scenario,) = read_text(f"steps:{OPENED}  - {{op: list}}\n")

    def damage(world: ScenarioSession, number: int) -> None:
        if number == 4:
            world.controller.image.kv["x"] = b""

    verdict = run(scenario, before=damage, after=check_replay)

    assert verdict.failure is not None
    assert verdict.failure.reason == "the image that the log makes has kv[x] = None, not b''"
