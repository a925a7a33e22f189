"""Reports of TLC's opinion: passed if both agree, failed with the differences if not."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.check.tlc.agreement import Agreement, CheckerAnswer
from holdfast.check.tlc.liveness import LiveAgreement
from holdfast.check.tlc.process import Tools
from holdfast.records.second_opinion import agreement_record, owed_record
from tests.tla.asking import opinion, system_of

MAILBOX = "tests/tla/models/mailbox.py"
LAMP = "tests/tla/models/lamp.py"
NINE, TEN = CheckerAnswer("exhausted", 9, 2), CheckerAnswer("exhausted", 10, 2)


@pytest.mark.parametrize(
    ("theirs", "differences", "status", "verdict", "code", "message"),
    [
        (NINE, (), "passed", "agrees", 0, "both agree: exhausted, 9 states, depth 2"),
        (TEN, ("states: 9 and 10",), "failed", "disagrees", 1, "they disagree: states: 9 and 10"),
    ],
)
def test_a_record_of_what_both_found(
    theirs: CheckerAnswer, differences: tuple[str, ...], status: str, verdict: str, code: int, message: str
) -> None:
    """The record has the case with its message and text, and the verdict and exit code of the whole."""
    asked = opinion(Tools("java", Path("no.jar"), frozenset()), system_of(MAILBOX), target=MAILBOX)
    record = agreement_record(asked, Agreement("Mailbox", "tiny", (), (), NINE, theirs, differences))
    (case,) = record.cases
    assert (case.status, case.message) == (status, message)
    assert (record.verdict, record.exit_code) == (verdict, code)
    assert case.text.splitlines() == [f"search  {NINE}", f"TLC     {theirs}", *differences]


@pytest.mark.parametrize(
    ("differences", "status", "verdict", "code"),
    [((), "passed", "agrees", 0), (("shines: TLC finds it violated",), "failed", "disagrees", 1)],
)
def test_a_record_of_what_is_owed(differences: tuple[str, ...], status: str, verdict: str, code: int) -> None:
    """The record has a case for each leads-to, and the common verdict and exit code."""
    system = system_of(LAMP)
    asked = opinion(Tools("java", Path("no.jar"), frozenset()), system, target=LAMP)
    record = owed_record(asked, LiveAgreement(system.name, "tiny", (), (), ("shines",), (), (), (), differences, ()))
    found = {case.name: case.status for case in record.cases}
    assert (found["shines"], record.verdict, record.exit_code) == (status, verdict, code)
