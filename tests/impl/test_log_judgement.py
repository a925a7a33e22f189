"""``impl.bridge.log_judgement``: what the models say of a run does not depend on the runs that were judged before."""

from __future__ import annotations

import pytest

from impl.bridge import log_judgement
from impl.bridge.guards.conformance import objection
from impl.bridge.guards.row import read
from impl.bridge.log_judgement import LogJudgement, judgements, zone_judgements
from impl.sim.check import CheckResult, Question, check
from impl.sim.mix import question
from impl.sim.options import Options


def said(asked: Question, checked: CheckResult) -> list[LogJudgement]:
    """What each model says of each log of a run."""
    has_partitions = asked.options.partitions > 0
    return list(judgements(checked.run.log, asked.version, asked.generation, has_partitions=has_partitions))


def test_earlier_logs_change_no_answer() -> None:
    """Judged one after the other, in either order, two runs get the answers that they get alone.

    One of them lacks a rule, and a model objects to its log.
    """
    asked = [question(5), question(3, ("ST-11",))]
    runs = [(each, check(each)) for each in asked]
    alone = []
    for each, checked in runs:
        log_judgement._model.cache_clear()
        alone.append(said(each, checked))
    assert [said(*each) for each in runs] == alone
    assert [said(*each) for each in reversed(runs)] == alone[::-1]
    kinds = [{judgement.kind for judgement in judged} for judged in alone]
    assert kinds[0] == {"conforms"}
    assert "impossible" in kinds[1]


def test_a_broker_that_joins_is_fenced_before() -> None:
    """To a model all brokers are there from the start, so one that joins later is fenced until then."""
    asked = Question(seed=3, options=Options(partitions=4, zones=3, faults="join"))
    checked = check(asked)
    assert checked.run.happened == {"join": 1}
    assert {each.kind for each in said(asked, checked) if each.partition >= 0} == {"conforms"}


@pytest.mark.long
def test_the_logs_of_zones_are_judged() -> None:
    """A report of an older process is noticed by ``route_epoch`` alone; with the rule, all models allow the run."""
    # The stored row names a run that shows it; it changes with the code.
    [run] = [row.run for row in read().rows if row.label == "ZR-60.process"]
    assert run is not None
    asked = question(run, ("ZR-60.process",))
    checked = check(asked)
    assert not checked.violations
    found = objection(asked, checked)
    assert found is not None
    assert found[0] == "route_epoch"
    assert objection(question(run), check(question(run))) is None
    models = {each.model for each in zone_judgements(checked.run.log)}
    assert models == {"route_epoch", "snapshot_read"}
