"""The parts of the benchmark: which are measured, that they do equal work, and that one failure stops no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import commands, engines, gathering
from benchmarks.gathering import Effort, gather, race
from benchmarks.goals import GOALS, readings
from benchmarks.measurements import Measurements
from benchmarks.programs import output
from benchmarks.scope_search import ScopeSearch
from holdfast.ir.errors import UsageError
from holdfast.ir.system import System


def quiet(repeat: int = 1) -> Effort:
    """A small effort that prints nothing."""
    return Effort(repeat, quick=True, say=lambda _: None)


RIGHT = ScopeSearch(10, 30, 4, 2.0)


@pytest.mark.parametrize("wrong", [(11, 30, 4), (10, 31, 4), (10, 30, 5)])
def test_a_checker_that_did_other_work_fails(wrong: tuple[int, int, int]) -> None:
    """Other states, steps or depth than the kernel's are a failure, not a ratio. The others keep their figures."""
    measured = Measurements()
    race(measured, "s", {"one": lambda: RIGHT, "c": lambda: ScopeSearch(*wrong, 0.1), "tlc": lambda: RIGHT}, quiet())
    assert set(measured.values) == {"s.one", "s.tlc"}
    assert measured.blanks["s.c"].reason == f"s.c found (states, steps, depth) {wrong}, and s.one (10, 30, 4)"
    assert not measured.complete


def test_a_faster_wrong_turn_is_seen() -> None:
    """If a checker ends early in one of its turns, that turn is its fastest, and it is compared."""
    turns = iter([RIGHT, ScopeSearch(9, 30, 4, 0.5), RIGHT])
    measured = Measurements()
    race(measured, "s", {"one": lambda: RIGHT, "c": lambda: next(turns)}, quiet(3))
    assert "s.c" in measured.blanks


def test_a_checker_that_fails_stops_no_other() -> None:
    """Also the first checker may fail; then the others have nothing to be compared with, and keep their figures."""

    def broken() -> ScopeSearch:
        raise RuntimeError("it broke")

    measured = Measurements()
    race(measured, "s", {"one": broken, "c": lambda: RIGHT}, quiet(2))
    assert (measured.values, set(measured.blanks)) == ({"s.c": RIGHT}, {"s.one"})


def test_every_goal_is_measured_by_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Together the parts try every measurement that a goal needs. Nothing is run: each attempt is only noted."""
    tried = set()
    monkeypatch.setattr(Measurements, "attempt", lambda _self, name, *_args, **_options: tried.add(name))
    gather(gathering.PARTS.keys(), Effort(1, quick=False, say=lambda _: None))
    assert {name for goal in GOALS for name in goal.needs} <= tried


def test_a_model_that_does_not_compile_is_a_failure_of_each_goal(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the benchmark's model is refused, the table has a failure for each goal of it, and the benchmark goes on."""

    def refused() -> System:
        raise UsageError("it is refused")

    gathering.model.cache_clear()
    monkeypatch.setattr(engines, "system", refused)
    monkeypatch.setattr(gathering, "limits", lambda _: None)
    monkeypatch.setattr(engines, "sampled", lambda *_args, **_options: 1.0)
    measured = gather({"search", "walks"}, Effort(1, quick=False, say=lambda _: None))
    found = {reading.goal.key: reading.outcome for reading in readings(measured)}
    assert {outcome for key, outcome in found.items() if key.startswith(("one_", "two_", "walks"))} == {"failed"}


def test_only_the_chosen_parts_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part that is not chosen is not tried."""
    tried = []
    monkeypatch.setattr(Measurements, "attempt", lambda _self, name, *_args, **_options: tried.append(name))
    gather({"mutate", "check"}, quiet())
    assert tried == ["check.cold", "check.again", "mutate"]


def test_a_command_that_ends_with_an_error_has_no_time() -> None:
    """A command must end with 0. The error has its code and what it printed."""
    with pytest.raises(RuntimeError, match=r"\(check no_such_model\) ended with 2; it printed: .*no_such_model"):
        commands.once(["check", "no_such_model"])


def test_a_proof_without_an_answer_takes_time_too() -> None:
    """A command may be allowed other codes. Proofs are: for some models of the balancer Z3 has no answer."""
    assert commands.once(["prove", "no_such_model"], (0, 2)) > 0
    with pytest.raises(RuntimeError, match="ended with 2"):
        commands.once(["prove", "no_such_model"], (0, 20))


def test_a_command_takes_time() -> None:
    """The seconds of a command that succeeds are returned."""
    assert commands.once(["models"]) > 0


def a_repository(folder: Path, recipe: str) -> Path:
    """A repository whose `make test` runs a line of shell, with a file that was not committed."""
    (folder / "Makefile").write_text(f"test:\n\t@{recipe}\n", encoding="utf-8")
    person = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    for arguments in (("init", "--quiet"), ("add", "Makefile"), (*person, "commit", "--quiet", "--message", "a")):
        output(["git", *arguments], "make a repository", folder=str(folder))
    (folder / "uncommitted").touch()
    return folder


def test_the_fresh_clone_are_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clone has what is committed, an empty cache, and neither search path nor environment of the caller."""
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    monkeypatch.setenv("VIRTUAL_ENV", "elsewhere")
    recipe = 'test ! -e uncommitted -a -z "$$PYTHONPATH$$VIRTUAL_ENV" -a -z "$$(ls $$HOLDFAST_CACHE)"'
    assert commands.fresh_clone(a_repository(tmp_path, recipe)) > 0


def test_tests_that_fail_have_no_time(tmp_path: Path) -> None:
    """If a test of the clone fails, there are no seconds, but an error."""
    with pytest.raises(RuntimeError, match=r"make \(test a fresh clone\) ended with 2; it printed: make.*3"):
        commands.fresh_clone(a_repository(tmp_path, "exit 3"))


@pytest.mark.parametrize(
    ("script", "line"),
    [
        ("echo first; echo last; exit 3", "last"),
        ("echo out; echo why >&2; echo more >&2; exit 3", "why"),
        ("exit 3", "nothing"),
    ],
)
def test_an_error_has_one_line_of_what_was_printed(script: str, line: str) -> None:
    """The first line of stderr counts, or else the last of stdout."""
    with pytest.raises(RuntimeError) as caught:
        output(["sh", "-c", script], "test")
    assert str(caught.value) == f"sh (test) ended with 3; it printed: {line}"
