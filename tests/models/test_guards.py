"""The page of guards: it has every guard of the protocols, with the current results of mutation."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest

from holdfast.check.budget import Budget
from holdfast.check.mutate.engine import Mutation, MutationOptions, fingerprint
from holdfast.check.mutate.guards import (
    GUARDS,
    RESULTS,
    format_results,
    guards_page,
    read_guards,
    read_results,
    stored_rows,
)
from holdfast.check.mutate.limits import MutationLimits
from holdfast.check.rules.book import anchor, read_book
from holdfast.check.rules.page import PAGES, link_ids
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.scopes import usual_scopes
from holdfast.ir.system import System

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "models"
STORED = read_results(MODELS / RESULTS)
CITED = re.compile(r'"([A-Z]+-\w+(?:\.\w+)?)".*# ((?:G-\d+(?:, )?)+)$', re.MULTILINE)
"""A rule of a model with the guards that a comment names beside it."""


def system_of(model: str) -> System:
    """A model of this repository."""
    return compile_model(load_model(str(MODELS / f"{model}.py")))


def test_the_page_is_what_is_generated() -> None:
    """The generated page, from the rows and the stored results, equals the stored page."""
    link = partial(link_ids, book=read_book(MODELS), folder=PAGES)
    page = guards_page(read_guards(MODELS / GUARDS), STORED, link)

    assert (ROOT / "docs" / "guards.md").read_text(encoding="utf-8") == page, (
        "write it anew: holdfast mutate --guards docs/guards.md"
    )


@pytest.mark.parametrize("model", STORED)
def test_results_are_of_the_models_as_they_are(model: str) -> None:
    """Stored results carry the model's current fingerprint, so a changed model has to be tried again."""
    system = system_of(model)
    scopes = [system.scopes[name] for name in STORED[model]["scopes"]]

    assert fingerprint(system, scopes) == STORED[model]["fingerprint"], f"run `holdfast mutate --update {model}`"


@pytest.mark.parametrize("model", STORED)
def test_reasons_are_those_of_the_models(model: str) -> None:
    """Stored reasons equal the models' reasons, since a fingerprint does not cover a reason."""
    declared = system_of(model).outcomes
    for row in STORED[model]["mutants"]:
        # The reason of the rule counts if its place in the action has none.
        name = next((name for name in (row["mutant"], row["mutant"].partition("@")[0]) if name in declared), None)
        if "reason" in row:
            assert name is not None
            assert row["reason"].endswith(declared[name].reason)


def test_guards_are_of_models_that_are_there_or_to_come() -> None:
    """A row's mutants belong to models that exist, and one of them is the guard's home."""
    guards = [guard for table in read_guards(MODELS / GUARDS) for guard in table.guards]
    named = {name.partition(":")[0] for guard in guards for name in guard.mutants}

    assert {name for name in named if not (MODELS / f"{name}.py").exists()} == set()
    assert all(guard.home in [name.partition(":")[0] for name in guard.mutants] for guard in guards if guard.mutants)


def test_rows_that_a_model_cites_are_its_rows() -> None:
    """Where a rule stands beside the id of a guard (``# G-01``), its removal is among that guard's mutants."""
    of_guard = {
        guard.id: {name.partition(":")[2].partition("@")[0] for name in guard.mutants}
        for table in read_guards(MODELS / GUARDS)
        for guard in table.guards
    }
    cited = [
        (label, guard)
        for path in sorted(MODELS.rglob("*.py"))
        for label, guards in CITED.findall(path.read_text(encoding="utf-8"))
        for guard in guards.split(", ")
    ]

    assert [(label, guard) for label, guard in cited if label not in of_guard[guard]] == []
    assert len(cited) > 10


def test_no_guard_is_left_out() -> None:
    """The guards of a table are numbered without a gap, and each is on its protocol's page, with its text."""
    book = read_book(MODELS)
    for table in read_guards(MODELS / GUARDS):
        family = table.guards[0].id.partition("-")[0]
        numbers = range(1, len(table.guards) + 1)
        assert [guard.id for guard in table.guards] == [f"{family}-{number:02}" for number in numbers]
        page = (ROOT / "docs" / "protocol" / table.name.split()[0]).read_text(encoding="utf-8")
        for guard in table.guards:
            assert guard.guard in book.entries[guard.id].row.text
            assert f'<a id="{anchor(guard.id)}"></a>{guard.id} |' in page


@pytest.mark.slow
@pytest.mark.parametrize("model", STORED)
def test_mutants_end_as_they_are_stored(model: str) -> None:
    """Every 36th mutant, tried anew, ends as the page and the model say. `holdfast mutate` tries all of them."""
    system = system_of(model)
    stored = STORED[model]["mutants"]
    only = tuple(row["mutant"] for row in stored[::36])
    trials = Mutation(
        system, usual_scopes(system), MutationLimits(Budget()), target=model, options=MutationOptions(only=only)
    )
    assert trials.broken() is None
    report = trials.report()
    found = {row["mutant"]: row for row in stored_rows(report)["mutants"]}

    assert report.exit_code == 0
    assert found.keys() >= set(only)
    assert found == {row["mutant"]: row for row in stored if row["mutant"] in found}


def test_the_results_are_as_they_are_written() -> None:
    """The file reads as ``holdfast mutate --update`` writes it, so that an update changes only what differs."""
    assert format_results(STORED, []) == (MODELS / RESULTS).read_text(encoding="utf-8")
