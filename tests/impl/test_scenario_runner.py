"""Running scenarios: silent preparations, clocks, injected records, failures."""

from __future__ import annotations

import pytest

from impl.rules import without
from impl.scenario.language import read_text
from impl.scenario.replay import check_replay
from impl.scenario.report import text, to_json
from impl.scenario.runner import PERFORM, ScenarioVerdict, run
from impl.scenario.switches import switches
from impl.scenario.vocabulary import OPERATIONS
from tests.impl.scenario_steps import OPENED


def play(steps: str, head: str = "") -> ScenarioVerdict:
    """The verdict on the one scenario with these steps."""
    (scenario,) = read_text(f"{head}steps:{steps}")
    return run(scenario, after=check_replay)


def passes(steps: str, head: str = "") -> None:
    """Assert that a scenario with these steps passes."""
    verdict = play(steps, head)
    assert verdict.failure is None, text(verdict)


def test_every_operation_can_be_run() -> None:
    """Each operation of the vocabulary has a function, and there are no others."""
    assert set(PERFORM) == set(OPERATIONS)


def test_switches_are_read_from_the_source() -> None:
    """The runner knows exactly the switches whose ids the source names."""
    assert "AM-07" in switches()
    assert list(switches()) == sorted(set(switches()))


def test_commits_prepare_in_silence() -> None:
    """An id that was never prepared is prepared before a commit, without records; later ids stay above it."""
    passes(
        OPENED
        + """
  - {op: commit, node: 0, node_epoch: 1, object: 7, ranges: [{stream: 0, start: 0, end: 5}], expect: {error: NONE,
      records: [OBJ+, SSO, ENDOFF]}}
  - {op: prepare, count: 1, ttl_ms: 1, expect: {first: 8, records: [AOID, PREP]}}
  - {op: commit, node: 0, node_epoch: 1, object: -1, stream_objects: [{object: 3, stream: 0, start: 5, end: 6}],
      expect: {error: NONE}}
  - {op: prepare, count: 1, ttl_ms: 1, expect: {first: 9}}
"""
    )


def test_a_silent_preparation_is_for_a_refused_commit_too() -> None:
    """A commit that is refused leaves its object PREPARED for an hour, and appends nothing."""
    passes(
        OPENED
        + """
  - {op: commit, node: 0, node_epoch: 1, object: 4, ranges: [{stream: 0, start: 9, end: 12}],
      expect: {error: OFFSET_NOT_MATCHED, records: []}}
  - {op: object, id: 4, expect: {state: PREPARED}}
  - {op: object_clock, advance_ms: 3600000, expect: {records: []}}
  - {op: object_clock, advance_ms: 1, expect: {records: [OBJX]}}
"""
    )


def test_inputs_and_absent_ids_are_not_prepared() -> None:
    """Inputs of compactions and the ids under ``absent`` are not prepared."""
    passes(
        OPENED
        + """
  - {op: commit, node: 0, node_epoch: 1, object: 5, ranges: [{stream: 0, start: 0, end: 5}],
      expect: {error: OBJECT_NOT_EXIST}}
  - {op: commit, node: 0, node_epoch: 1, object: 6, compacted: [2], expect: {error: COMPACTED_OBJECTS_NOT_FOUND}}
  - {op: commit, node: 0, node_epoch: 1, object: 8, compacted: [8], expect: {error: OBJECT_NOT_EXIST}}
  - {op: object, expect: {missing: true}, each: [{id: 2}, {id: 5}, {id: 8}]}
  - {op: object, id: 6, expect: {missing: false, state: PREPARED}}
""",
        "absent: [5]\n",
    )


def test_an_id_is_prepared_in_silence_once() -> None:
    """An object whose time is over is not prepared again for a later commit."""
    passes(
        OPENED
        + """
  - {op: prepare, count: 1, ttl_ms: 10, expect: {first: 0}}
  - {op: object_clock, advance_ms: 11, expect: {records: [OBJX]}}
  - {op: commit, node: 0, node_epoch: 1, object: 0, ranges: [{stream: 0, start: 0, end: 5}],
      expect: {error: OBJECT_NOT_EXIST}}
"""
    )


def test_a_topic_becomes_known_in_silence() -> None:
    """A stream's topic needs no ``create_topic``, and may be created later."""
    passes(
        OPENED
        + """
  - {op: create, node: 0, node_epoch: 1, expect: {records: [ASID, STREAM]}}
  - {op: describe, topic: t, partition: 0, expect: {streams: [{stream: 0, topic: t, partition: 0}]}}
  - {op: describe, stream: 1, expect: {streams: [{stream: 1, node: -1, topic: "", partition: -1}]}}
  - {op: broker, node: 0, state: active}
  - {op: create_topic, topic: t, partitions: [[0]], elastic: true, expect: {error: NONE}}
"""
    )


