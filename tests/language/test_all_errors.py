"""A message tells all errors of a model. ``test_following_errors.py`` tests the errors that it leaves out."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from holdfast.cli.app import main
from holdfast.ir.compile import compile_model
from holdfast.ir.errors import MOST_TOLD, ModelError, ModelErrors
from holdfast.ir.load import load_model
from holdfast.pytest import properties
from holdfast.testing import state_machine
from tests.language.cases import Case, read_cases
from tests.language.writing import errors_of

FIVE = """
from __future__ import annotations

from holdfast.lang import Map, Model, Nat, Scope, Sort, action, init, invariant


class Node(Sort): ...


class Epoch(Nat): ...


class Lock(Model):
    waiting: list[Node]
    holder: Node | None
    clock: Epoch

    tiny = Scope({Node: 2, Epoch: 300})

    @init
    def start_lock(self) -> None:
        self.holder = None
        self.clock = Epoch(0)

    @action
    def grab(self, n: Node) -> None:
        while self.holder is None:
            self.holder = n

    @action
    def wait(self, n: Node) -> None:
        self.waiting.append(n)

    @action
    def release(self) -> None:
        self.holder = Nobody

    @action
    def tick(self) -> None:
        self.clock += 1

    @invariant
    def low(self) -> bool:
        return self.clock

    @invariant
    def fine(self) -> bool:
        return self.clock >= 0
"""

TOLD = ["lock.py:13:14: ", "lock.py:17:5: ", "lock.py:26:9: ", "lock.py:35:23: ", "lock.py:42:5: "]
"""The places of the errors of ``FIVE``. ``wait`` mentions a refused field, so it is not judged."""

SECOND = """
    @action
    def second_mistake(self) -> None:
        while self.clock == 0:
            pass
"""

ALONE = {
    "a syntax error": "Python cannot read the file",
    "an exception on import": "nothing is compiled",
    "an exit on import": "nothing is compiled",
    "a decorated class": "the class is not what its text says",
    "a base that is no model": "the class is not what its text says",
    "a class defined twice": "there are two classes to read",
    "a class inside a function": "there is no class to read",
}
"""Cases of a refusal that ends the compilation, each with the reason."""

BELOW = {"a method that is assigned from outside", "an inherited method that is replaced from outside"}
BELOW |= {"a method that another one of the same line has replaced"}
"""Cases with statements below the class, so that no method can be added at the end."""

LATER = {"a bound exceeded at the start", "a computed value beyond a bound at the start", "no initial state"}
"""Cases of an error that is found when the compiled model is run."""


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file with five mistakes, in the working directory."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "lock.py"
    path.write_text(FIVE[1:])
    return path


@pytest.mark.parametrize("verb", ["check", "walk", "live", "prove", "tla", "mutate"])
def test_every_verb_tells_all_errors(verb: str, lock: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each error, with its place, in the order of the source."""
    assert main([verb, lock.name]) == ModelError.exit_code

    shown = capsys.readouterr()
    lines = shown.err.splitlines()
    assert shown.out == ""
    assert len(lines) == len(TOLD), shown.err
    for line, place in zip(lines, TOLD, strict=True):
        assert line.startswith(f"holdfast: {place}")
        assert "; " in line


def test_a_library_gets_all_errors(lock: Path) -> None:
    """The error of a library call holds those of all places; its own parts are those of the first."""
    model = load_model(lock.name)
    for use in (compile_model, properties, lambda model: state_machine(model, "tiny")):
        with pytest.raises(ModelErrors) as refused:
            use(model)
        error = refused.value
        assert [f"{each.place}: " for each in error.errors] == TOLD
        assert str(error).splitlines() == [str(each) for each in error.errors] == list(error.lines)
        assert (error.place, error.construct) == (error.errors[0].place, error.errors[0].construct)


def test_errors_travel_between_processes(lock: Path) -> None:
    """An error, and an error of several places, is the same after pickling."""
    with pytest.raises(ModelErrors) as refused:
        compile_model(load_model(lock.name))
    for error in (refused.value, refused.value.errors[1]):
        again = pickle.loads(pickle.dumps(error))  # noqa: S301 - made here
        assert (type(again), str(again), again.place) == (type(error), str(error), error.place)
        assert [str(each) for each in again.errors] == [str(each) for each in error.errors]


@pytest.mark.parametrize(("count", "last"), [(20, None), (21, "1 more error"), (25, "5 more errors")])
def test_twenty_errors_are_told(
    count: int, last: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """More errors than that are counted in a last line."""
    monkeypatch.chdir(tmp_path)
    body = "".join(f"    @action\n    def a{number}(self) -> None:\n        assert True\n" for number in range(count))
    Path("many.py").write_text(
        f"from holdfast.lang import Model, action, init\n\n\nclass Many(Model):\n{body}"
        "    @init\n    def begin(self) -> None:\n        pass\n"
    )
    assert main(["check", "many.py"]) == ModelError.exit_code

    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == (MOST_TOLD if last is None else MOST_TOLD + 1)
    assert "an assert says nothing" in lines[MOST_TOLD - 1]
    if last is not None:
        assert lines[-1] == f"holdfast: many.py: {last}; mend these first"


CASES = [case for case in read_cases("refusals") if case.title not in BELOW]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_refusal_hides_another(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each refusal is told together with that of a second mistake in a method, and they bring no third one."""
    monkeypatch.chdir(tmp_path)
    told = errors_of(tmp_path, case.source if case.title in ALONE else case.source.rstrip() + "\n" + SECOND)

    line = len(case.source.rstrip().splitlines()) + 5
    second = [text for text in told if text.startswith(f"model.py:{line}:9: while self.clock == 0: pass: ")]
    rest = [text for text in told if text not in second]
    if case.title in ALONE:
        assert told == [case.message]
    elif case.title in LATER or case.file == "outcomes":
        # Outcomes name rules and properties, of which the refused method may have some.
        assert len(second) == 1
        assert rest in ([], [case.message])
    else:
        # The suggestion may name the action that is added.
        assert [text.split("; ")[0] for text in rest] == [case.message.split("; ")[0]]
        assert len(second) == 1
