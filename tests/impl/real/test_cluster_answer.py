"""The answer of ``holdfast cluster test``: its verdict, its exit code, and what it says of an interrupted run."""

from __future__ import annotations

from msgspec.structs import replace

from impl.bridge.log_judgement import LogJudgement
from impl.cli.cluster_answer import ClusterAnswer
from impl.cli.cluster_report import to_json, to_text
from impl.oracles.judge import Verdict
from impl.oracles.verdict import Violation
from impl.sim.check import Question
from impl.sim.options import Options
from tests.impl.real.reports import PART, PLAN, REPORT

QUESTION = Question(seed=3, options=Options(partitions=2), version="V6", generation="G1")
ALL = (
    LogJudgement("fast_close", -1, "conforms", "", 10),
    *(LogJudgement(name, number, "conforms", "", 5) for number in (0, 1) for name in ("reassignment", "cancellation")),
)
LOSS = Verdict((Violation("lost", 0, "value 7 is gone"),), {})


def test_a_whole_run() -> None:
    """All models agree: 0. One has no answer: 20. One objects: 12. The history is broken: 1."""
    assert ClusterAnswer(QUESTION, PLAN, REPORT, ALL).exit_code == 0
    unread = replace(ALL[0], kind="unreadable")
    assert ClusterAnswer(QUESTION, PLAN, REPORT, (unread, *ALL[1:])).exit_code == 20
    impossible = replace(ALL[0], kind="impossible")
    assert ClusterAnswer(QUESTION, PLAN, REPORT, (impossible, *ALL[1:])).exit_code == 12
    broken = replace(REPORT, verdict=Verdict((), {}, "a value is sent twice"))
    assert ClusterAnswer(QUESTION, PLAN, broken, ALL).exit_code == 1
    assert ClusterAnswer(QUESTION, PLAN, replace(broken, verdict=LOSS), ALL).exit_code == 12


def test_an_interrupted_run_says_what_is_missing() -> None:
    """It is never green: it ends with 20, or with 12 if something was violated before."""
    answer = ClusterAnswer(QUESTION, PLAN, PART, (), interrupted=True)
    assert answer.exit_code == 20
    text = to_text(answer)
    assert text.startswith("Cluster V6 G1, seed 3: nothing violated so far; interrupted in the phase heal\n")
    assert "3,000 acked; new processes have not read all partitions back" in text
    assert "   0.500 s  b1.0, pid 101" in text
    assert "pid 102" not in text, "the end of the run killed it"
    assert answer.left_out == (
        *("what new processes read back", "oracle heal", "oracle storage"),
        *("model fast_close", "model reassignment", "model cancellation"),
    )
    found = to_json(answer)
    assert (found["exit_code"], found["records"]["lost"], found["store"]["objects"]) == (20, None, None)
    assert found["left_out"] == list(answer.left_out)
    violated = ClusterAnswer(QUESTION, PLAN, replace(PART, verdict=LOSS), (), interrupted=True)
    assert violated.exit_code == 12
    assert "lost: value 7 is gone" in to_text(violated)
    assert violated.words == "violated; interrupted in the phase heal"


def test_models_that_were_not_asked() -> None:
    """A signal during the models leaves out those without an answer; after the last one it leaves out none."""
    part = ClusterAnswer(QUESTION, PLAN, REPORT, ALL[:2], interrupted=True)
    assert (part.exit_code, part.words) == (20, "nothing violated so far; interrupted in the phase models")
    assert part.left_out == ("model reassignment in 1 logs of partitions", "model cancellation")
    late = ClusterAnswer(QUESTION, PLAN, REPORT, ALL, interrupted=True)
    assert (late.exit_code, late.words, late.left_out) == (0, "nothing violated", ())
