"""A checkpoint belongs to its question: after an edit that can change the answer, resuming is refused and names it."""

from __future__ import annotations

import random
from pathlib import Path

import attrs
import numpy as np
import pytest

from holdfast.check.budget import Budget
from holdfast.check.result import to_json
from holdfast.check.search import checkpoint
from holdfast.check.search.checkpoint import read_checkpoint
from holdfast.check.search.engine import search
from holdfast.check.search.kernel_search import SUMMED, KernelSearch
from holdfast.ir.errors import UsageError
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import Scope, System
from tests.check.conftest import Compiled
from tests.kernel.plain import use_python

FLIPS = 200

BUDGETED = """
a: N
gone: N
gone_by: Rel[Node]
open_to: Map[Node, bool]
seen: Ghost[bool]
tiny = Scope({N: 7, Node: 2}, budgets={"go": 2}, given={"open_to": (True, False)})
@init
def begin(self) -> None:
    self.a = N(0)
    self.gone = N(0)
    self.gone_by.fill(False)
    self.seen = False
@action(idempotent="CK-09")
def stay(self) -> None:
    self.a = self.a
@action
def go(self, n: Node) -> None:
    require(self.open_to[n], "CK-01")
    self.gone = self.gone + 1
    self.gone_by[n] = True
    self.seen = True
@action
def tick(self) -> None:
    self.a = self.a + 1
@invariant
def few(self) -> bool:
    \"\"\"CK-02. At most two go.\"\"\"
    return self.gone < N(3)
@invariant
def counted(self) -> bool:
    \"\"\"CK-03. What is seen is counted.\"\"\"
    return self.gone > N(0) or not self.seen
@final
def over(self) -> bool:
    return self.a == N(7)
"""


@pytest.fixture(autouse=True)
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels run in Python here, which needs no compile time."""
    use_python(monkeypatch)


@pytest.fixture
def system(compiled: Compiled) -> System:
    """A model whose third ``go`` would violate a property, and whose budget allows two."""
    return compiled(BUDGETED)


def edited(system: System, **changes: object) -> System:
    """The model after an edit of its scope."""
    return attrs.evolve(system, scopes={"tiny": attrs.evolve(system.scopes["tiny"], **changes)})


def kept(system: System, file: Path, **options: object) -> None:
    """A search that is stopped after a few states, with its checkpoint in the file."""
    search(system, system.scopes["tiny"], checkpoint=file, budget=Budget(states=5), **options)


def refusal(system: System, file: Path, **options: object) -> str:
    """The error with which a search refuses to resume from the file."""
    with pytest.raises(UsageError) as refused:
        search(system, system.scopes["tiny"], resume_from=file, **options)
    return str(refused.value)


@pytest.mark.parametrize(
    ("named", "changes"),
    [
        ("budgets", {"budgets": {"go": 3}}),
        ("budgets", {"budgets": {}}),
        ("given", {"given": {"open_to": (True, True)}}),
        ("sizes", {"sizes": {"N": 8, "Node": 2}}),
        ("scope", {"name": "small"}),
    ],
    ids=["a larger budget", "no budget", "another given", "another size", "another name"],
)
def test_an_edited_scope_is_refused(system: System, tmp_path: Path, named: str, changes: dict[str, object]) -> None:
    """Resuming would miss what the old scope excluded, such as a violation after three steps."""
    kept(system, tmp_path / "search")
    assert f"belongs to another search: its {named} is " in refusal(edited(system, **changes), tmp_path / "search")


def test_a_finished_search_is_none_of_a_larger_budget(system: System, tmp_path: Path) -> None:
    """The checkpoint of an exhausted search is refused for a larger budget, under which there is a violation."""
    file = tmp_path / "search"
    assert search(system, system.scopes["tiny"], checkpoint=file).verdict == "exhausted"
    kept(system, file)
    larger = edited(system, budgets={"go": 3})
    assert search(larger, larger.scopes["tiny"]).findings[0].shown.name == "few"
    assert "its budgets is {'go': 2}, here it is {'go': 3}" in refusal(larger, file)


@pytest.mark.parametrize(
    ("named", "options"),
    [
        ("properties", {"properties": ["few"]}),
        ("idempotent", {"properties": ["few", "counted", "deadlock"]}),
        ("deadlock", {"properties": ["few", "counted", "CK-09"]}),
        ("symmetry", {"symmetry": False}),
        ("keep_going", {"keep_going": True}),
    ],
    ids=["one property", "no idempotence", "no deadlock", "no symmetry", "keep going"],
)
def test_another_question_is_refused(system: System, tmp_path: Path, named: str, options: dict[str, object]) -> None:
    """The stored states were not checked for other options, so resuming with them is refused."""
    alike = edited(system, given={"open_to": (True, True)})
    kept(alike, tmp_path / "search")
    assert f"belongs to another search: its {named} is " in refusal(alike, tmp_path / "search", **options)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return self.gone < N(3)", "return self.gone < N(2)"),
        ('require(self.open_to[n], "CK-01")', 'require(not self.open_to[n], "CK-01")'),
        ("return self.a == N(7)", "return self.a == N(6)"),
        ('@action(idempotent="CK-09")', "@action"),
    ],
    ids=["an invariant", "a guard", "a final", "an idempotence"],
)
def test_an_edited_model_is_refused(compiled: Compiled, tmp_path: Path, old: str, new: str) -> None:
    """A property, rule, final state or idempotence claim is part of the model's fingerprint."""
    kept(compiled(BUDGETED), tmp_path / "search")
    assert BUDGETED.count(old) == 1
    assert "its fingerprint is " in refusal(compiled(BUDGETED.replace(old, new)), tmp_path / "search")


