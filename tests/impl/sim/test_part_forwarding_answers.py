"""Runs of forwarded batches: random ones are sound, and the lack of a rule is noticed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from impl.rules import without
from impl.sim.part_cases import forwarding_answers
from impl.sim.part_cases.registry import judged_run

PART = "forwarding-answers"
Told = Callable[[int, str, tuple[str, ...]], list[str]]
"""What a proxy tells the producers of some batches: by their number, the error of the request, and the answers."""


def test_a_missing_rule_is_noticed() -> None:
    """Without M-24 a producer gives a batch up because its epoch was fenced, or because a read has failed."""
    with without("M-24"):
        found = [judged_run(PART, seed) for seed in range(500)]
        assert [judged_run(PART, seed) for seed in range(500)] == found
    assert {each.label for each in found if each is not None} == {"V-2"}


@pytest.mark.parametrize(
    ("told", "label"),
    [
        (lambda _items, _error, answers: list(answers), "ZR-24"),
        (lambda items, _error, _answers: ["NONE"] * items, "I-8"),
        (lambda items, _error, _answers: ["UNKNOWN_SERVER_ERROR"] * items, "V-2"),
        (lambda items, _error, _answers: ["REQUEST_TIMED_OUT"] * items, "ZR-27"),
        (lambda items, _error, _answers: ["LEADER_NOT_AVAILABLE"] * items, "ZR-27"),
    ],
)
def test_the_judge_knows_wrong_answers(monkeypatch: pytest.MonkeyPatch, told: Told, label: str) -> None:
    """A proxy that tells all producers the same, or none of them anything, is refused."""

    def wrong(items: int, error: str, answers: tuple[str, ...], **_: bool) -> list[str]:
        return told(items, error, answers)

    monkeypatch.setattr(forwarding_answers, "producer_errors", wrong)
    found = [judged_run(PART, seed) for seed in range(100)]
    assert label in {each.label for each in found if each is not None}


@pytest.mark.parametrize(
    "cut",
    [
        lambda epochs: [(epoch, 1) for epoch in epochs],
        lambda epochs: [(max(epochs), len(epochs))] if epochs else [],
        lambda epochs: [(epoch, epochs.count(epoch)) for epoch in sorted(set(epochs), reverse=True)],
        lambda epochs: [(epoch, epochs.count(epoch)) for epoch in sorted(set(epochs))][:-1],
    ],
)
def test_the_judge_knows_wrong_requests(monkeypatch: pytest.MonkeyPatch, cut: object) -> None:
    """A request for each batch, one for all, the newest epoch first, or a batch in no request: each is refused."""
    monkeypatch.setattr(forwarding_answers, "requests", cut)
    found = [judged_run(PART, seed) for seed in range(100)]
    assert "ZR-23" in {each.label for each in found if each is not None}
