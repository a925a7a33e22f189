"""The signals to each verb: when they come, what is judged, and the rows of the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.cli.app import VERBS
from tests.hostile.case import CaseResult, HostileCase
from tests.hostile.signal_commands import COMMANDS
from tests.hostile.signals import (
    SIGNALS,
    VERDICTS,
    SignalRun,
    VerbFigures,
    judged_signal,
    rows_of,
    signal_case,
    table,
)

CHECK = COMMANDS["check"]


def test_the_moments_cover_the_run() -> None:
    """Each signal comes equally often, at moments over the whole length of a run; the seed decides them."""
    cases = [signal_case("check", CHECK, number, 6.0, 1) for number in range(300)]
    assert [case.signal for case in cases[:3]] == list(SIGNALS)
    for third in range(3):
        assert 60 < sum(2 * third <= case.delay < 2 * third + 2 for case in cases) < 140
    assert cases == [signal_case("check", CHECK, number, 6.0, 1) for number in range(300)]
    assert cases != [signal_case("check", CHECK, number, 6.0, 2) for number in range(300)]
    assert all(case.fresh for case in cases)


LINE = b"holdfast: interrupted before there was anything to report\n"


@pytest.mark.parametrize(
    ("number", "code", "out", "err", "left", "verdict"),
    [
        (0, 20, b"", LINE, (), "clear"),
        (0, 20, b"8 states\n", b"", (), "clear"),
        (1, 20, b"", b"", (), "unclear"),
        (1, 20, b"", b"1 states in 2 s\n", (), "unclear"),
        (0, 12, b"violated\n", b"", (), "clear"),
        (0, 0, b"exhausted\n", b"", (), "wrong end"),
        (1, 2, b"", b"holdfast: no model; name one\n", (), "wrong end"),
        (0, -2, b"", b"", (), "killed"),
        (1, 20, b"", LINE, ("process java",), "left"),
        (2, -9, b"", b"", (), "clear"),
        (2, -9, b"", b"", ("folder holdfast-run-x",), "left"),
        (2, 12, b"violated\n", b"", (), "clear"),
        (1, None, b"", b"", (), "hang"),
    ],
)
def test_each_end_has_its_verdict(
    number: int, code: int | None, out: bytes, err: bytes, left: tuple[str, ...], verdict: str
) -> None:
    """A verb whose own exit code is 12 may end with that or with 20, in words, and leaves nothing."""
    case = signal_case("check", CHECK, number, 1.0, 1)
    result = CaseResult(code=code, out=out, err=err, seconds=0.1, left=left, sent=True)
    assert judged_signal(case, result, frozenset({12})) == verdict


def test_only_signals_that_meet_a_command_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A run that ends before its signal is made again; so N signals are sent, or fewer if too many runs end early."""
    given: list[HostileCase] = []

    def run(case: HostileCase, good: Path, folder: Path, limit: float) -> CaseResult:
        del good, folder, limit
        given.append(case)
        late = case.number % 4 == 3
        return CaseResult(code=0, out=b"done\n", err=b"", seconds=2.0, sent=case.signal is not None and not late)

    monkeypatch.setattr("tests.hostile.signals.run", run)
    found = SignalRun(tmp_path, 9, 1, write=False).figures("models", COMMANDS["models"])
    assert (found.seconds, found.sent, found.verdicts) == (2.0, 9, {"clear": 9})
    assert [case.signal is None for case in given] == [True, True, *[False] * 11]


@pytest.mark.parametrize("code", [2, 1, None])
def test_a_command_that_refuses_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: int | None) -> None:
    """A command that does not work, so that signals would say nothing, is no clear row."""
    result = CaseResult(code=code, out=b"", err=b"", seconds=2.0)
    monkeypatch.setattr("tests.hostile.signals.run", lambda *_: result)
    found = SignalRun(tmp_path, 9, 1, write=False).figures("models", COMMANDS["models"])
    assert (found.sent, found.verdicts) == (0, {"wrong end": 1})


def test_every_verb_gets_signals() -> None:
    """Each verb has a command, except the explorer, which needs a terminal; and so have the verbs of other packages."""
    first = {name.split()[0] for name in COMMANDS}
    assert first == {*VERBS, "simulate", "scenario", "campaign", "cluster"} - {"explore"}
    assert all(" ".join(command.argv).startswith(name.partition(" --")[0]) for name, command in COMMANDS.items())


def test_a_page_keeps_the_rows_of_other_verbs() -> None:
    """A run of some verbs replaces their rows only, and the order of the rows stays."""
    old = VerbFigures("walk", 3.0, 9)
    old.verdicts["clear"] = 9
    text = table({"walk": old.row(), "check --engine spark": VerbFigures("check --engine spark", 1.25).row()})
    rows = rows_of(text)
    assert set(rows) == {"walk", "check --engine spark"}
    rows["check"] = VerbFigures("check", 2.0).row()
    assert [line.split(" | ")[0] for line in table(rows).splitlines()[2:]] == [
        "| check",
        "| check --engine spark",
        "| walk",
    ]
    assert table(rows).splitlines()[0].count("|") == len(VERDICTS) + 4
