"""Every rule of the controller decides something in the scenarios: without it, one of them fails."""

from __future__ import annotations

import pytest

from impl.rules import guards, without
from impl.scenario.language import read_file
from impl.scenario.runner import run
from tests.docs.fences import ROOT

_FAILOVER = "the language has no operation for the scan of failovers"
_LOG = "the language runs one operation after the other, each committed at once"
_EXECUTION = "the language executes no plan, and has no leader and no configuration that change during a round"
EXCEPTIONS = {
    **dict.fromkeys(("BG-16", "BG-16.spacing", "BG-18", "BG-19"), _EXECUTION),
    **dict.fromkeys(("EX-01", "EX-02", "EX-03", "EX-04"), _LOG),
    **dict.fromkeys(("FO-01.age", "FO-01.fenced", "FO-01.opening", "FO-01.registered"), _FAILOVER),
    **dict.fromkeys(("FO-02", "FO-03.candidate", "FO-03.epoch", "FO-03.target"), _FAILOVER),
    "ND-31": "the language sends no heartbeats",
    "CA-04": "without the rule, CA-22 gives the same answer",
    "CS-04.destroyed": "without the rule, CS-04.foreign gives the same answer",
    "EL-13": "without the rule, EL-12.tag keeps the timer from electing anybody",
    "OB-03.deep": "the language shows no attributes of objects",
    "OB-03.keep": "compact_stream names no operations for its sources",
    "RA-01.renewed": "the language renews no leader epoch",
    "RA-08.cap": "50 001 partitions in one request",
    "RA-47.recovery": "isr has no argument for the recovery state",
    "ST-17.tags": "open has no tags in the language",
    "ZR-60.process": "the reports of the language name no process",
}
"""Labels that no scenario can see, each with its reason."""


@pytest.mark.slow
def test_every_rule_has_a_scenario_that_needs_it() -> None:
    """With a rule switched off a scenario fails, except for the rules that the language cannot reach."""
    scenarios = [each for path in sorted((ROOT / "tests" / "scenarios").rglob("*.yaml")) for each in read_file(path)]
    blunt = []
    for label, places in guards().items():
        if all(file.startswith("broker/") for file, _ in places):
            continue
        with without(label):
            if all(run(scenario).failure is None for scenario in scenarios):
                blunt.append(label)

    assert sorted(blunt) == sorted(EXCEPTIONS)
