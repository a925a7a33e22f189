"""The answer of ``holdfast cluster test``, from which its text, its JSON and its reports are made."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from impl.bridge.log_judgement import LogJudgement
from impl.bridge.log_models import OF_PARTITIONS, OF_STREAMS
from impl.real.run import RunPlan
from impl.real.run_report import RunReport
from impl.sim.check import Question

HELD, VIOLATED, UNANSWERED, FAULT = 0, 12, 20, 1


class ClusterAnswer(msgspec.Struct, frozen=True):
    """What was asked, what happened, and what the models say of it. ``interrupted``: whether a signal ended the run."""

    question: Question
    plan: RunPlan
    report: RunReport
    judged: tuple[LogJudgement, ...]
    interrupted: bool = False

    @property
    def exit_code(self) -> int:
        """The code of the gravest result: a violation, a history that cannot be judged, a question left open."""
        if self.report.verdict.violations or any(each.kind == "impossible" for each in self.judged):
            return VIOLATED
        if self.report.verdict.error is not None:
            return FAULT
        is_open = self.left_out or any(each.kind != "conforms" for each in self.judged)
        return UNANSWERED if is_open or self.report.shortfalls else HELD

    @property
    def words(self) -> str:
        """The verdict in words."""
        if self.left_out:
            said = {VIOLATED: "violated", FAULT: "the run cannot be judged", UNANSWERED: "nothing violated so far"}
            return f"{said[self.exit_code]}; interrupted in the phase {self.report.interrupted or 'models'}"
        open_question = "too little happened" if self.report.shortfalls else "a model has no answer"
        return {
            HELD: "nothing violated",
            VIOLATED: "violated",
            UNANSWERED: f"nothing violated, and {open_question}",
            FAULT: "the run cannot be judged",
        }[self.exit_code]

    @property
    def left_out(self) -> tuple[str, ...]:
        """The judgements that were not made because of the interruption; none without one."""
        return tuple(self._left_out()) if self.interrupted else ()

    def _left_out(self) -> Iterator[str]:
        if self.report.interrupted:
            yield from ("what new processes read back", "oracle heal", "oracle storage")
        of_streams = OF_STREAMS[self.question.version]
        for model in (*of_streams, *OF_PARTITIONS):
            logs = 1 if model in of_streams else self.question.options.partitions
            missing = logs - sum(each.model == model for each in self.judged)
            if missing > 0:
                yield f"model {model}" if missing == logs else f"model {model} in {missing} logs of partitions"