def test_a_create_makes_its_topic_known_in_silence() -> None:
    """A topic that only a stream names has no partitions, so that a partition of it is unknown, and not the topic."""
    passes(
        """
  - {op: broker, node: 0, state: active}
  - {op: openings, node: 0, node_epoch: 1}
  - {op: isr, topic: t, partition: 0, broker: 0, isr: [0], expect: {error: UNKNOWN_TOPIC_ID}}
  - {op: create, node: 0, node_epoch: 1, topic: t, partition: 0, expect: {records: [ASID, STREAM]}}
  - {op: isr, topic: t, partition: 0, broker: 0, isr: [0], expect: {error: UNKNOWN_TOPIC_OR_PARTITION}}
  - {op: create_topic, topic: t, partitions: [[0]], elastic: true, expect: {error: NONE, records: [TOPIC, PARTITION]}}
  - {op: create, node: 0, node_epoch: 1, topic: t, partition: 0}
  - {op: isr, topic: t, partition: 0, broker: 0, isr: [], expect: {error: INVALID_REPLICA_ASSIGNMENT}}
"""
    )


def test_order_is_the_object_by_default() -> None:
    """A commit without ``order`` has the object's id as order id."""
    passes(
        OPENED
        + """
  - {op: commit, node: 0, node_epoch: 1, object: 3, ranges: [{stream: 0, start: 0, end: 5}]}
  - {op: commit, node: 0, node_epoch: 1, object: 9, order: 1, ranges: [{stream: 0, start: 5, end: 6}]}
  - {op: stream_set_objects, node: 0, expect: {objects: [9, 3], orders: [1, 3]}}
"""
    )


def test_held_deletes() -> None:
    """Delete calls that are held end at the next check without; until then the check does nothing."""
    passes(
        """
  - {op: prepare, count: 1, ttl_ms: 0}
  - {op: object_clock, advance_ms: 60001, expect: {records: [OBJX], deletes: []}}
  - {op: object_clock, advance_ms: 60001, expect: {records: [], deletes: []}}
  - {op: object_clock, advance_ms: 60001, hold_deletes: true, expect: {records: [], deletes: [1]}}
  - {op: object_clock, advance_ms: 60001, hold_deletes: true, expect: {records: [], deletes: []}}
  - {op: object, id: 0, expect: {state: MARK_DESTROYED}}
  - {op: object_clock, advance_ms: 0, expect: {records: [RMOBJ]}}
  - {op: object, id: 0, expect: {missing: true}}
"""
    )


def test_config_sets_the_retention() -> None:
    """``config`` changes settings of the controller from then on."""
    passes(
        """
  - {op: config, object_retention_ms: 5}
  - {op: prepare, count: 1, ttl_ms: 0}
  - {op: object_clock, advance_ms: 6, repeat: 3}
  - {op: object, id: 0, expect: {missing: true}}
"""
    )


def test_the_clock_of_the_scenario() -> None:
    """The clock starts where the scenario says: an object with time 10 from 100 lives at 110, and not at 111."""
    passes(
        """
  - {op: prepare, count: 1, ttl_ms: 10}
  - {op: tick, advance_ms: 10, expect: {fired: []}}
  - {op: object_clock, advance_ms: 0, expect: {records: []}}
  - {op: object_clock, advance_ms: 1, expect: {records: [OBJX]}}
""",
        "clock: 100\n",
    )


def test_injected_records() -> None:
    """An injected field that is not given keeps its value; an unknown partition is made."""
    passes(
        OPENED
        + """
  - {op: inject, record: STREAM, stream: 0, start: 4, expect: {records: [STREAM]}}
  - {op: state, stream: 0, expect: {state: OPENED, epoch: 0, index: 0, start: 4, end: 4}}
  - {op: inject, record: RANGE, stream: 0, index: 0, end: 9, expect: {records: [RANGE]}}
  - {op: state, stream: 0, expect: {end: 9, ranges: [{index: 0, node: 0, epoch: 0, start: 0, end: 9}]}}
  - {op: inject, record: PARTITION, topic: n, partition: 1, replicas: [2, 0], expect: {records: [PARTITION]}}
  - {op: partition, topic: n, partition: 1, expect: {replicas: [2, 0], isr: [0, 2], leader: 2, leader_epoch: 0,
      partition_epoch: 0, recovery: RECOVERED, original: null, marker: null, adding: [], removing: []}}
  - {op: inject, record: PARTITION, topic: n, partition: 1, leader: -1, adding: [0], original: [2],
      recovery: RECOVERING, leader_epoch: 7}
  - {op: partition, topic: n, partition: 1, expect: {replicas: [2, 0], leader: -1, adding: [0], original: [2],
      recovery: RECOVERING, leader_epoch: 7, partition_epoch: 0}}
  - {op: inject, record: PARTITION, topic: n, partition: 1, original: null}
  - {op: partition, topic: n, partition: 1, expect: {original: null, adding: [0]}}
"""
    )


def test_changes_are_the_fields_of_change_records() -> None:
    """``changes`` lists what change records write; a new partition is no change."""
    passes(
        """
  - {op: broker, node: 0, state: active, expect: {changes: {}}}
  - {op: create_topic, topic: a, partitions: [[0]], elastic: true, expect: {changes: {}}}
  - {op: inject, record: PARTITION, topic: a, partition: 0, leader: -1}
  - {op: elect, topic: a, partition: 0, expect: {changes: {a-0: [leader]}, records: [PARTITION]}}
"""
    )


