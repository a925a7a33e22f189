"""Whether the models allow a simulated run, by the logs of the run."""

from __future__ import annotations

from itertools import chain

from impl.bridge.log_judgement import judgements, zone_judgements
from impl.sim.check import CheckResult, Question


def objection(question: Question, checked: CheckResult) -> tuple[str, str] | None:
    """The first model that does not allow a run, and the event that is impossible there; None if all allow it.

    A model that cannot judge the run, such as one with a log that it cannot read, does not object.
    """
    has_partitions = question.options.partitions > 0
    log = checked.run.log
    of_zones = zone_judgements(log) if question.options.zones else ()
    for each in chain(judgements(log, question.version, question.generation, has_partitions=has_partitions), of_zones):
        if each.kind == "impossible" and each.said:
            return each.model, each.said
    return None
