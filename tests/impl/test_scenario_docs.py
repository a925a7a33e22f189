"""The pages and files about scenarios: the reference, the schema, the example, and the table of rows."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from impl.scenario.failovers import run_with_failovers
from impl.scenario.language import read_file, read_text
from impl.scenario.reading import documents, plain
from impl.scenario.reference import PAGE, filled
from impl.scenario.replay import check_replay
from impl.scenario.report import text
from impl.scenario.runner import run
from impl.scenario.schema import FILE, schema
from impl.scenario.schema import text as schema_text
from impl.scenario.vocabulary import OPERATIONS
from tests.docs.fences import ROOT, Block, blocks
from tests.impl import scenario_rows

SCENARIOS = sorted((ROOT / "tests" / "scenarios").rglob("*.yaml"))
EXAMPLES = [block for block in blocks(PAGE.read_text(encoding="utf-8")) if block.language == "yaml"]
EXAMPLE = ROOT / "impl" / "scenario" / "example.yaml"


@pytest.mark.parametrize("path", [*SCENARIOS, EXAMPLE], ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_scenario_files_pass(path: Path) -> None:
    """Every scenario of the repository passes, and each step leaves an image that its log makes again."""
    for scenario in read_file(path, path.relative_to(ROOT).as_posix()):
        verdict = run(scenario, after=check_replay)
        assert verdict.failure is None, text(verdict)


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_scenario_files_pass_with_changes_of_controller(path: Path) -> None:
    """Every scenario passes with a change of controller before each step, except for what lost memory explains."""
    for scenario in read_file(path, path.relative_to(ROOT).as_posix()):
        verdict = run_with_failovers(scenario)
        assert verdict.failure is None, text(verdict)


@pytest.mark.parametrize("block", EXAMPLES, ids=lambda block: f"line {block.first}")
def test_examples_of_the_reference_pass(block: Block) -> None:
    """Every example of the reference runs as it stands there, with the line numbers of the page."""
    for scenario in read_text("\n" * block.first + block.text, "docs/scenarios.md"):
        verdict = run(scenario, after=check_replay)
        assert verdict.failure is None, text(verdict)


def test_the_reference_shows_every_operation() -> None:
    """Each operation occurs in an example of the reference."""
    shown = {step.op for block in EXAMPLES for scenario in read_text(block.text, "page") for step in scenario.steps}
    assert set(OPERATIONS) - shown == set()


def test_the_reference_has_the_present_tables() -> None:
    """The tables of operations are those of the vocabulary: ``python -m impl.scenario.reference``."""
    page = PAGE.read_text(encoding="utf-8")
    assert filled(page) == page
    assert page.count("<!-- operations: ") == 7


def test_the_schema_is_current() -> None:
    """The shipped schema is the one of the vocabulary: ``python -m impl.scenario.schema``."""
    assert FILE.read_text(encoding="utf-8") == schema_text()


def test_the_schema_is_a_schema() -> None:
    """The schema itself is valid."""
    jsonschema.Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("path", [*SCENARIOS, EXAMPLE], ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_scenario_files_validate(path: Path) -> None:
    """Every scenario of the repository is valid by the schema."""
    validator = jsonschema.Draft202012Validator(json.loads(FILE.read_text(encoding="utf-8")))
    for document in documents(path.read_text(encoding="utf-8"), path.name):
        assert [error.message for error in validator.iter_errors(plain(document))] == []


@pytest.mark.parametrize(
    "step",
    [
        "{op: opne}",
        "{op: open, node: 0}",
        "{op: has_opening, node: 0, expect: {values: true}}",
        "{op: has_opening, node: zero}",
        "{op: state, stream: 0, expect: {ranges: [{nodes: 0}]}}",
        "{op: inject, record: STREAM, stream: 0, node: 0}",
        "{op: tick, advance_ms: -1}",
        "{op: list, repeat: 0}",
    ],
)
def test_the_schema_refuses(step: str) -> None:
    """The schema refuses what the language refuses: unknown words, missing arguments, wrong types."""
    validator = jsonschema.Draft202012Validator(schema())
    (document,) = documents(f"steps: [{step}]", "x")
    assert not validator.is_valid(plain(document))


@pytest.fixture(scope="module")
def covered() -> dict[str, list[tuple[str, str]]]:
    """The scenarios by row."""
    return scenario_rows.covered()


def test_every_row_has_a_scenario(covered: dict[str, list[tuple[str, str]]]) -> None:
    """Each row that the controller implements has a scenario, or stands among the exceptions with a reason."""
    missing = [row for row in scenario_rows.wanted() if row not in covered and row not in scenario_rows.EXCEPTIONS]
    assert missing == []


def test_exceptions_are_needed(covered: dict[str, list[tuple[str, str]]]) -> None:
    """A row among the exceptions has no scenario, and is a row."""
    assert [row for row in scenario_rows.EXCEPTIONS if row in covered] == []
    assert [row for row in scenario_rows.EXCEPTIONS if row not in scenario_rows.wanted()] == []


def test_every_scenario_names_its_rows() -> None:
    """Each scenario of the repository names at least one row."""
    nameless = [
        f"{path.name}: {name}"
        for path in SCENARIOS
        for name, rows in scenario_rows.scenarios(path.read_text(encoding="utf-8"), path.name)
        if not rows
    ]
    assert nameless == []


def test_the_table_of_rows_is_current() -> None:
    """The table of rows is generated: ``python -m tests.impl.scenario_rows``."""
    assert scenario_rows.PAGE.read_text(encoding="utf-8") == scenario_rows.page()


def test_rows_belong_to_the_scenario_that_follows() -> None:
    """A comment with rows counts for the next scenario alone."""
    two = "# rows: ST-14, CK-01\nname: a\nsteps: []\n---\n# rows: CS-29a\n# rows: ST-14\nname: b\nsteps: []\n"
    assert scenario_rows.scenarios(two, "x") == [("a", ["ST-14", "CK-01"]), ("b", ["CS-29a", "ST-14"])]
