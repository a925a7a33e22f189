"""Proofs with one lemma left out: the properties that fail, the suggested replacement, and the stored rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from holdfast.check.budget import Budget
from holdfast.check.prove import ablation
from holdfast.check.prove.ablation import Ablation, Ablations, ablations, format_ablations, read_ablations, stored_form
from holdfast.check.prove.engine import prove
from holdfast.check.worker_pool import WorkerPool
from holdfast.ir.compile import compile_model
from holdfast.ir.errors import UsageError
from holdfast.ir.load import load_with_lemmas
from holdfast.ir.system import System
from tests.prove.conftest import Compiled, example
from tests.prove.samples import LOCK

ROOT = Path(__file__).parents[2]

STORED = read_ablations(ROOT / "models" / "lemmas.json")

EMPTY = "@lemma\ndef free_is_empty(self) -> bool:\n    return not self.free or not any(self.inside[n] for n in Node)\n"

IDLE = "@lemma\ndef again(self) -> bool:\n    return count(self.inside[n] for n in Node) <= 2\n"


def rows(system: System, **options: object) -> list[Ablation]:
    """For each lemma, the result of the proof without it."""
    found = list(ablations(system, target="x.py", cores=0, **options))
    assert not any(isinstance(row, str) for row in found)
    return [row for row in found if not isinstance(row, str)]


def with_lemmas(name: str) -> System:
    """A model of the repository with its lemmas."""
    return compile_model(load_with_lemmas(name).model)


def test_a_needed_lemma_is_missed_and_restored(compiled: Compiled) -> None:
    """Without its one lemma a lock's invariant breaks in two nodes, and a suggested clause replaces the lemma."""
    (row,) = rows(compiled(LOCK + EMPTY))
    assert (row.lemma, row.ends, row.name, row.action) == ("free_is_empty", "missed", "one_inside", "enter")
    assert (dict(row.sizes), row.restored) == ({"Node": 2}, True)
    (clause,) = row.clauses
    lemma = f"@lemma\ndef suggested(self) -> bool:\n    return {clause}\n"
    assert prove(compiled(LOCK + lemma), cores=0, searched=False).verdict == "proved"


def test_without_suggestions_nobody_looks_for_clauses(compiled: Compiled) -> None:
    """The row has the first broken property and its sizes, and says that no clause was looked for."""
    (row,) = rows(compiled(LOCK + EMPTY))
    assert rows(compiled(LOCK + EMPTY), suggest=False) == [attrs.evolve(row, clauses=(), restored=None)]


def test_an_idle_lemma_is_told(compiled: Compiled) -> None:
    """A lemma without which everything is proved is idle, and the exit code is 10."""
    found = rows(compiled(LOCK + EMPTY + IDLE))
    assert [(row.lemma, row.ends) for row in found] == [("free_is_empty", "missed"), ("again", "idle")]
    assert Ablations("Lock", "lock", "00", tuple(found)).exit_code == 10
    assert Ablations("Lock", "lock", "00", tuple(found[:1])).exit_code == 0
    assert Ablations("Lock", "lock", "00", tuple(found[:1]), "interrupted").exit_code == 20


def test_what_is_not_proved_misses_nothing(compiled: Compiled) -> None:
    """If a proof fails with all lemmas, it says nothing about any lemma."""
    with pytest.raises(UsageError, match=r"^x.py is not proved as it is; `holdfast prove x.py` says what is missing$"):
        rows(compiled(LOCK))


def test_a_limit_ends_the_trials(compiled: Compiled) -> None:
    """A time limit is reported, and no row is made up."""
    found = list(ablations(compiled(LOCK + EMPTY), target="x.py", cores=0, budget=Budget(seconds=1e-9)))
    assert found == ["time: more than 1e-09 s"]


