"""Reports of commands that are interrupted, refused or broken: open cases are told, and no file is half written."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from holdfast.check.mutate.log import MutationLog
from holdfast.check.mutate.result import MutantFacts
from holdfast.check.verify.jobs import JobResult, VerifyJob
from holdfast.check.verify.opinions import Opinion
from reports import sarif
from tests.cli.conftest import holdfast
from tests.cli.running import Run
from tests.cli.samples import COUNTER
from tests.reports.verbs import FILES, folder, told

__all__ = ["folder", "holdfast"]

# Ended early ---------------------------------------------------------------------------------------------------------


def test_an_interrupted_verification_is_reported(holdfast: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an interrupt the questions that were not asked are open."""

    def interrupted(_: Path, jobs: Sequence[VerifyJob], *__: object, **___: object) -> Iterator[JobResult]:
        yield JobResult(jobs[0], Opinion("tiny: exhausted, 6 states"), 0.1)
        raise KeyboardInterrupt

    Path("models").mkdir()
    Path("models/counter.py").write_text(COUNTER)
    monkeypatch.setattr("holdfast.cli.verify.run_all", interrupted)
    ran, files = told(holdfast, "verify", "--only", "check")
    assert (ran.code, list(files.cases.values())) == (20, ["passed", "unanswered"])


def test_interrupted_trials_are_reported(holdfast: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an interrupt the report has the mutants tried so far, and the others as unanswered."""
    kept: list[MutantFacts] = []
    # A shell that runs the tests in the background makes them ignore Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt(_log: MutationLog, _target: str, _stamp: str, facts: MutantFacts) -> None:
        kept.append(facts)
        if len(kept) == 2:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(MutationLog, "keep", interrupt)
    ran, files = told(holdfast, "mutate", "two.py")
    signal.signal(signal.SIGINT, before)
    assert ran.code == 20
    assert files.cases["without TP-01"] == "passed"
    assert files.cases["without TP-05"] == "unanswered"


# What is refused, and what is not written ----------------------------------------------------------------------------

QUICKLY = {
    "prove": "prove two.py",
    "depth": "prove two.py --depth 5",
    "ablate": "prove two.py --ablate",
    "mutate": "mutate two.py",
    "live": "live lease.py",
    "tlc": "tlc counter.py",
    "verify": "verify --only check",
}


@pytest.mark.parametrize("name", QUICKLY)
def test_wrong_arguments_come_first(holdfast: Run, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A report that cannot be written, and two reports on standard output, are refused before the command starts."""
    Path("models").mkdir()
    Path("models/counter.py").write_text(COUNTER)
    monkeypatch.setattr("holdfast.cli.output.Ticker.__enter__", None)
    argv = QUICKLY[name].split()
    problems = {"no/such/r.xml: cannot be written": ("--junit", "no/such/r.xml")}
    if name != "verify":
        problems["choose one"] = ("--json", "--github")
    for problem, options in problems.items():
        ran = holdfast(*argv, *options)
        assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
        assert problem in ran.err


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        ("prove two.py --fragment --sarif r.sarif", "--fragment: --sarif has no effect there; leave it out"),
        ("mutate --guards guards.md --junit r.xml", "--junit: --guards without a model tries nothing; leave it out"),
        ("verify --update --github", "--github: --update pins what is found, and judges nothing; leave it out"),
        ("check counter.py --junit r --sarif r", "--junit and --sarif both name r; give each a file of its own"),
    ],
)
def test_nothing_to_report_is_refused(holdfast: Run, argv: str, problem: str) -> None:
    """An option that would have no effect is an error."""
    Path("models").mkdir()
    Path("models/counter.py").write_text(COUNTER)
    ran = holdfast(*argv.split())
    assert (ran.code, ran.out, ran.err) == (2, "", f"holdfast: {problem}\n")


def test_nothing_is_half_written(holdfast: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong argument, or an error of a renderer, leaves no file behind."""
    assert holdfast("prove", "two.py", "--property", "nothing", *FILES).code == 2
    assert holdfast("live", "counter.py", *FILES).code == 2

    def broken(_: object) -> str:
        raise RuntimeError("broken")

    monkeypatch.setattr(sarif, "render", broken)
    ran = holdfast("live", "lease.py", *FILES)
    assert (ran.code, "internal error" in ran.err) == (1, True)
    assert not list(Path().glob("r.*"))
