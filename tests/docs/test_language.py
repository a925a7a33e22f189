"""The language reference: all its code compiles, or is refused with the stated message."""

from __future__ import annotations

from pathlib import Path

import pytest
from mypy.api import run as mypy

from tests.docs.fences import ROOT
from tests.docs.fragments import Compiler
from tests.language.writing import disagreement

REFERENCE = ROOT / "docs" / "language.md"

MODEL = """\
```python
from __future__ import annotations
from holdfast.lang import *
class Node(Sort): ...
class Stream(Sort): ...
class Epoch(Nat): ...
class Table(Model):
    up: Rel[Node]
    epoch: Map[Stream, Epoch]
    tiny = Scope({Node: 2, Stream: 1, Epoch: 1})
    @init
    def start_all(self) -> None:
        self.up.fill(True)
        self.epoch.fill(Epoch(0))
```
"""

REFUSED = """
```python
self.up = True
# refused: self.up: up is a map; write self.up.fill(value), or one cell

@invariant
def up_now(self) -> bool:
    return self.down
# refused: self.down: the model has no field down; declare it in the class: `name: Type`
```
"""


def test_the_reference_says_what_the_compiler_says(tmp_path: Path, update_golden: bool) -> None:
    """Each example compiles, or is refused with exactly the stated message."""
    page = REFERENCE.read_text()
    seen = Compiler(tmp_path).follow(page)
    if update_golden:
        REFERENCE.write_text(seen)
    else:
        assert seen.splitlines() == page.splitlines(), "renew it with `pytest tests/docs --update-golden`"


def test_examples_mean_the_same_to_both_executors(tmp_path: Path) -> None:
    """CPython and the interpreter agree on every example: initial states, steps, refusals, cuts and properties."""
    compiler = Compiler(tmp_path)
    compiler.follow(REFERENCE.read_text())
    assert {path.name: found for path, system in compiler.accepted.items() if (found := disagreement(system))} == {}


def test_examples_pass_a_strict_type_checker(tmp_path: Path) -> None:
    """A strict mypy finds nothing in the examples, and finds an error in a wrong example."""
    compiler = Compiler(tmp_path)
    compiler.follow(REFERENCE.read_text())
    wrong = tmp_path / "wrong.py"
    wrong.write_text(compiler.model + "\n    def wrong(self) -> Node:\n        return self.clock\n")
    # A cache of its own, since the options differ from the repository's and would invalidate its cache.
    options = ["--strict", "--config-file=", f"--cache-dir={ROOT / '.mypy_cache' / 'docs'}"]
    report, _, _ = mypy([*options, *map(str, compiler.accepted), str(wrong)])

    [error] = [line for line in report.splitlines() if ": error: " in line]
    assert "wrong.py:" in error, report
    assert len(compiler.accepted) > 10


def test_refusals_are_compared(tmp_path: Path) -> None:
    """A right refusal stays; a wrong one, or one of code that compiles, is replaced by the compiler's answer."""
    page = MODEL + REFUSED
    assert Compiler(tmp_path).follow(page) == page
    (tmp_path / "wrong").mkdir()
    assert Compiler(tmp_path / "wrong").follow(page.replace("up is a map", "up is odd")) == page
    (tmp_path / "fine").mkdir()
    assert "nothing; it compiles" in Compiler(tmp_path / "fine").follow(page.replace("self.up = ", "self.up[n] = "))


@pytest.mark.parametrize(
    "code",
    [
        "self.up[n] = 1",
        "note: Stream | Epoch",
        "class Other(Model): ...",
        "class Gap(Int, lo=1, hi=0): ...\n\n\nclass Wide(Table):\n    gap: Gap",
    ],
)
def test_code_that_should_compile_is_compiled(tmp_path: Path, code: str) -> None:
    """A statement, member or class that is refused without a comment fails the test."""
    with pytest.raises(AssertionError, match="line 17 is refused"):
        Compiler(tmp_path).follow(f"{MODEL}```python\n{code}\n```\n")
