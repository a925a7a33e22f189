"""The benchmark's model in C has the states and steps of the model, and checks its properties."""

from __future__ import annotations

import shutil
from pathlib import Path

import attrs
import pytest

from benchmarks import engines, native
from benchmarks.programs import AbsentProgram
from holdfast.ir.system import Scope, System

needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, native.COMPILERS)), reason="takeover.c needs gcc or clang on PATH"
)

GUARDS = {
    "handles_are_current": ("(epoch == open_sent ? owner == n + 1 : !opened)", "1"),
    "closes_follow_opens": ("EPOCH_BITS, epoch));", "EPOCH_BITS, EPOCH));"),
    "epochs_grow": ("open_sent > 0 && epoch <= open_sent", "open_sent > 0"),
    "one_writer": ('fail("violated: handles_are_current")', ";"),
    "opened_has_owner": ("next = set(set(next, OWNER(s), NODE_BITS, n + 1), OPENED", "next = set(next, OPENED"),
}
"""By property: a text of takeover.c and another in its place, with which the property is violated.

The invariants about handles are violated together, so for `one_writer` the check of the other is removed, too.
"""


@pytest.fixture(scope="module")
def model() -> System:
    """The benchmark's model."""
    return engines.system()


def planted(folder: Path, *changes: tuple[str, str]) -> Path:
    """A copy of takeover.c with texts replaced, each of which must be there once."""
    text = native.SOURCE.read_text(encoding="utf-8")
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path = folder / "planted.c"
    path.write_text(text, encoding="utf-8")
    return path


def counts(model: System, scope: Scope, compiler: str) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """States, steps and depth of a scope: as the program in C finds them, and as the interpreter does."""
    model.scopes[scope.name] = scope
    both = native.explore(scope, compiler), engines.explore(model, scope.name, engine="interpreter")
    one, other = ((found.distinct, found.generated, found.depth) for found in both)
    return one, other


@needs_compiler
@pytest.mark.parametrize("nodes", [1, 2, 3])
@pytest.mark.parametrize(("streams", "epoch", "moves"), [(1, 1, 1), (1, 3, 4), (2, 2, 2)])
def test_c_finds_the_states_of_the_interpreter(model: System, nodes: int, streams: int, epoch: int, moves: int) -> None:
    """In scopes of every shape, each compiler's program finds the states, steps and depth of the interpreter."""
    sizes = {"Node": nodes, "Stream": streams, "Epoch": epoch}
    scope = attrs.evolve(model.scopes["small"], name="any", sizes=sizes, budgets={"move": moves})
    for compiler in native.compilers():
        found, expected = counts(model, scope, compiler)
        assert found == expected


@needs_compiler
def test_c_finds_the_states_of_two_words(model: System) -> None:
    """A state that takes two words is compared as a whole."""
    for compiler in native.compilers():
        found, expected = counts(model, model.scopes["wide"], compiler)
        assert found == expected == (6_321, 26_381, 14)


@needs_compiler
def test_c_compares_whole_states(model: System, tmp_path: Path) -> None:
    """Where all states have one hash, none is lost. A comparison of the first word alone would lose some."""
    one_hash = ("return (mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9ull", "return mixed * 0")
    first_word = ("table[place] != found[i]", "(uint64_t)table[place] != (uint64_t)found[i]")
    wide, compiler = model.scopes["wide"], native.compilers()[0]
    assert native.explore(wide, compiler, source=planted(tmp_path, one_hash)).distinct == 6_321
    assert native.explore(wide, compiler, source=planted(tmp_path, one_hash, first_word)).distinct < 6_321


@needs_compiler
@pytest.mark.parametrize("name", GUARDS)
def test_c_checks_each_property(model: System, tmp_path: Path, name: str) -> None:
    """With a guard removed or an effect changed, the program ends with the violated property."""
    changes = [GUARDS[name]]
    if name == "one_writer":
        changes.append(GUARDS["handles_are_current"])
    source = planted(tmp_path, *changes)
    with pytest.raises(RuntimeError, match=f"\\(search scope small\\) ended with 1; it printed: violated: {name}"):
        native.explore(model.scopes["small"], native.compilers()[0], source=source)


@needs_compiler
def test_a_scope_that_is_too_large_is_refused(model: System) -> None:
    """The source does not compile for a state of more than 127 bits, and the error says so."""
    scope = attrs.evolve(model.scopes["small"], sizes={"Node": 8, "Stream": 3, "Epoch": 3})
    with pytest.raises(RuntimeError, match="a state must fit into 127 bits"):
        native.explore(scope, native.compilers()[0])


def test_without_a_compiler_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """No compiler on PATH is no failure, and the message names the remedy."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(AbsentProgram, match=r"no C compiler on PATH \(gcc or clang\); install gcc"):
        native.compilers()
