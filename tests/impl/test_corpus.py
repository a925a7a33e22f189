"""The runs of ``corpus/``: each shows what a rule protects, and the page has a table of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from impl.sim.case_file import SimulationCase, read_case, text
from impl.sim.check import check
from impl.sim.small import FAULTS, OPERATIONS

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "corpus").glob("*.json"))
PAGE = ROOT / "docs/simulate.md"
HEAD = ["| rule or defect | cluster | file | oracle | operations | faults |", "|---|---|---|---|---|---|"]
SWITCHES = {"AM-01", "AM-03", "AM-15", "AM-20", "EL-03", "EL-06", "LP-05", "LP-06"}
LARGE = {"AM-03", "AM-15", "CA-47"}
"""Defects and rules without a known smaller run."""


def case_of(path: Path) -> SimulationCase:
    """The case in a file."""
    return read_case(path, path.name)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_rule_protects_from_this(path: Path) -> None:
    """Without the rule, or with the defect, the same oracle objects with the same message; otherwise none does."""
    case = case_of(path)
    assert len(case.without) + len(case.switches) == 1
    assert case.violation in check(case.question()).violations
    assert not check(case.question(mended=True)).violations
    assert text(case) == path.read_text()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_person_can_read_it(path: Path) -> None:
    """A run has few operations and few faults, so that a person can read it."""
    case = case_of(path)
    if not LARGE & {*case.switches, *case.without}:
        assert len(case.script) <= OPERATIONS
        assert len(case.faults) <= FAULTS


def test_there_are_enough() -> None:
    """The corpus has rules of the streams, the controllers and the brokers."""
    rules = {rule for path in FILES for rule in case_of(path).without}
    assert len(rules) >= 25
    assert {"ST-14", "CL-08", "WL-05.verify", "CK-02.epoch_old", "PL-25", "RC-05", "FO-06.barrier"} <= rules
    assert {switch for path in FILES for switch in case_of(path).switches} == SWITCHES


def test_the_page_lists_them(update_golden: bool) -> None:
    """The page has a row for each file."""
    lines = PAGE.read_text().splitlines()
    begin = lines.index(HEAD[0])
    end = next(number for number in range(begin, len(lines)) if not lines[number].startswith("|"))
    wanted = [*HEAD, *sorted(map(_row, FILES))]
    if update_golden:
        PAGE.write_text("".join(f"{line}\n" for line in [*lines[:begin], *wanted, *lines[end:]]))
    else:
        assert lines[begin:end] == wanted, "renew it with `pytest tests/impl/test_corpus.py --update-golden`"


def _row(path: Path) -> str:
    case = case_of(path)
    (changed,) = (*case.without, *case.switches)
    cluster = f"{case.cluster}, {case.generation}" if case.partitions else case.cluster
    size = f"{len(case.script)} | {len(case.faults)}"
    return f"| {changed} | {cluster} | [seed {case.seed}](../corpus/{path.name}) | {case.violation.oracle} | {size} |"
