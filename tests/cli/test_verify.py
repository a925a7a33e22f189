"""``holdfast verify``: models against their pinned outcomes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from holdfast.check.json_values import sealed
from holdfast.check.verify.jobs import JobResult, VerifyJob
from holdfast.check.verify.manifest import PinnedOutcome
from holdfast.check.verify.opinions import Opinion
from tests.cli.running import Run
from tests.cli.samples import COUNTER

MANIFEST = Path("models/manifest.json")

CHECK = ("--only", "check")
"""Only the search is asked: the other engines take longer to start than this model takes to search."""


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
    again = holdfast("verify", *CHECK)
    assert again.code == 0
    assert again.out.splitlines()[-1] == "2 of 2 as expected"


def test_a_scope_that_is_not_pinned_fails(holdfast: Run) -> None:
    """A scope that the manifest leaves out is a difference, not a success."""
    ran = holdfast("verify", *CHECK)
    assert ran.code == 1
    assert "counter --scope tiny: nothing is pinned" in ran.out
    assert not MANIFEST.exists()


def test_a_difference_shows_both_values(holdfast: Run) -> None:
    """A figure that differs from the manifest ends with 1, and both values are printed."""
    holdfast("verify", "--update")
    MANIFEST.write_text(MANIFEST.read_text().replace('"states": 6', '"states": 7'))
    ran = holdfast("verify", *CHECK)
    assert ran.code == 1
    assert "counter --scope tiny: states: pinned 7, found 6" in ran.out
    assert ran.out.splitlines()[-1] == "1 of 2 as expected"


def test_a_model_that_breaks_is_a_difference(holdfast: Run) -> None:
    """A pinned configuration that can no longer be checked is reported with its error, beside the others."""
    holdfast("verify", "--update")
    row = {"model": "counter", "scope": "tiny", "without": ["CT-99"], "verdict": "violated", "exit_code": 12}
    MANIFEST.write_text(json.dumps([*json.loads(MANIFEST.read_text()), row]))
    ran = holdfast("verify", *CHECK)
    assert ran.code == 1
    assert "error: pinned None, found Counter has no rule 'CT-99'" in ran.out
    assert ran.out.splitlines()[-1] == "2 of 3 as expected"
    before = MANIFEST.read_text()
    assert holdfast("verify", "--update").code == 1
    assert MANIFEST.read_text() == before


def test_the_slow_tier_is_left_out(holdfast: Run) -> None:
    """Entries marked slow are checked with --slow only, and an update without it does not change them."""
    row = {"model": "counter", "scope": "tiny", "without": ["CT-01"], "slow": True, "verdict": "guess", "exit_code": 3}
    MANIFEST.write_text(json.dumps([row]))
    assert holdfast("verify", "--update").code == 0
    assert json.loads(MANIFEST.read_text())[0]["verdict"] == "guess"
    assert holdfast("verify", *CHECK).code == 0
    assert holdfast("verify", "--slow", *CHECK).code == 1


def test_an_interrupted_verification_shows_what_was_checked(holdfast: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """After Ctrl-C the finished rows are printed, and the command ends 20."""

    def interrupted(_: Path, jobs: Sequence[VerifyJob], *__: object, **___: object) -> Iterator[JobResult]:
        yield JobResult(
            jobs[0], Opinion("tiny: exhausted, 6 states"), 0.1, PinnedOutcome("exhausted", 0, states=6, depth=2, bits=4)
        )
        raise KeyboardInterrupt

    holdfast("verify", "--update")
    monkeypatch.setattr("holdfast.cli.verify.run_all", interrupted)
    ran = holdfast("verify", *CHECK)
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
    """A broken manifest gives one line and code 2."""
    MANIFEST.write_text(text)
    ran = holdfast("verify", *CHECK)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert f"{MANIFEST}: is no manifest" in ran.err


def test_an_unexpected_violation_can_be_repeated(holdfast: Run) -> None:
    """If the violation differs from the pinned one, the line that repeats its run is printed."""
    holdfast("verify", "--update")
    Path("models/worse.py").write_text(COUNTER.replace("> Count(0) for n", "< Count(2) for n"))
    MANIFEST.write_text(MANIFEST.read_text().replace('"model": "counter"', '"model": "worse"'))
    ran = holdfast("verify", *CHECK)
    (line, *_) = re.findall(r"^replay: +holdfast replay '(.*)'$", ran.out, re.MULTILINE)
    assert "verdict: pinned exhausted, found violated" in ran.out
    assert line.startswith("worse tiny #")
    assert holdfast("replay", line).code == 12


# All engines ----------------------------------------------------------------------------------------------------


def test_every_engine_is_asked(holdfast: Run) -> None:
    """Each engine, TLC and the kernel included, has a line and no difference."""
    holdfast("verify", "--update")
    ran = holdfast("verify")
    rows = [line.split() for line in ran.out.splitlines()]

    assert (ran.code, ran.out.splitlines()[-1]) == (0, "5 of 5 as expected")
    assert [row[1] if row[0] == "counter" else row[0] for row in rows[1:5]] == ["check", "kernel", "walk", "tlc"]
    assert "counter: check " in ran.err


def test_only_some(holdfast: Run) -> None:
    """--only selects engines and models by name; an unknown name is an error that suggests the nearest one."""
    holdfast("verify", "--update")
    assert holdfast("verify", "--only", "walk", "--only", "counter").out.splitlines()[-1] == "1 of 1 as expected"
    ran = holdfast("verify", "--only", "wlak")
    assert (ran.code, ran.out) == (2, "")
    assert "no engine or model has this name; did you mean walk?" in ran.err
    assert holdfast("verify", "--only", "graph").code == 2


def test_a_budget_ends_with_20(holdfast: Run) -> None:
    """A question that is not answered in time ends with 20; other limits are refused."""
    holdfast("verify", "--update")
    ran = holdfast("verify", "--budget", "0.001s")
    assert ran.code == 20
    assert "interrupted: " in ran.out
    assert holdfast("verify", "--budget", "5states").code == 2


def test_mutants_of_another_version_are_a_difference(holdfast: Run) -> None:
    """Stored results of mutants must belong to the current model; a model without results leaves an open question."""
    holdfast("verify", "--update")
    Path("models/mutants.json").write_text("{}")
    ran = holdfast("verify", "--only", "mutants")
    assert ran.code == 20
    assert "no answer: counter: no mutant was tried; run `holdfast mutate --update counter`" in ran.out
    older = {"counter": sealed({"fingerprint": "0", "scopes": [], "mutants": []})}
    Path("models/mutants.json").write_text(json.dumps(older))
    ran = holdfast("verify", "--only", "mutants")
    assert ran.code == 1
    assert "counter: mutants.json is of another version of the model" in ran.out


def test_a_missing_java_leaves_a_question_open(holdfast: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """If Java is missing, TLC's question is open: no disagreement and no success."""
    holdfast("verify", "--update")
    monkeypatch.setenv("TLA2TOOLS_JAR", "no/such.jar")
    ran = holdfast("verify", "--only", "tlc")
    assert ran.code == 20
    assert "no answer: tlc counter: " in ran.out
    assert "no/such.jar" in ran.out