def test_lemmas_left_out_side_by_side_end_as_one_after_the_other(
    compiled: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes give the rows of one, in the order of the source."""
    system = compiled(LOCK + EMPTY + IDLE)
    begun: list[int] = []
    monkeypatch.setattr(ablation, "WorkerPool", lambda count, *args: (begun.append(count), WorkerPool(count, *args))[1])
    found = list(ablations(system, target="x.py", cores=2))
    assert begun == [2]
    assert found == rows(system)
    assert [row.lemma for row in found if not isinstance(row, str)] == ["free_is_empty", "again"]


def test_time_that_is_up_ends_lemmas_side_by_side(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a process has no time left for the first lemma, the limit is the only item."""

    def out_of_time(count: int, prepare: Callable[[Any], None], payload: Any) -> WorkerPool:
        return WorkerPool(count, prepare, attrs.evolve(payload, budget=Budget(seconds=1e-9)))

    monkeypatch.setattr(ablation, "WorkerPool", out_of_time)
    assert list(ablations(compiled(LOCK + EMPTY + IDLE), target="x.py", cores=2)) == ["time: more than 1e-09 s"]


def test_ctrl_c_ends_lemmas_side_by_side(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last item says that the ablation was interrupted."""

    class InterruptedPool(WorkerPool):
        def in_order(self, *_: object) -> object:  # type: ignore[override]
            raise KeyboardInterrupt

    monkeypatch.setattr(ablation, "WorkerPool", InterruptedPool)
    assert list(ablations(compiled(LOCK + EMPTY + IDLE), target="x.py", cores=2)) == ["interrupted"]


def test_rows_are_stored_beside_those_of_other_models(tmp_path: Path) -> None:
    """Stored rows are read back. New rows of a model replace its earlier rows and no others."""
    path = tmp_path / "lemmas.json"
    one = Ablations("One", "one", "aa", (Ablation("l", "missed", "p", "a", (("Node", 2),), ("c",), restored=True),))
    other = Ablations("Other", "other", "bb", ())
    path.write_text(format_ablations({}, [other, one]))
    stored = read_ablations(path)
    assert stored == {"one": stored_form(one), "other": stored_form(other)}
    newer = attrs.evolve(one, fingerprint="cc", rows=())
    assert json.loads(format_ablations(stored, [newer])) == {"one": stored_form(newer), "other": stored_form(other)}


@pytest.mark.parametrize("text", ["", "[]", '{"one": {}}', '{"one": {"fingerprint": "aa", "lemmas": [3]}}', "\0" * 9])
def test_a_file_of_something_else_is_refused(tmp_path: Path, text: str) -> None:
    """A file of another kind is refused in one line, with the file and the remedy."""
    path = tmp_path / "lemmas.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"lemmas.json: holds no lemmas \(.*\); remove it"):
        read_ablations(path)


# What is stored of the models ------------------------------------------------------------------------------------


def test_every_lemma_of_the_examples_is_missed() -> None:
    """In the documentation's examples no lemma is idle."""
    found = rows(example("two_phase_commit"))
    assert {row.ends for row in found} == {"missed"}
    assert sum(row.restored for row in found) * 2 >= len(found)


def test_the_list_has_every_model_with_lemmas() -> None:
    """A model whose lemmas were never left out would pass the other tests of the list unseen."""
    assert set(STORED) == {path.stem.removesuffix("_proof") for path in (ROOT / "models").glob("*_proof.py")}


@pytest.mark.parametrize("name", sorted(STORED))
def test_the_list_is_of_the_models_as_they_are(name: str) -> None:
    """The stored list has every lemma with an outcome, and where the outcome is missed, the property and the sizes."""
    system, stored = with_lemmas(name), STORED[name]["lemmas"]
    renew = f"renew it with `holdfast prove {name} --ablate --update`"
    assert STORED[name]["fingerprint"] == system.fingerprint, renew
    assert [row["lemma"] for row in stored] == [prop.name for prop in system.of_kind("lemma")], renew
    for row in stored:
        assert row["ends"] in {"missed", "idle"}, renew
        assert (row["ends"] == "missed") == bool(row["name"]) == bool(row["action"]) == bool(row["sizes"])
    if name == "ownership":
        # No lemma of ownership is idle, and suggested clauses replace at least half of them.
        assert {row["ends"] for row in stored} == {"missed"}
        assert sum(row["restored"] for row in stored) * 2 >= len(stored)


def test_a_row_of_the_list_is_found_again() -> None:
    """Leaving out one lemma of ownership gives its stored row: the same failed properties, in the same sizes."""
    system, lemma = with_lemmas("ownership"), "covered_below_end"
    lacking = attrs.evolve(system, properties=tuple(prop for prop in system.properties if prop.name != lemma))
    result = prove(lacking, cores=0, searched=False, sane=False, suggest=False)
    assert result.exit_code == 20
    first = next(proof for proof in result.properties if proof.counterexample is not None)
    found = first.counterexample
    assert found is not None
    stored = next(each for each in STORED["ownership"]["lemmas"] if each["lemma"] == lemma)
    assert (stored["name"], stored["action"]) == (first.claim.name, found.action)
    assert stored["sizes"] == dict(found.sizes)


SMALL = ("controller_tables", "kip_236", "replica_reassignment")
"""The models whose lists take seconds. The others take minutes each: `holdfast prove --ablate --update` renews them."""


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_the_whole_list_is_found_again(name: str) -> None:
    """Every stored row equals the current result. Clauses are looked for where the list has some."""
    system = with_lemmas(name)
    suggest = any(row["clauses"] for row in STORED[name]["lemmas"])
    found = Ablations(system.name, name, system.fingerprint, tuple(rows(system, suggest=suggest)))
    assert stored_form(found) == STORED[name]
