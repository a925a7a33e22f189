"""The benchmark's model in Promela has the states and steps of the model, and Spin checks its properties."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import attrs
import pytest

from benchmarks import engines, native, spin
from benchmarks.programs import AbsentProgram
from benchmarks.scope_search import ScopeSearch
from holdfast.ir.system import System

needs_spin = pytest.mark.skipif(
    shutil.which("spin") is None or not any(map(shutil.which, native.COMPILERS)),
    reason="takeover.pml needs spin, and gcc or clang, on PATH",
)

ARRIVES = ("owner[s] == n) || (epoch[s] != open_sent AT(n, s) && !opened[s]))", "true) || true)")
"""A request to open a stream is accepted although another node has it open."""

CHANGES = {
    "one_writer": ([ARRIVES, ("!EACH_STREAM(HANDLES_ARE_CURRENT) ->", "false ->")], ")<=1)"),
    "handles_are_current": ([ARRIVES], "&&(epoch[0]==handle[((0*3)+2)]))"),
    "opened_has_owner": ([("owner[s] = n; opened[s] = true", "opened[s] = true")], "!(opened[0])||(owner[0]!=3)"),
    "closes_follow_opens": ([("= epoch[s] }", "= EPOCH }")], "(close_sent[((0*3)+2)]<=epoch[0])"),
    "epochs_grow": ([("> 0 && epoch[s] <= open_sent AT(n, s) &&", "> 0 &&")], "(open_sent[((0*3)+0)]>=epoch[0])"),
}
"""By property: texts of takeover.pml with others in their place, by which it is violated, and a part of the message.

The invariants about handles are violated together, so for `one_writer` the check of the other is removed, too.
"""


@pytest.fixture(autouse=True)
def quick_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spin's program is compiled without optimisation, which takes a tenth of the time and changes no count."""
    monkeypatch.setattr(spin, "OPTIONS", ("-O0", *spin.OPTIONS[1:]))


@pytest.fixture(scope="module")
def model() -> System:
    """The benchmark's model."""
    return engines.system()


def planted(folder: Path, *changes: tuple[str, str]) -> Path:
    """A copy of takeover.pml with texts replaced, each of which must be there once."""
    text = spin.SOURCE.read_text(encoding="utf-8")
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path = folder / "planted.pml"
    path.write_text(text, encoding="utf-8")
    return path


@needs_spin
@pytest.mark.parametrize(
    ("nodes", "streams", "epoch", "moves"), [(1, 1, 1, 2), (2, 2, 2, 2), (3, 1, 3, 4), (4, 2, 2, 2)]
)
def test_spin_finds_the_states_of_the_interpreter(
    model: System, nodes: int, streams: int, epoch: int, moves: int
) -> None:
    """For each number that the macros know, Spin finds the states, steps and depth of the interpreter."""
    sizes = {"Node": nodes, "Stream": streams, "Epoch": epoch}
    scope = attrs.evolve(model.scopes["small"], name="any", sizes=sizes, budgets={"move": moves})
    model.scopes["any"] = scope
    both = spin.explore(scope), engines.explore(model, "any", engine="interpreter")
    found, expected = ((each.distinct, each.generated, each.depth) for each in both)
    assert found == expected


@needs_spin
@pytest.mark.parametrize("name", CHANGES)
def test_spin_checks_each_property(model: System, tmp_path: Path, name: str) -> None:
    """With a guard removed or an effect changed, Spin reports the violated property."""
    changes, part = CHANGES[name]
    with pytest.raises(RuntimeError, match=r"in scope small; it printed: assertion violated .*" + re.escape(part)):
        spin.explore(model.scopes["small"], source=planted(tmp_path, *changes))


@needs_spin
def test_a_scope_that_is_too_large_is_refused(model: System) -> None:
    """A scope for which the macros do not suffice is an error that says so, not a search of a part."""
    scope = attrs.evolve(model.scopes["small"], sizes={"Node": 5, "Stream": 1, "Epoch": 2})
    with pytest.raises(RuntimeError, match="4 nodes, 2 streams and 3 epochs at most"):
        spin.explore(scope)


REPORT = """
State-vector 36 byte, depth reached 14, errors: 0
     3637 states, stored
    14350 transitions (= stored+matched)
"""


def test_a_report_of_all_states_is_read(model: System) -> None:
    """States, steps and depth are those of Spin's report."""
    assert spin.read(REPORT, model.scopes["small"], 2.0) == ScopeSearch(3_637, 14_350, 14, 2.0)


@pytest.mark.parametrize(
    ("report", "message"),
    [
        (REPORT.replace("errors: 0", "errors: 1"), "no violation"),
        (REPORT + "Warning: Search not completed\n", "no violation"),
        ("pan:1: assertion violated (x==1) (at depth 3)\n" + REPORT, "assertion violated"),
        ("", "no violation"),
    ],
)
def test_a_report_of_fewer_states_is_an_error(model: System, report: str, message: str) -> None:
    """Counts of a search that ended early are never taken for those of the scope."""
    with pytest.raises(RuntimeError, match=f"Spin did not finish in scope small; it printed: {message}"):
        spin.read(report, model.scopes["small"], 1.0)


def test_without_spin_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """No Spin on PATH is no failure, and the message names the remedy."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(AbsentProgram, match="there is no spin on PATH; install Spin"):
        spin.compiler()