def test_queries_of_what_is_not_there() -> None:
    """Queries say that a stream, an object, a registration or an entry is missing."""
    passes(
        """
  - {op: state, stream: 0, expect: {missing: true}}
  - {op: object, id: 0, expect: {missing: true}}
  - {op: registration, node: 0, expect: {missing: true}}
  - {op: entry, node: 0, stream: 0, expect: {none: true}}
  - {op: stream_set_objects, node: 0, expect: {objects: [], orders: [], data_times: []}}
  - {op: stream_objects, stream: 0, expect: {objects: []}}
  - {op: has_opening, node: 0, expect: {value: false}}
"""
    )


def test_refusals_have_empty_lists() -> None:
    """A refused request for openings answers with no streams."""
    passes(
        """
  - {op: openings, node: 0, node_epoch: 2, expect: {error: NONE, streams: []}}
  - {op: openings, node: 0, node_epoch: 1, expect: {error: NODE_EPOCH_EXPIRED, streams: [], records: []}}
  - {op: describe, expect: {error: INVALID_REQUEST, streams: []}}
"""
    )


# Failures -------------------------------------------------------------------------------------------------------


def test_a_failure_shows_both_values() -> None:
    """The first failed step is shown with expected and actual values side by side, and what agreed below."""
    verdict = play(
        "\n  - {op: openings, node: 0, node_epoch: 1}"
        "\n  - {op: create, node: 0, node_epoch: 1, expect: {error: NONE, stream: 5, records: [STREAM]}}"
        "\n  - {op: state, stream: 9, expect: {missing: false}}\n"
    )

    assert text(verdict).splitlines() == [
        "FAIL  scenario.yaml:1: scenario 1 (3 steps)",
        "  scenario.yaml:3: step 2: {op: create, node: 0, node_epoch: 1}",
        "             expected  actual",
        "    stream   5         0",
        "    records  [STREAM]  [ASID, STREAM]",
        "    as expected: error",
    ]


def test_wide_values_stand_below_each_other() -> None:
    """Values that are too wide for a column have lines of their own."""
    verdict = play(f"\n  - {{op: create_topic, topic: a, partitions: [[0]], expect: {{error: {'X' * 80}}}}}\n")

    assert text(verdict).splitlines()[2:] == [
        "    error",
        f"      expected  {'X' * 80}",
        "      actual    INVALID_REPLICA_ASSIGNMENT",
    ]


def test_a_failure_in_each_names_its_own_line() -> None:
    """The failed map of ``each`` is named, with its arguments."""
    verdict = play("\n  - op: has_opening\n    each:\n      - {node: 0}\n      - {node: 7, expect: {value: true}}\n")

    assert "scenario.yaml:5: step 1: {op: has_opening, node: 7}" in text(verdict)


def test_every_repetition_is_compared() -> None:
    """A step that is right once and wrong the second time fails."""
    steps = "\n  - {op: openings, node: 0, node_epoch: 1}\n  - {op: create, node: 0, node_epoch: 1, repeat: 2, expect: "

    assert play(f"{steps}{{stream: 0}}}}\n").failure is not None
    assert play(f"{steps}{{error: NONE}}}}\n").failure is None


def test_a_number_with_a_fraction_is_compared_within_the_tolerance() -> None:
    """A fraction may stand for any expected number, within the tolerance, though results are whole numbers here."""
    passes(OPENED + "  - {op: state, stream: 0, expect: {end: 0.0, epoch: {any_of: [3.5, 0.0000001]}}}\n")
    passes(OPENED + "  - {op: state, stream: 0, tolerance: 2, expect: {end: 1.5, ranges: [{index: 1e0}]}}\n")
    failed = play(OPENED + "  - {op: state, stream: 0, expect: {end: 0.5}}\n").failure
    assert failed is not None
    assert [each.expected for each in failed.differences] == ["0.5"]


def test_a_fault_of_the_controller_fails_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception inside an operation is a failed step with its place."""
    monkeypatch.setitem(PERFORM, "list", lambda world, arguments: {}[3])

    verdict = play("\n  - {op: list}\n")

    assert verdict.failure is not None
    assert verdict.failure.reason == "the controller failed: KeyError: 3"


def test_a_rule_that_is_switched_off_fails() -> None:
    """Without ST-14, a second node opens a stream that is OPENED, and the scenario fails."""
    steps = OPENED + "  - {op: openings, node: 1, node_epoch: 1}\n"
    steps += "  - {op: open, node: 1, node_epoch: 1, stream: 0, epoch: 1, expect: {error: STREAM_NOT_CLOSED}}\n"

    passes(steps)
    with without("ST-14"):
        assert play(steps).failure is not None


def test_json_holds_the_failure() -> None:
    """The line of JSON says where a scenario failed, and how."""
    passed, failed = play("\n  - {op: list}\n"), play("\n  - {op: has_opening, node: 1, expect: {value: on}}\n")

    assert '"verdict": "passed"' in to_json(passed)
    assert '"differences": [{"path": "value", "expected": "true", "actual": "false"}]' in to_json(failed)
