"""The page of guards and the stored results behind it: its text, and the files that are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.check.mutate.guards import format_results, guards_page, read_guards, read_results
from holdfast.ir.errors import UsageError
from tests.check.conftest import Compiled
from tests.check.mutating import lock, mutation

TABLE = """
[[table]]
name = "locks.md 3"
title = "Locks"

[[table.guard]]
id = "G-01"
guard = "one enters | at a time"
protects = "LS-10"
home = "lock"
mutants = ["lock:LS-01", "lock:LS-02"]

[[table.guard]]
id = "G-02"
guard = "crashed nodes"
protects = "LS-10"
home = "crash"
missing = "nodes that crash"

[[table.guard]]
id = "G-03"
guard = "later"
protects = "LS-11"
home = "later"
mutants = ["later:LS-01"]
"""


@pytest.fixture
def stored(compiled: Compiled, tmp_path: Path) -> dict[str, Any]:
    """The lock's results, read back from their file."""
    path = tmp_path / "mutants.json"
    path.write_text(format_results({}, [mutation(compiled(lock())).report()]))
    return read_results(path)


def test_a_row_says_what_was_found(tmp_path: Path, stored: dict[str, Any]) -> None:
    """Killed, redundant, untried and unmodelled rows each have a command that shows them, and the counts are right."""
    (tmp_path / "guards.toml").write_text(TABLE)
    page = guards_page(read_guards(tmp_path / "guards.toml"), stored, str).splitlines()
    rows = [line for line in page if line.startswith("| G-")]

    assert rows == [
        (
            "| G-01 | one enters \\| at a time | LS-10 | `lock` LS-01: **killed** by asked_first (LS-11) in 1 step<br>"
            "`lock` LS-02: **redundant** without LS-03 too: alone (LS-10) in 4 steps "
            "| `holdfast check lock --scope tiny --without LS-01`<br>"
            "`holdfast check lock --scope tiny --without LS-02 --without LS-03` |"
        ),
        "| G-02 | crashed nodes | LS-10 | not modelled yet (crash): nodes that crash |  |",
        "| G-03 | later | LS-11 | `later` LS-01: not tried yet | `holdfast mutate later` |",
    ]
    assert "3 guards: 1 killed, 1 not modelled yet, 1 not tried yet." in page


def test_each_way_has_its_words(tmp_path: Path, stored: dict[str, Any]) -> None:
    """A lost witness, an equal graph, liveness, missing state and a sound variant each have their own wording."""
    names = ["LS-08", "LS-05", "LS-06", "LS-07", "kept", "greedy"]
    text = TABLE.replace('["lock:LS-01", "lock:LS-02"]', str([f"lock:{name}" for name in names]))
    (tmp_path / "guards.toml").write_text(text)
    page = guards_page(read_guards(tmp_path / "guards.toml"), stored, str)
    [row] = [line for line in page.splitlines() if "G-01" in line]

    assert row.split(" | ")[3].split("<br>") == [
        "`lock` LS-08: **killed**: busy is not reached",
        "`lock` LS-05: **equivalent**: who is inside has asked",
        "`lock` LS-06: **liveness** by over (LV-02) in 3 steps",
        "`lock` LS-07: **missing**: nodes that crash",
        "`lock` kept: **sound**: the next turn needs no question",
        "`lock` greedy: **killed** by alone (LS-10) in 4 steps",
    ]
    assert "`holdfast check lock --scope tiny --variant greedy`" in row
    assert "`holdfast live lock --scope tiny --without LS-06`" in row


def test_results_of_other_models_stay(compiled: Compiled, stored: dict[str, Any], tmp_path: Path) -> None:
    """A report replaces its model's earlier results, and keeps the results of other models."""
    report = mutation(compiled(lock())).report()
    text = format_results({"other": stored["lock"], **stored}, [report])
    (tmp_path / "again.json").write_text(text)

    assert read_results(tmp_path / "again.json") == {"lock": stored["lock"], "other": stored["lock"]}
    assert text.count("\n") == 2 * (len(stored["lock"]["mutants"]) + 2) + 2


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[[table]]", "[[tables]]", "is no list of guards"),
        ('id = "G-01"\n', "", "is no list of guards"),
        ('id = "G-01"', "id = 1", "is no list of guards"),
        ('id = "G-02"', 'id = "G-01"', "G-01 stands there twice"),
        ('missing = "nodes that crash"', "", "G-02 has both mutants and missing, or none of them; give one"),
        ('mutants = ["later:LS-01"]', 'mutants = ["LS-01"]', "G-03: 'LS-01' names no mutant; write MODEL:MUTANT"),
        ('protects = "LS-11"', 'protects = "LS-11"\ncolour = "red"', "is no list of guards"),
        ("[[table]]", "][", "is no list of guards"),
    ],
)
def test_a_list_of_guards_that_is_wrong(tmp_path: Path, old: str, new: str, said: str) -> None:
    """The error is one line that names the file, the row and the problem."""
    path = tmp_path / "guards.toml"
    path.write_text(TABLE.replace(old, new))
    with pytest.raises(UsageError) as refused:
        read_guards(path)

    assert said in str(refused.value)
    assert "guards.toml" in str(refused.value)


def test_a_mutant_that_the_model_lacks(tmp_path: Path, stored: dict[str, Any]) -> None:
    """A row that names a removed rule is an error, not an empty cell."""
    (tmp_path / "guards.toml").write_text(TABLE.replace("lock:LS-01", "lock:LS-77"))
    with pytest.raises(UsageError, match="G-01: lock has no mutant 'LS-77' among its results"):
        guards_page(read_guards(tmp_path / "guards.toml"), stored, str)


@pytest.mark.parametrize(
    ("old", "new"), [('"steps": 1', '"steps": 2'), ('"tiny"', '"huge"'), ('"digest": "', '"digest": "0')]
)
def test_results_that_were_altered(tmp_path: Path, stored: dict[str, Any], old: str, new: str) -> None:
    """Stored results in which somebody has changed a value are refused with the model's name."""
    path = tmp_path / "mutants.json"
    text = format_results(stored, [])
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(UsageError, match=r"holds no results of mutants \(lock: its digest does not fit its content"):
        read_results(path)


@pytest.mark.parametrize("text", ["", "[]", "3", '{"lock": 3}', '{"lock": {"fingerprint": "f", "mutants": [{}]}}'])
def test_results_that_are_none(tmp_path: Path, text: str) -> None:
    """A file without results gives one line with the remedy; a missing file counts as empty."""
    (tmp_path / "mutants.json").write_text(text)
    with pytest.raises(UsageError, match="holds no results of mutants"):
        read_results(tmp_path / "mutants.json")
    assert read_results(tmp_path / "nothing.json") == {}