def test_a_removed_rule_is_refused(system: System, tmp_path: Path) -> None:
    """The model without a rule is another model."""
    kept(system, tmp_path / "search")
    assert "its fingerprint is " in refusal(remove_rules(system, ["CK-01"]), tmp_path / "search")


def test_another_version_of_holdfast_is_refused(
    system: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version of Holdfast may store, cut and check differently."""
    kept(system, tmp_path / "search")
    monkeypatch.setattr(checkpoint, "__version__", "0.0.1")
    assert "its holdfast is " in refusal(system, tmp_path / "search")


def test_the_same_search_goes_on(system: System, tmp_path: Path) -> None:
    """A scope written in another order is the same scope."""
    kept(system, tmp_path / "search")
    scope = system.scopes["tiny"]
    turned = Scope("tiny", dict(reversed(scope.sizes.items())), scope.budgets, scope.given, scope.at)
    resumed = search(system, turned, resume_from=tmp_path / "search")
    assert resumed.figures == search(system, scope, engine="kernel").figures


def test_what_was_found_before_is_in_the_answer(system: System, tmp_path: Path) -> None:
    """Violations and witness runs from before the checkpoint are in the resumed answer, as in a single search."""
    wider = edited(system, budgets={"go": 3})
    scope, file = wider.scopes["tiny"], tmp_path / "search.checkpoint"
    begun = search(wider, scope, engine="kernel", keep_going=True, checkpoint=file, budget=Budget(states=30))
    assert begun.ended_by is not None
    assert [trace.shown.name for trace in begun.findings] == ["few"]
    resumed, whole = (
        to_json(search(wider, scope, engine="kernel", keep_going=True, resume_from=resume)) for resume in (file, None)
    )
    del resumed["timing"], whole["timing"]
    assert resumed == whole


# Files that were altered ----------------------------------------------------------------------------------------------


def without_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on, a search that needs a kernel fails the test."""

    def refuse(*_args: object, **_options: object) -> None:
        raise AssertionError("a kernel is made for a file that is refused")

    monkeypatch.setattr(KernelSearch, "__init__", refuse)


@pytest.mark.parametrize("name", ["header", "levels", "states", "pending", *SUMMED])
def test_an_altered_array_is_refused(
    name: str, system: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkpoint in which somebody has changed an array is refused in one line, before a kernel is made."""
    file = tmp_path / "search"
    kept(system, file)
    with np.load(file) as content:
        arrays = {each: content[each] for each in content.files}
    if name == "header":
        arrays[name] = np.array(str(arrays[name]).replace('"depth": 0', '"depth": 1').replace("tiny", "huge"))
    else:
        # Levels of zero states once gave an exhausted search of nothing.
        arrays[name] = np.zeros_like(arrays[name]) if arrays[name].any() else arrays[name] + 1
    with file.open("wb") as out:
        np.savez(out, **arrays)
    without_kernel(monkeypatch)
    assert refusal(system, file) == (
        f"checkpoint {file}: its digest does not fit its content, so it was altered or damaged; start again without "
        "--resume"
    )


def test_a_flipped_bit_is_refused_or_changes_nothing(
    system: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flipped bit anywhere is one line, unless it is none of the content, such as a time in the archive."""
    file = tmp_path / "search"
    kept(system, file)
    whole = file.read_bytes()
    wanted = read_checkpoint(file)
    draws = random.Random(25)
    refused = 0
    without_kernel(monkeypatch)
    for _ in range(FLIPS):
        data = bytearray(whole)
        data[draws.randrange(len(data))] ^= 1 << draws.randrange(8)
        file.write_bytes(data)
        try:
            found = read_checkpoint(file)
        except UsageError:
            refused += 1
        else:
            assert found.header == wanted.header
            assert all((found.arrays[name] == wanted.arrays[name]).all() for name in wanted.arrays)
    assert refused > FLIPS // 2


def test_a_checkpoint_of_an_older_version_says_so(system: System, tmp_path: Path) -> None:
    """A file without a digest is refused by its version, and not as an altered one."""
    file = tmp_path / "search"
    kept(system, file)
    with np.load(file) as content:
        arrays = {each: content[each] for each in content.files if each != "digest"}
    arrays["header"] = np.array(str(arrays["header"]).replace(f'"version": {checkpoint.VERSION}', '"version": 2'))
    with file.open("wb") as out:
        np.savez(out, **arrays)
    assert f"its version is 2, here it is {checkpoint.VERSION}" in refusal(system, file)
