"""The page of guards: it has every row of the fact sheets, and says what mutation finds now."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from holdfast.check.budget import Budget
from holdfast.check.mutate.bench import Limits
from holdfast.check.mutate.guards import GUARDS, RESULTS, format_results, guards_page, read_guards, read_results
from holdfast.check.mutate.mutation import Mutation, Options, fingerprint, usual_scopes
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.system import System

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "models"
SHEETS = ROOT.parent / "shared" / "protocol"
STORED = read_results(MODELS / RESULTS)
CITED = re.compile(r'"([A-Z]+-\w+(?:\.\w+)?)".*# ((?:G-\d+(?:, )?)+)$', re.MULTILINE)
"""A rule of a model with the guards that a comment names beside it."""


def system_of(model: str) -> System:
    """A model of this repository."""
    return compile_model(load_model(str(MODELS / f"{model}.py")))


def sheet_rows(name: str) -> list[list[str]]:
    """The rows of a sheet's table of guards; the name is that of the sheet and its section, ``streams.md 19``."""
    file, section = name.split()
    text = (SHEETS / file).read_text(encoding="utf-8")
    body = text.split(f"\n## {section}. ", 1)[1].partition("\n## ")[0].partition("\n### ")[0]
    lines = [line for line in body.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def plain(text: str) -> str:
    """A text of Markdown without its marks."""
    return re.sub(r"[*`]", "", text)


def test_the_page_is_what_is_generated() -> None:
    """The rows and the stored results make the page as it is."""
    page = guards_page(read_guards(MODELS / GUARDS), STORED)

    assert (ROOT / "docs" / "guards.md").read_text(encoding="utf-8") == page, (
        "write it anew: holdfast mutate --guards docs/guards.md"
    )


@pytest.mark.parametrize("model", STORED)
def test_results_are_of_the_models_as_they_are(model: str) -> None:
    """A model that was changed since its mutants were tried has to be tried again."""
    system = system_of(model)
    scopes = [system.scopes[name] for name in STORED[model]["scopes"]]

    assert fingerprint(system, scopes) == STORED[model]["fingerprint"], f"run `holdfast mutate --update {model}`"


def test_guards_are_of_models_that_are_there_or_to_come() -> None:
    """A row's mutants are of models that have a file, and one of these is its home."""
    guards = [guard for sheet in read_guards(MODELS / GUARDS) for guard in sheet.guards]
    named = {name.partition(":")[0] for guard in guards for name in guard.mutants}

    assert {name for name in named if not (MODELS / f"{name}.py").exists()} == set()
    assert all(guard.home in [name.partition(":")[0] for name in guard.mutants] for guard in guards if guard.mutants)


def test_rows_that_a_model_cites_are_its_rows() -> None:
    """Where a rule stands beside the id of a guard (``# G-01``), its removal is among that guard's mutants."""
    of_guard = {
        guard.id: {name.partition(":")[2].partition("@")[0] for name in guard.mutants}
        for sheet in read_guards(MODELS / GUARDS)
        for guard in sheet.guards
    }
    cited = [
        (label, guard)
        for path in sorted(MODELS.rglob("*.py"))
        for label, guards in CITED.findall(path.read_text(encoding="utf-8"))
        for guard in guards.split(", ")
    ]

    assert [(label, guard) for label, guard in cited if label not in of_guard[guard]] == []
    assert len(cited) > 10


@pytest.mark.skipif(not SHEETS.is_dir(), reason="the fact sheets are not here")
def test_no_row_of_the_sheets_is_left_out() -> None:
    """Each table of guards has its rows on the page, in their order and in the sheet's words."""
    for sheet in read_guards(MODELS / GUARDS):
        rows = sheet_rows(sheet.name)
        guards = [row[-2] if len(row) < 4 else row[1] for row in rows]
        assert [guard.guard for guard in sheet.guards] == [plain(text) for text in guards], sheet.name
        if sheet.name == "streams.md 19":
            assert [guard.id for guard in sheet.guards] == [row[0] for row in rows]
    heading = re.compile(r"^## (\d+)\. Guards and what they protect", re.MULTILINE)
    tables = {
        f"{path.name} {section}"
        for path in SHEETS.glob("*.md")
        for section in heading.findall(path.read_text(encoding="utf-8"))
    }
    assert tables == {sheet.name for sheet in read_guards(MODELS / GUARDS)}


@pytest.mark.slow
@pytest.mark.parametrize("model", STORED)
def test_mutants_end_as_they_are_stored(model: str) -> None:
    """Every mutant tried anew ends as the page says, and as the model declares."""
    system = system_of(model)
    limits = Limits(Budget())
    trials = Mutation(system, usual_scopes(system), limits, target=model, options=Options())
    assert trials.broken() is None
    report = trials.report()

    assert report.exit_code == 0
    assert format_results(STORED, [report]) == (MODELS / RESULTS).read_text(encoding="utf-8")
