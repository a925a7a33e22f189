"""Judging the faults of a small tree: noticed, unnoticed, endless, and noticed only by tests that fail anyway."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import attrs
import pytest

from mutants.draw import FOLDERS, draw
from mutants.faults import PlantedFault, faults_of
from mutants.judge import Judge, Outcome
from mutants.record import CoverageRecord
from mutants.recording import Recording, recorded
from mutants.report import Report, lines
from mutants.run import run

ROOT = Path(__file__).parents[2]
BOTH, SAME, TOTAL = (f"tests/test_toy.py::test_{name}" for name in ("both", "same", "total"))
RECORD = CoverageRecord(
    tests=[BOTH, SAME, TOTAL],
    seconds=[0.0, 0.0, 0.0],
    lines={
        "holdfast/check/both.py": {5: 0b001},
        "holdfast/ir/same.py": {5: 0b010},
        "holdfast/lower/counting.py": dict.fromkeys(range(5, 10), 0b100),
    },
    reads={},
    uses={},
    failed=[],
)


def fault(root: Path, change: str) -> PlantedFault:
    """The fault with that change."""
    folders = FOLDERS
    (found,) = (each for folder in folders for each in faults_of(root, f"holdfast/{folder}") if each.change == change)
    return found


def judged(toy: Path, change: str, scratch: Path, least: float = 30) -> Outcome:
    """The outcome of one fault."""
    scratch.mkdir(exist_ok=True)
    before = {path: path.read_bytes() for path in toy.rglob("*") if path.is_file()}
    outcome = Judge(RECORD, toy, scratch, scratch, least).judge(fault(toy, change))
    assert {path: path.read_bytes() for path in toy.rglob("*") if path.is_file()} == before
    assert [path.name for path in scratch.iterdir()] == ["tool"]
    return outcome


def test_a_fault_is_noticed(toy: Path, tmp_path: Path) -> None:
    """A test that reaches the fault fails; the tree keeps its files, and the copy is removed."""
    outcome = judged(toy, "left == right -> left != right", tmp_path / "scratch")
    assert (outcome.noticed_by, outcome.how, outcome.ran, outcome.reaching) == (SAME, "failed", 1, 1)


def test_a_fault_is_not_noticed(toy: Path, tmp_path: Path) -> None:
    """All tests that reach the fault pass."""
    outcome = judged(toy, "left and right -> left or right", tmp_path / "scratch")
    assert (outcome.noticed_by, outcome.ran, outcome.reaching, outcome.left_out) == (None, 1, 1, 0)


def test_a_loop_that_never_ends_is_noticed(toy: Path, tmp_path: Path) -> None:
    """A test that exceeds its limit notices the fault, and its process is ended."""
    outcome = judged(toy, "limit -= 1 -> pass", tmp_path / "scratch", least=1)
    assert (outcome.noticed_by, outcome.how) == (TOTAL, "timed out")


def test_a_fault_that_breaks_the_import_is_noticed(toy: Path, tmp_path: Path) -> None:
    """If no test can be collected, the fault is noticed."""
    (toy / "tests" / "conftest.py").write_text("from holdfast.ir.same import same\nassert same(1, 1)\n")
    outcome = judged(toy, "left == right -> left != right", tmp_path / "scratch")
    assert (Path(outcome.noticed_by or "").name, outcome.how) == ("conftest.py", "not importable")


def test_a_breakdown_of_pytest_notices_nothing(toy: Path, tmp_path: Path) -> None:
    """If pytest itself fails, the fault is not noticed, and the report quotes the end of its output."""
    (toy / "pyproject.toml").write_text("[tool.pytest.ini_options]\naddopts = ['--no-such-option']\n")
    outcome = judged(toy, "left == right -> left != right", tmp_path / "scratch")
    assert outcome.noticed_by is None
    text = "\n".join(lines(Report(1, 1, [outcome], {}, frozenset(), []), toy))
    assert "same.py:5 same: comparison negated: not judged: pytest ended with 4: " in text


def test_a_process_that_crashes_at_its_end_notices_the_fault(toy: Path, tmp_path: Path) -> None:
    """If the tests pass and the process crashes at its end, the last test has noticed the fault."""
    change = "left and right -> left or right"
    (toy / "tests" / "conftest.py").write_text(
        "import os\n\nfrom holdfast.check.both import both\n\n\ndef pytest_unconfigure():\n"
        "    if both(True, False):\n        os.abort()\n"
    )
    outcome = judged(toy, change, tmp_path / "scratch")
    assert (outcome.noticed_by, outcome.how, outcome.ran) == (BOTH, "crashed after", 1)


def test_a_line_that_no_test_reaches(toy: Path, tmp_path: Path) -> None:
    """If no test reaches the line, no test runs, and the report says so."""
    outcome = judged(toy, "left == 5 -> left != 5", tmp_path / "scratch")
    assert (outcome.noticed_by, outcome.ran, outcome.reaching) == (None, 0, 0)
    text = "\n".join(lines(Report(1, 1, [outcome], {}, frozenset(), []), toy))
    assert "same.py:9 forgotten: comparison negated: no recorded test reaches it" in text


def test_a_run_ends_with_faults_that_break_imports(toy: Path, tmp_path: Path) -> None:
    """A test file that cannot be imported is not tried on the tree without faults."""
    broken = attrs.evolve(fault(toy, "left == right -> left != right"), before="def same", after="def other")
    broken = attrs.evolve(broken, start=(toy / broken.file).read_bytes().index(b"def same"))
    found = run(Recording(RECORD, toy, tmp_path), [broken], 1, 60, lambda done, outcome: None)
    assert [(outcome.noticed_by, outcome.how) for outcome in found.ordered] == [("tests/test_toy.py", "not importable")]
    assert found.unsound == frozenset()


def test_a_test_that_fails_anyhow_notices_nothing(toy: Path, tmp_path: Path) -> None:
    """A fault counts as not noticed if only tests notice it that fail without the fault too."""
    (toy / "tests" / "test_toy.py").write_text("def test_same():\n    assert False\n")
    outcome = judged(toy, "left == right -> left != right", tmp_path / "scratch")
    unsound = Judge(RECORD, toy, tmp_path / "again", tmp_path / "again").failing_without([SAME])
    report = Report(1, 1, [outcome], {}, frozenset(unsound), [])
    assert unsound == {SAME}
    assert (report.share([outcome]), report.exit_code) == (0, 10)


def outcome_of(toy: Path, change: str, by: str | None) -> Outcome:
    """An outcome that the test makes up."""
    return Outcome(fault(toy, change), by, "failed" if by else "", 1, 1, 0)


def test_declared_faults_do_not_count(toy: Path) -> None:
    """A declared fault is left out of the share, and shown with its reason; if it is noticed, the report says so."""
    missed, noticed = (
        outcome_of(toy, "left == right -> left != right", None),
        outcome_of(toy, "left and right -> left or right", BOTH),
    )
    known = {missed.fault.identity: "no caller asks", noticed.fault.identity: "wrong"}
    report = Report(1, 2, [missed, noticed], known, frozenset(), [])
    text = "\n".join(lines(report, toy))
    assert report.exit_code == 0
    assert "same.py:5 same: comparison negated: no caller asks" in text
    assert f"both.py: declared, but noticed by {BOTH}: left and right -> left or right" in text
    assert Report(1, 2, [missed, noticed], {}, frozenset(), []).exit_code == 10


def test_a_run_that_is_not_finished_is_no_success(toy: Path) -> None:
    """If time runs out before all faults are judged, the exit code is 20."""
    noticed = outcome_of(toy, "left and right -> left or right", BOTH)
    assert Report(1, 2, [noticed], {}, frozenset(), []).exit_code == 20


def test_who_reaches_what(toy: Path) -> None:
    """Tests reach a line by running it, a file by reading it as text, and a constant by using it."""
    record = CoverageRecord(
        [BOTH, SAME], [2.0, 1.0], {"holdfast/ir/same.py": {5: 1}}, {"holdfast/ir/same.py": 2}, {"X": 1}, []
    )
    inside = fault(toy, "left == right -> left != right")
    assert record.chosen(record.reaching(inside)) == [1, 0]
    outside = next(iter(faults_of(toy, "holdfast/ir")))
    assert outside.at_import == ()
    (toy / "holdfast" / "ir" / "same.py").write_text("X = 1\n")
    (at_import, _) = faults_of(toy, "holdfast/ir")
    assert (at_import.at_import, record.reaching(at_import)) == (("X",), 3)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("X: int = 2", ("X",)),
        ("FIRST, LAST = 1, 5", ("FIRST", "LAST")),
        ("class Problem(Exception):\n    exit_code = 2", ("exit_code",)),
        ("class Table:\n    if f(2):\n        pass", ("Table",)),
    ],
)
def test_who_reaches_a_constant(toy: Path, source: str, names: tuple[str, ...]) -> None:
    """Tests reach a statement that runs at an import by using any name that it defines, or else the class around it."""
    (toy / "holdfast" / "ir" / "same.py").write_text(f"{source}\n")
    record = CoverageRecord([BOTH, SAME], [1.0, 1.0], {}, {}, {names[-1]: 2, "other": 1}, [])
    found = faults_of(toy, "holdfast/ir")
    assert found
    assert {(each.at_import, record.reaching(each)) for each in found} == {(names, 2)}


def test_a_record_is_brought_up_to_date() -> None:
    """Removed tests leave the record, new tests enter it, and all tests keep the lines they reach."""
    lines = {"holdfast/ir/same.py": {1: 0b111, 5: 0b010, 6: 0b101}}
    names = ["tests/a.py::one", "tests/b.py::two", "tests/c.py::three"]
    record = CoverageRecord(names, [1.0, 2.0, 3.0], lines, {"x": 0b110}, {"X": 0b011}, ["tests/b.py::red"])
    fewer = record.without({"tests/b.py"})
    assert fewer == CoverageRecord(
        [names[0], names[2]],
        [1.0, 3.0],
        {"holdfast/ir/same.py": {1: 0b11, 5: 0, 6: 0b11}},
        {"x": 0b10},
        {"X": 0b01},
        [],
    )
    new = CoverageRecord(
        ["tests/b.py::new"], [4.0], {"holdfast/ir/same.py": {5: 1}, "y": {1: 1}}, {"z": 1}, {"X": 1}, []
    )
    assert fewer.with_more(new) == CoverageRecord(
        [names[0], names[2], "tests/b.py::new"],
        [1.0, 3.0, 4.0],
        {"holdfast/ir/same.py": {1: 0b011, 5: 0b100, 6: 0b011}, "y": {1: 0b100}},
        {"x": 0b10, "z": 0b100},
        {"X": 0b101},
        [],
    )


def test_only_changed_tests_are_recorded_again(toy: Path) -> None:
    """New tests are recorded, also in a folder whose name starts with an ignored folder's name (``repo``). If a file of
    the engine changes, all tests are recorded again.
    """
    said: list[str] = []
    first = recorded(toy, 1, said.append).record
    assert recorded(toy, 1, said.append).record == first
    assert len(said) == 1
    file = toy / "tests" / "test_toy.py"
    more = toy / "tests" / "reports" / "test_more.py"
    more.parent.mkdir()
    more.write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    file.unlink()
    again = recorded(toy, 1, said.append).record
    assert [test.replace("test_toy", "reports/test_more") for test in first.tests] == again.tests
    assert again.lines == first.lines
    (more.parent / "golden.txt").write_text("", encoding="utf-8")
    assert recorded(toy, 1, said.append).record.tests == again.tests
    engine = toy / "holdfast" / "ir" / "same.py"
    engine.write_text(engine.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert recorded(toy, 1, said.append).record.tests == again.tests
    assert [line.partition("reach")[0].split("lines ")[1].strip() for line in said] == [
        "all tests",
        "the tests in 2 files",
        "the tests in 1 files",
        "all tests",
    ]


def command(toy: Path, *more: str) -> subprocess.Popen[str]:
    """Run the tool on the small tree."""
    options = ["--root", str(toy), "--faults", "3", "--jobs", "2", *more]
    return subprocess.Popen(
        [sys.executable, "-m", "mutants", *options],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(toy.parent)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell starts background jobs like this: they ignore SIGINT.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_IGN),  # noqa: PLW1509 - there are no threads
    )


@pytest.mark.slow
def test_the_whole_of_it(toy: Path) -> None:
    """The tool records the tests, judges the faults, and lists the faults that no test noticed."""
    process = command(toy, "--json", str(toy.parent / "found.json"))
    out, err = process.communicate(timeout=300)
    assert (process.returncode, "3 of 3 faults judged" in out) == (10, True), err
    assert all(f"{each.file}:{each.lines[0]}" in err for each in draw(toy, 1, 3))
    assert "no recorded test reaches it" in out
    assert (toy.parent / "found.json").is_file()
    assert sorted(path.name for path in toy.iterdir()) == [".mutants", "holdfast", "pyproject.toml", "tests"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_reports_what_it_has(toy: Path, number: int) -> None:
    """Ctrl-C and SIGTERM end the run with 130 and the outcomes so far, and leave no copy behind."""
    process = command(toy)
    assert process.stderr is not None
    for line in process.stderr:
        if "1 of 3" in line:
            process.send_signal(number)
            break
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "of 3 faults judged" in out
    assert sorted(path.name for path in toy.parent.iterdir()) == ["toy"]
