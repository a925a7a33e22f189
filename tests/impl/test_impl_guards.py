"""The page of the implementation's rules: it has every rule, with what still finds its lack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from holdfast.cli.app import main
from impl.bridge.guards.instead import ELSEWHERE, PARTNERS
from impl.bridge.guards.row import FILE, GuardEvidence, GuardRow, GuardStore, read, text, unfound
from impl.bridge.guards.trial import repeated
from impl.bridge.guards.unreachable import REASONS, undecided, wrongly_listed
from impl.cli.guards import page_of
from impl.rules import guards
from impl.sim.check import check
from impl.sim.mix import command, question

ROOT = Path(__file__).parents[2]
STORED = read()
HANDFUL = STORED.rows[7::40]
"""Rows from all parts of the list, for a test of seconds."""
MANY = [*STORED.rows[1::20], *(row for row in STORED.rows if row.finder == "conform")]


def label_of(row: GuardRow) -> str:
    """The name of a test."""
    return row.label


def test_every_rule_has_a_row() -> None:
    """The rows are those of the rules in the source, in their order."""
    assert [row.label for row in STORED.rows] == list(guards())


def test_the_page_is_what_is_generated() -> None:
    """The stored page is made from the stored rows and the guards of the models."""
    page = (ROOT / "docs" / "impl-guards.md").read_text(encoding="utf-8")
    assert page == page_of(STORED), "write it anew: holdfast simulate --guards docs/impl-guards.md"


def test_the_file_is_as_it_is_written() -> None:
    """The file reads as the command writes it, so that an update changes only the rows that differ."""
    assert text(STORED) == FILE.read_text(encoding="utf-8")


def test_the_list_of_rules_that_cannot_decide_is_true() -> None:
    """None of them decided anything in the stored runs, and each other rule did."""
    assert wrongly_listed(STORED.rows) == []
    assert undecided(STORED.rows) == []


def test_something_finds_the_lack_of_each_rule() -> None:
    """No stored row is without a finder."""
    assert unfound(STORED.rows) == []


def test_listed_rules_have_labels() -> None:
    """A rule and its partner have labels, and the rules with another label have none of their own."""
    assert {*PARTNERS, *PARTNERS.values()} <= set(guards())
    assert not set(ELSEWHERE) & set(guards())


def shows(row: GuardRow) -> None:
    """Assert that the run of a row reaches the rule, and that what the row says still finds its lack."""
    if row.reached is not None:
        assert check(question(row.reached, faults=row.faults)).run.decided.get(row.label, 0)
    if row.finder:
        found = repeated(row)
        if row.finder == "node error":
            # An assertion, which is on in a test, may come before the error.
            found = msgspec.structs.replace(found, said=row.said)
        told = GuardEvidence(row.finder, row.by, row.run, row.file, row.said, row.partner, row.part)
        assert found == told


@pytest.mark.parametrize("row", HANDFUL, ids=label_of)
def test_a_row_is_still_true(row: GuardRow) -> None:
    """The run, the walk or the file of a row shows the same with and without the rule."""
    shows(row)


@pytest.mark.slow
@pytest.mark.parametrize("row", MANY, ids=label_of)
def test_many_rows_are_still_true(row: GuardRow) -> None:
    """The same holds for every 20th row, and each that a model finds. `holdfast simulate --update` tries all rows."""
    shows(row)


def test_the_page_is_written(tmp_path: Path) -> None:
    """The command writes the page from the stored rows."""
    page = tmp_path / "page.md"
    assert main(["simulate", "--guards", str(page)]) == 0
    assert page.read_text(encoding="utf-8") == page_of(STORED)


def test_the_page_says_what_finds_a_lack() -> None:
    """Each way has its words and its command."""
    of_run: dict[str, Any] = {"decided": 1_200, "runs": 3, "reached": 2, "run": 6}
    rows = (
        GuardRow(label="CS-27", decided=1, runs=1, idle=True),
        GuardRow(label="ST-12", finder="oracle", by="log", said="two values", faults=("loss",), **of_run),
        GuardRow(label="ST-14", finder="oracle", by="log", file="corpus/a.json", said="two values"),
        GuardRow(label="ST-15", finder="conform", by="fast_close", said="open()", **of_run),
        GuardRow(label="ST-16", finder="machine", by="ownership", run=3, said="x" * 500),
        GuardRow(label="ST-21", finder="oracle", by="heal", said="closed", partner="ST-14", **of_run),
        GuardRow(label="ST-22", finder="scenario", file="tests/scenarios/a.yaml", said="opens"),
        GuardRow(label="ST-23", decided=1, runs=1),
        GuardRow(label="ST-30", decided=1, runs=1, said="not tried"),
        *(
            GuardRow(
                label=label,
                decided=4,
                runs=2,
                idle=True,
                finder="oracle",
                by="P-07",
                run=run,
                said="no help",
                part=part,
            )
            for label, part, run in (
                ("BG-01", "balancer-history", 3),
                ("BG-07", "balancer-round", 5),
                ("BG-18", "balancer-join", 0),
            )
        ),
    )
    page = page_of(GuardStore(runs=20, rows=rows))
    cells = {
        row.label: next(line for line in page.splitlines() if f"[{row.label}]" in line).split(" | ") for row in rows
    }
    made = command(question(6))
    said = " ".join(page.split())
    ways = "3 oracle of a part, 2 not found, 2 oracle, 1 conform, 1 machine, 1 redundant, 1 scenario, 1 not tried"
    assert f"20 runs of the mix, 12 rules: {ways}." in said
    assert "These rules decided nothing, though a run may reach them: ST-14, ST-16, ST-22." in page
    listed = "No run of a simulated cluster reaches 1 rules, which decide something in runs of parts:"
    assert f"{listed}\n\n- CS-27: {REASONS['CS-27']}.\n\n| rule" in page
    assert cells["ST-12"][1:5] == [
        *("loss (run 2)", "1,200 in 3", "**oracle** log: two values"),
        f"`{made} --without ST-12`",
    ]
    assert cells["ST-14"][4] == "`holdfast simulate corpus/a.json`"
    assert (
        cells["ST-15"][4]
        == f"`{made} --without ST-15 --log e.ndjson`, then `holdfast conform fast_close e.ndjson --map fast_close`"
    )
    assert cells["ST-16"][3].endswith("xxx…")
    assert cells["ST-16"][4] == "`ownership` beside the controller, seed 3"
    assert cells["ST-21"][3] == "**redundant**: ST-14 decides instead; without both, oracle heal: closed"
    assert cells["ST-21"][4] == f"`{made} --without ST-21 --without ST-14`"
    assert cells["ST-22"][4] == "`holdfast scenario run tests/scenarios/a.yaml --without ST-22`"
    assert [cells[label][3] for label in ("ST-23", "ST-30")] == ["not found", "not tried"]
    assert cells["BG-07"][1:5] == [
        *("runs of parts", "4 in 2", "**oracle** P-07: no help"),
        "`holdfast campaign run --target balancer --runs 1 --seed 5 --balancer safe --without BG-07 --out DIR`",
    ]
    assert cells["BG-01"][4] == "`holdfast simulate --part balancer-history --seed 3 --without BG-01`"
    assert cells["BG-18"][4] == "`holdfast simulate --scenario balance --without BG-18`"
    assert cells["ST-14"][5].startswith("[G-02](protocol/streams.md#g-02) `ownership` **killed** by one_owner")
