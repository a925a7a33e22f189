"""``holdfast verify``: models against what is pinned for them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.check.manifest import Outcome
from tests.cli.running import Run
from tests.cli.samples import COUNTER

MANIFEST = Path("models/manifest.json")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with models/counter.py and no manifest."""
    monkeypatch.chdir(tmp_path)
    Path("models").mkdir()
    Path("models/counter.py").write_text(COUNTER)
    return tmp_path


def test_what_is_pinned_is_found_again(holdfast: Run) -> None:
    """After an update each scope is in the manifest, and every outcome is as expected."""
    assert holdfast("verify", "--update").code == 0
    pinned = json.loads(MANIFEST.read_text())
    assert [(row["model"], row["scope"], row["states"], row["depth"]) for row in pinned] == [
        ("counter", "tiny", 6, 2),
        ("counter", "default", 10, 2),
    ]
    again = holdfast("verify")
    assert again.code == 0
    assert again.out.splitlines()[-1] == "2 of 2 as expected"


def test_a_scope_that_is_not_pinned_fails(holdfast: Run) -> None:
    """A manifest that leaves a scope out is a difference, not a success."""
    ran = holdfast("verify")
    assert ran.code == 1
    assert "counter --scope tiny: nothing is pinned" in ran.out
    assert not MANIFEST.exists()


def test_a_difference_shows_both_values(holdfast: Run) -> None:
    """A figure that is not the pinned one ends with 1, and the pinned and the found value are printed."""
    holdfast("verify", "--update")
    MANIFEST.write_text(MANIFEST.read_text().replace('"states": 6', '"states": 7'))
    ran = holdfast("verify")
    assert ran.code == 1
    assert "counter --scope tiny: states: pinned 7, found 6" in ran.out
    assert ran.out.splitlines()[-1] == "1 of 2 as expected"


def test_a_model_that_breaks_is_a_difference(holdfast: Run) -> None:
    """A pinned configuration that cannot be checked any more is reported with its error, beside the others."""
    holdfast("verify", "--update")
    row = {"model": "counter", "scope": "tiny", "without": ["CT-99"], "verdict": "violated", "exit_code": 12}
    MANIFEST.write_text(json.dumps([*json.loads(MANIFEST.read_text()), row]))
    ran = holdfast("verify")
    assert ran.code == 1
    assert "error: pinned None, found Counter has no rule 'CT-99'" in ran.out
    assert ran.out.splitlines()[-1] == "2 of 3 as expected"
    before = MANIFEST.read_text()
    assert holdfast("verify", "--update").code == 1
    assert MANIFEST.read_text() == before


def test_the_slow_tier_is_left_out(holdfast: Run) -> None:
    """Entries marked slow are checked with --slow alone, and an update without it leaves them as they are."""
    row = {"model": "counter", "scope": "tiny", "without": ["CT-01"], "slow": True, "verdict": "guess", "exit_code": 3}
    MANIFEST.write_text(json.dumps([row]))
    assert holdfast("verify", "--update").code == 0
    assert json.loads(MANIFEST.read_text())[0]["verdict"] == "guess"
    assert holdfast("verify").code == 0
    assert holdfast("verify", "--slow").code == 1


def test_an_interrupted_verification_shows_what_was_checked(holdfast: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """After Ctrl-C the finished rows are printed, and the command ends 20."""

    def interrupted(*_: object, **__: object) -> Iterator[Outcome]:
        yield Outcome("exhausted", 0, states=6, depth=2, bits=4)
        raise KeyboardInterrupt

    holdfast("verify", "--update")
    monkeypatch.setattr("holdfast.cli.verify.measure_all", interrupted)
    ran = holdfast("verify")
    assert ran.code == 20
    assert ran.out.splitlines()[-1] == "interrupted: 1 of 2 checked, 0 of them not as expected"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[1]",
        '[{"model": "counter"}]',
        '[{"model": "counter", "scope": "tiny", "verdict": "exhausted", "exit_code": 0, "colour": "red"}]',
        '[{"model": "counter", "scope": "tiny", "verdict": "exhausted", "exit_code": 0, "states": "many"}]',
    ],
)
def test_a_broken_manifest(holdfast: Run, text: str) -> None:
    """A file that is no manifest ends with one line and code 2."""
    MANIFEST.write_text(text)
    ran = holdfast("verify")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert f"{MANIFEST}: is no manifest" in ran.err


def test_an_unexpected_violation_can_be_repeated(holdfast: Run) -> None:
    """Where another violation than the pinned outcome is found, the line that repeats its run is printed."""
    holdfast("verify", "--update")
    Path("models/worse.py").write_text(COUNTER.replace("> Count(0) for n", "< Count(2) for n"))
    MANIFEST.write_text(MANIFEST.read_text().replace('"model": "counter"', '"model": "worse"'))
    ran = holdfast("verify")
    (line, *_) = re.findall(r"^replay: +holdfast replay '(.*)'$", ran.out, re.MULTILINE)
    assert "verdict: pinned exhausted, found violated" in ran.out
    assert line.startswith("worse tiny #")
    assert holdfast("replay", line).code == 12
