"""The controller and each of four models, driven in lockstep, agree on every answer and every state.

README.md explains how a failing run is shortened, and the bound for its length.
"""

from __future__ import annotations

import pytest

from impl.bridge.differences import DIFFERENCES
from impl.bridge.paired_run import DisagreementError, PairedCall, PairedRun
from impl.bridge.pairings import PAIRINGS, pairing
from impl.rules import without
from stateful_tests.controller.machine import Machine, drive, machine
from stateful_tests.controller.search import shortest
from stateful_tests.controller.teeth import TEETH

WITHIN = 500
"""The most examples until a missing rule is found."""
LONGER = 2
"""The most calls that a shortened run may have beyond the shortest run."""
STATES = 300
"""The most states in which that shortest run is searched."""


@pytest.mark.parametrize("name", PAIRINGS)
def test_controller_agrees_with_the_model(name: str) -> None:
    """Thirty runs of each pairing show no difference in an answer, a state, or a refusal."""
    drive(machine(name), max_examples=30)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAIRINGS)
def test_controller_agrees_with_the_model_for_long(name: str) -> None:
    """150 runs of each pairing show no difference either."""
    drive(machine(name), max_examples=150)


# Differences on purpose -----------------------------------------------------------------------------------------

MEET = {
    "RC-06": (
        *(PairedCall("open", ("p4", "s1")), PairedCall("append", ("p4", "s1", 2)), PairedCall("close", ("p4", "s1"))),
        *(PairedCall("open", ("p3", "s1")), PairedCall("register", ("p4",)), PairedCall("end_recovery", ("p4", "s1"))),
    ),
}
"""By rule: a run of fast close in which the controller's answer differs from the model's on purpose."""


@pytest.mark.parametrize("rule", MEET)
def test_stated_difference_is_met(rule: str) -> None:
    """In a run of fast close, the controller gives the stated different answer."""
    lockstep = PairedRun(pairing("fast_close"), pairing("fast_close").starts[0])
    for call in MEET[rule]:
        lockstep.take(call)
    assert [each.rule for each in lockstep.used] == [rule]


def test_every_answer_that_differs_has_a_run() -> None:
    """Each stated difference in answers has a run that meets it."""
    assert {each.rule for each in DIFFERENCES if each.answered is not None} == set(MEET)


@pytest.mark.parametrize(
    "record",
    [
        [PairedCall("shrink", (2,))],
        [PairedCall("fence", (1,)), PairedCall("unfence", (0,))],
        [PairedCall("fence", (1,)), PairedCall("prefer", ())],
    ],
    ids=["alter-partition", "unfence", "prefer"],
)
def test_record_completes_what_an_unclean_election_has_left(record: list[PairedCall]) -> None:
    """RA-44: if only the new replica is alive, the start of the reassignment elects it, and any next record completes
    the reassignment.
    """
    replicas = pairing("replica_reassignment")
    start = next(
        start
        for start in replicas.starts
        if (cells := replicas.cells(start))["unclean",] and [cells["replica", n] for n in range(3)] == [1, 0, 1]
    )
    lockstep = PairedRun(replicas, start)
    for call in (PairedCall("fence", (2,)), PairedCall("fence", (0,)), PairedCall("reassign", (1, 1))):
        lockstep.take(call)
    assert lockstep.cells["removing", 2]
    for call in record:
        lockstep.take(call)
    assert not lockstep.cells["removing", 2]


REPEATED_CLOSES = {
    "the end of its range": (
        *(
            PairedCall("open", ("p1", "s1")),
            PairedCall("append", ("p1", "s1", 1)),
            PairedCall("commit", ("p1", "s1", 0, 1)),
        ),
        *(PairedCall("register", ("p2",)), PairedCall("end_recovery", ("p2", "s1")), PairedCall("close", ("p1", "s1"))),
    ),
    "the end of the stream": (
        *(PairedCall("open", ("p3", "s1")), PairedCall("append", ("p3", "s1", 1)), PairedCall("ack", ("p3", "s1"))),
        *(PairedCall("trim", ("p3", "s1", 1)), PairedCall("commit", ("p1", "s1", 0, 2))),
        *(PairedCall("register", ("p1",)), PairedCall("end_recovery", ("p1", "s1")), PairedCall("close", ("p3", "s1"))),
    ),
}


@pytest.mark.parametrize("names", REPEATED_CLOSES)
def test_close_after_a_legacy_close_is_judged_by_the_range(names: str) -> None:
    """ST-33, ST-34, ST-36: a legacy close leaves the end of the range below the end of the stream. A later fast close
    may name either end.
    """
    lockstep = PairedRun(pairing("fast_close"), pairing("fast_close").starts[0])
    for call in REPEATED_CLOSES[names]:
        lockstep.take(call)
    assert lockstep.cells["range_end", "s1"] < lockstep.cells["end_offset", "s1"]
    assert not lockstep.used


# Missing rules --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("ownership", "ST-14"),
        ("fast_close", "ST-37.entry"),
        ("cancellation", "CA-41"),
        ("replica_reassignment", "RA-44"),
    ],
)
def test_missing_rule_is_found(name: str, label: str) -> None:
    """Without a rule, the controller differs from the model, in a short run, after few examples."""
    _find(name, label)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "label"), [(name, label) for name, labels in TEETH.items() for label in labels][::2])
def test_many_missing_rules_are_found(name: str, label: str) -> None:
    """The same holds for every second one of the other rules."""
    driven = _find(name, label)
    print(f"{name} without {label}: found by example {driven.found_after}")  # noqa: T201 - shown by `pytest -rP`


def _find(name: str, label: str) -> Machine:
    """Find the difference that a missing rule makes, and compare the length of its run with the shortest.

    A breadth-first search finds no difference in runs that are shorter by ``LONGER + 1`` calls or more; it ends after
    ``STATES`` states.
    """
    driven = machine(name)
    with without(label):
        with pytest.raises(DisagreementError) as found:
            drive(driven, max_examples=WITHIN, derandomize=True, database=None)
        shorter = shortest(pairing(name), len(found.value.run) - LONGER - 1, STATES)
    assert driven.found_after is not None
    assert driven.found_after <= WITHIN
    assert shorter is None, f"{len(found.value.run)} calls, and {len(shorter.run)} would do: {shorter}"
    return driven
