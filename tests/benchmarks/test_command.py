"""``python -m benchmarks``: what it prints and writes, how it ends, and what it refuses before it measures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import benchmarks.__main__ as command
from benchmarks import gathering
from benchmarks.engines import PARTS, SearchProfile
from benchmarks.gathering import Effort, Part, gather
from benchmarks.limits import Limits
from benchmarks.measurements import Measurements
from benchmarks.scope_search import ScopeSearch

DEFAULT = {"check", "search", "walks", "live", "prove"}


def figures() -> Measurements:
    """Some measurements. No part of the benchmark runs for them."""
    measured = Measurements({"check.cold": 2.0, "limits": Limits(1.4, 1.2, 100.0)})
    for checker, seconds in {"one": 1.0, "two": 0.8, "tlc": 150.0}.items():
        measured.values[f"one_word.{checker}"] = ScopeSearch(1_000, 5_000, 9, seconds)
    measured.values["one_word.profile"] = SearchProfile(dict.fromkeys(PARTS, 7.0), 38.0, 5.0)
    measured.fail("one_word.spin", "there is no spin on PATH", absent=True)
    return measured


@pytest.fixture(autouse=True)
def chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[set[Part]]:
    """The parts that each run chooses. Nothing is measured: each run has the same figures."""
    found: list[set[Part]] = []

    def gathered(parts: set[Part], _effort: object) -> Measurements:
        found.append(set(parts))
        return figures()

    monkeypatch.setattr(command, "gather", gathered)
    monkeypatch.setattr(command, "RESULTS", tmp_path / "results" / "latest.json")
    monkeypatch.setattr(command, "HISTORY", tmp_path / "history")
    return found


def run(*arguments: str) -> int | str | None:
    """The exit code of the command."""
    with pytest.raises(SystemExit) as ended:
        command.main(arguments)
    return ended.value.code


def test_the_table_has_every_goal(chosen: list[set[Part]], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Each goal is a row, met, missed or without a figure; the load stands beside. A missing program is no failure."""
    assert run("--out", str(tmp_path / "out.json")) == 0
    assert chosen == [DEFAULT]
    rows = capsys.readouterr().out.splitlines()

    def row(text: str) -> str:
        return next(line for line in rows if text in line)

    assert all(part in row("first verdict") for part in ("2 s", "at most 3 s", " met "))
    assert all(part in row("one word: one core against TLC") for part in ("150 x", "at least 120 x", " met "))
    assert all(part in row("one word: two cores") for part in ("1.25 x", "at least 1.7 x", "missed"))
    assert "not measured" in row("mutate: all models")
    assert "load average of a minute" in row("before")
    assert row("no spin") == "not measured: one_word.spin: there is no spin on PATH"
    assert "So this run cannot judge: one word: two cores against one." in row("cannot judge")
    stored = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert stored["goals"]["one_word.cores"]["reached"] == 1.25
    assert stored["measurements"]["one_word.one"]["distinct"] == 1_000
    assert stored["blanks"]["one_word.spin"]["absent"] is True


def test_a_failure_ends_with_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A measurement that fails is a row and a line with the reason; the table is printed, and the code is 1."""

    def failing(_parts: set[Part], _effort: object) -> Measurements:
        measured = figures()
        measured.fail("prove", "it [broke]")
        return measured

    monkeypatch.setattr(command, "gather", failing)
    assert run() == 1
    said = capsys.readouterr().out
    assert "failed: prove: it [broke]" in said
    assert "first verdict" in said


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ([], DEFAULT),
        (["--whole"], {*DEFAULT, "mutate", "verify", "test"}),
        (["--only", "mutate", "--only", "check"], {"mutate", "check"}),
        (["--quick"], {"check", "search", "walks", "live"}),
    ],
)
def test_the_options_choose_parts(chosen: list[set[Part]], arguments: list[str], parts: set[Part]) -> None:
    """What takes long is measured with --whole, or if it is chosen."""
    run(*arguments)
    assert chosen == [parts]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--quick", "--whole"], "--quick measures a fixed part"),
        (["--quick", "--release", "1.0"], "--quick measures a fixed part"),
        (["--whole", "--only", "check"], "--whole measures every part"),
        (["--release", "next"], "'next' is no version"),
        (["--out", "no/such/folder/out.json"], "cannot be written"),
    ],
)
def test_wrong_use_is_refused_before_measuring(
    chosen: list[set[Part]],
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    """Wrong use ends with 2 and one line, and nothing is measured."""
    assert run(*arguments) == 2
    assert message in capsys.readouterr().err
    assert chosen == []


def test_a_release_is_kept_and_shown(chosen: list[set[Part]], capsys: pytest.CaptureFixture[str]) -> None:
    """`--release` keeps the figures, `history` shows them, and a second run for that release is refused."""
    assert run("--release", "1.0") == 0
    assert run("--release", "1.0") == 2
    assert len(chosen) == 1
    capsys.readouterr()
    assert run("history") == 0
    assert "2 s, met" in capsys.readouterr().out


def test_ctrl_c_shows_what_was_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """After an interruption the figures until then are printed; none is stored, and the code is 130."""

    def interrupted(_measured: Measurements, _effort: Effort) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "gather", gather)
    monkeypatch.setitem(gathering.PARTS, "check", lambda measured, _: measured.attempt("check.cold", lambda: 2.0))
    monkeypatch.setitem(gathering.PARTS, "mutate", interrupted)
    out = tmp_path / "out.json"
    assert run("--only", "check", "--only", "mutate", "--release", "1.0", "--out", str(out)) == 130
    printed = capsys.readouterr()
    assert any("first verdict" in line and "2 s" in line for line in printed.out.splitlines())
    assert printed.err.strip() == "benchmarks: interrupted; these are the figures until then, and none is stored"
    assert list(tmp_path.rglob("*.json")) == []
