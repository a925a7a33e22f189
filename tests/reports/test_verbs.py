"""The reports of every verb: valid, with the printed verdict, and with the same fingerprints when lines move."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import attrs
import pytest

from holdfast.check.search.engine import search
from holdfast.check.tlc.agreement import Refinement, SecondOpinion
from holdfast.check.tlc.answer import TlcAnswer
from holdfast.check.tlc.process import NoAnswerError, Tools
from holdfast.cli import tlc
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from tests.cli.conftest import holdfast
from tests.cli.running import Run
from tests.cli.samples import COUNTER
from tests.reports.validating import read
from tests.reports.verbs import FILES, folder, told
from tests.tla.conftest import tools

__all__ = ["folder", "holdfast", "tools"]

GOLDEN = Path(__file__).with_name("golden")


@attrs.frozen
class Answer:
    """A command, its exit code, its test suites, and the status of named cases. ``every``: that of all other cases."""

    argv: str
    code: int
    suites: tuple[str, ...]
    cases: dict[str, str]
    every: str | None = "passed"


ANSWERS = {
    "searched": Answer("check broken.py", 12, ("check broken.py tiny",), {"grown_is_positive (CT-10)": "failed"}, None),
    "walked": Answer("walk two.py --seed 1 --runs 40", 0, ("walk two.py tiny",), {}),
    "walked into": Answer("walk two.py --seed 1 --without TP-02", 12, ("walk two.py tiny -TP-02",), {}, None),
    "lemmas left out": Answer("prove two.py --ablate", 0, ("prove --ablate two.py",), {}),
    "proved": Answer("prove two.py", 0, ("prove two.py",), {"all_agree (TP-10)": "passed", "vote possible": "passed"}),
    "not inductive": Answer("prove bare.py --no-suggest", 20, ("prove bare.py",), {"all_agree (TP-10)": "failed"}),
    "violated": Answer(
        "prove two.py --without TP-02",
        12,
        ("prove two.py -TP-02",),
        {"promises_are_kept": "failed"},
        every="skipped",
    ),
    "no time to prove": Answer(
        "prove two.py counter.py --budget 0.000001s", 20, ("prove two.py", "prove counter.py"), {}, every="unanswered"
    ),
    "proved by 2-induction": Answer("prove trap.py --k 2", 0, ("prove trap.py",), {"never_bad": "passed"}),
    "a proof of nothing": Answer("prove idle.py", 10, ("prove idle.py",), {"fall possible": "failed"}, every=None),
    "false at a start": Answer("prove alone.py --no-suggest", 20, ("prove alone.py",), {"all_up": "failed"}),
    "within a depth": Answer(
        "prove two.py --depth 1 --property final", 0, ("prove two.py",), {"final (TP-11)": "passed"}
    ),
    "violated in a depth": Answer(
        "prove two.py --depth 3 --without TP-02 --property promises_are_kept",
        12,
        ("prove two.py -TP-02",),
        {"promises_are_kept": "failed"},
    ),
    "all killed": Answer("mutate two.py", 0, ("mutate two.py tiny",), {"without TP-02": "passed"}),
    "undeclared": Answer(
        "mutate counter.py", 10, ("mutate counter.py tiny, default",), {"without CT-01": "failed"}, every=None
    ),
    "operators": Answer(
        "mutate declared.py --operators",
        0,
        ("mutate declared.py tiny, default",),
        {"without CT-01": "passed", "grow: CT-01: > to >=": "skipped"},
        every=None,
    ),
    "no states for mutants": Answer(
        "mutate counter.py --budget 1states",
        20,
        ("mutate counter.py tiny",),
        {"grown": "unanswered"},
        every="unanswered",
    ),
    "no time for mutants": Answer(
        "mutate two.py --budget 0.000001s",
        20,
        ("mutate two.py tiny",),
        {"without TP-02": "unanswered"},
        every="unanswered",
    ),
    "always comes": Answer(
        "live lease.py", 0, ("live lease.py tiny", "live lease.py default"), {"served (LV-01)": "passed"}
    ),
    "never comes": Answer(
        "live lease.py --without LS-08 --property freed",
        13,
        ("live lease.py tiny -LS-08",),
        {"freed (LV-02)": "failed"},
    ),
    "no states for liveness": Answer(
        "live lease.py --budget 10states", 20, ("live lease.py tiny",), {}, every="unanswered"
    ),
    "cut": Answer("live lamp.py", 20, ("live lamp.py tiny",), {"ages (LA-03)": "unanswered"}, every="passed"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_reports_say_what_the_command_says(holdfast: Run, name: str) -> None:
    """The reports have the exit code, a suite for each model and scope, and every case. An open case never passes."""
    answer = ANSWERS[name]
    ran, files = told(holdfast, *answer.argv.split())
    assert (ran.code, files.suites) == (answer.code, [f"holdfast {suite}" for suite in answer.suites])
    assert answer.cases.items() <= files.cases.items()
    others = {status for case, status in files.cases.items() if case not in answer.cases}
    assert answer.every is None or others <= {answer.every}
    assert ("unanswered" in files.cases.values() or "failed" in files.cases.values()) == (ran.code != 0)
    assert files.sarif["invocations"][0]["executionSuccessful"] == ("unanswered" not in files.cases.values())


def as_kept(report: str) -> str:
    """A report without its times, which are all that differs between runs."""
    return re.sub(r'\btime="[0-9.]+"', 'time="-"', report)


@pytest.mark.parametrize("name", ANSWERS)
def test_the_whole_of_both_files(holdfast: Run, name: str, update_golden: bool) -> None:
    """Both files equal the stored ones: every case with its sentence and run, every place and fingerprint."""
    holdfast(*ANSWERS[name].argv.split(), *FILES)
    for file in ("r.xml", "r.sarif"):
        kept, written = GOLDEN / f"{name.replace(' ', '-')}{Path(file).suffix}", as_kept(Path(file).read_text())
        if update_golden:
            kept.write_text(written)
        assert written == kept.read_text(), "renew it with `pytest tests/reports --update-golden`"


MOVED = {
    "check broken.py": ("grown_is_positive", "def grown_is_positive"),
    "prove two.py --without TP-02": ("promises_are_kept", "def promises_are_kept"),
    "prove bare.py --no-suggest": ("all_agree", "def all_agree"),
    "mutate counter.py": ("without CT-01", "require(c > self.value[n]"),
    "live lease.py --without LS-08": ("freed", "def freed"),
}


@pytest.mark.parametrize("argv", MOVED)
def test_a_finding_stays_the_same_when_lines_move(holdfast: Run, argv: str) -> None:
    """When lines move, a finding's place moves with the model, and its fingerprint stays."""
    model, (rule, said) = Path(argv.split()[1]), MOVED[argv]
    _, before = told(holdfast, *argv.split())
    file, line = before.line(rule)
    assert file == str(model)
    assert said in model.read_text().splitlines()[line - 1]
    Path("moved.py").write_text(f"\n{model.read_text()}")
    _, after = told(holdfast, *argv.replace(file, "moved.py").split())
    assert after.line(rule) == ("moved.py", line + 1)
    assert after.fingerprints == before.fingerprints


def test_a_counterexample_to_induction_is_told(holdfast: Run) -> None:
    """A counterexample to induction is text with its state and step. It is no run, so there is no code flow."""
    _, files = told(holdfast, "prove", "bare.py", "--no-suggest")
    message, text = files.said("all_agree (TP-10)")
    assert message.startswith("all_agree (TP-10) is not proved: not kept by ")
    assert "It need not be one that can be reached." in " ".join(text.split())
    assert "codeFlows" not in files.results["all_agree"]


def test_a_lasso_is_a_code_flow(holdfast: Run) -> None:
    """A lasso's code flow has a thread for each client, the steps in order, and the start of the loop."""
    _, files = told(holdfast, "live", "lease.py", "--without", "LS-08", "--property", "served")
    (flow,) = files.results["served"]["codeFlows"]
    threads = {thread["id"]: thread["locations"] for thread in flow["threadFlows"]}
    said = sorted(
        (place["executionOrder"], process, place["location"]["message"]["text"])
        for process, places in threads.items()
        for place in places
    )
    assert said == [
        (1, "c1", "1. ask(f1)"),
        (2, "c2", "2. ask(f1)"),
        (3, "c2", "3. grant(f1)"),
        (4, "state", "and then nothing happens any more (stuttering): served (LV-01) is violated"),
    ]
    assert "why the run is fair" in files.said("served (LV-01)")[1]


def test_lemmas_left_out(holdfast: Run) -> None:
    """Each lemma is a case. With too little time each is unanswered."""
    ran, files = told(holdfast, "prove", "two.py", "--ablate", "--budget", "0.000001s")
    assert (ran.code, files.suites) == (20, ["holdfast prove --ablate two.py"])
    assert set(files.cases.values()) == {"unanswered"}
    assert {"one_decision", "promises_are_kept"} <= set(files.cases)


def test_a_model_that_does_not_hold_is_reported_as_such(holdfast: Run) -> None:
    """If a model is violated, the violation is the failure, and its mutants are not judged."""
    ran, files = told(holdfast, "mutate", "broken.py")
    assert ran.code == 12
    assert files.cases["grown_is_positive (CT-10)"] == "failed"
    assert files.suites == ["holdfast mutate broken.py tiny"]


# TLC and verify ------------------------------------------------------------------------------------------------------


def test_agreement_with_tlc(holdfast: Run, tools: Tools) -> None:
    """Each configuration is a case. A check of refinement or liveness that the model does not have is skipped."""
    assert tools.jar.is_file()
    ran, files = told(holdfast, "tlc", "counter.py")
    assert (ran.code, files.cases) == (0, {"agreement": "passed"})
    for option, name in (("--implements", "refinement"), ("--live", "liveness")):
        ran, files = told(holdfast, "tlc", "counter.py", option)
        assert (ran.code, files.cases) == (0, {name: "skipped"})


def test_disagreement_with_tlc(holdfast: Run, tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disagreement fails the scope that both searched, or the property on which they differ."""
    assert tools.jar.is_file()
    monkeypatch.setattr(SecondOpinion, "ask", lambda _: TlcAnswer("exhausted", distinct=8, depth=2))
    monkeypatch.setattr(tlc, "ask_liveness", lambda _: ())
    ran, files = told(holdfast, "tlc", "counter.py")
    assert (ran.code, files.said("agreement")[0]) == (1, "they disagree: states: search 9, TLC 8")
    file, line = files.line("agreement")
    assert "tiny = Scope(" in Path(file).read_text().splitlines()[line - 1]
    ran, files = told(holdfast, "tlc", "lamp.py", "--live")
    assert (ran.code, files.cases) == (1, {"shines": "passed", "ages": "failed"})


def test_a_model_that_does_not_implement_what_it_says(
    holdfast: Run, tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a model does not refine a hand-written module, the code flow is TLC's run."""
    assert tools.jar.is_file()
    system = compile_model(load_model("counter.py"))
    witness = search(system, system.scopes["tiny"], target="counter.py").witnesses[0].trace
    assert witness is not None
    run = attrs.evolve(witness, claim=None)
    monkeypatch.setattr(tlc, "_claims", lambda _: [Refinement("counter_implements_lease", holds=False, run=run)])
    ran, files = told(holdfast, "tlc", "counter.py", "--implements")
    assert (ran.code, files.cases) == (12, {"counter_implements_lease": "failed"})
    (flow,) = files.results["counter_implements_lease"]["codeFlows"]
    assert [thread["id"] for thread in flow["threadFlows"]] == ["n2", "state"]
    assert "holdfast replay 'counter.py tiny #" in files.said("counter_implements_lease")[1]


@pytest.mark.parametrize("ended", [NoAnswerError("TLC had no answer after 1 s"), KeyboardInterrupt()])
def test_no_answer_from_tlc(holdfast: Run, tools: Tools, monkeypatch: pytest.MonkeyPatch, ended: BaseException) -> None:
    """If TLC gives no answer, earlier answers are reported, and the remaining cases are open."""
    assert tools.jar.is_file()
    answers = iter([TlcAnswer("exhausted", distinct=9, depth=2), ended])

    def ask(_: object) -> TlcAnswer:
        found = next(answers)
        if isinstance(found, TlcAnswer):
            return found
        raise found

    monkeypatch.setattr(SecondOpinion, "ask", ask)
    monkeypatch.setattr(tlc, "ThreadPoolExecutor", _AtOnce)
    ran = holdfast("tlc", "counter.py", "declared.py", *FILES)
    files = read()
    assert (ran.code, files.suites) == (20, ["holdfast tlc counter.py tiny", "holdfast tlc declared.py tiny"])
    assert [case[0].tag for case in files.junit.iter("testcase")] == ["system-out", "error"]
    assert files.said("agreement")[0].startswith("both agree") or files.results["agreement"]["level"] == "warning"


class _AtOnce:
    """An executor without threads: it answers each question at once."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def submit(self, ask: Callable[[], object]) -> Future[object]:
        answered: Future[object] = Future()
        try:
            answered.set_result(ask())
        except BaseException as error:  # noqa: BLE001 - Ctrl-C too is for whoever waits for the answer
            answered.set_exception(error)
        return answered

    def shutdown(self, **_: object) -> None:
        pass


def test_every_question_of_a_verification(holdfast: Run) -> None:
    """A check that is not pinned, or differs from its pin, is a failure at the model. After an update none fails."""
    Path("models").mkdir()
    Path("models/counter.py").write_text(COUNTER)
    ran, files = told(holdfast, "verify", "--only", "check")
    assert (ran.code, files.suites) == (1, ["holdfast verify counter"])
    assert set(files.cases.values()) == {"failed"}
    assert files.line("check --scope tiny") == ("models/counter.py", 1)
    holdfast("verify", "--update")
    ran, files = told(holdfast, "verify", "--only", "check")
    assert (ran.code, files.cases) == (0, {"check --scope tiny": "passed", "check --scope default": "passed"})
    Path("models/mutants.json").write_text("{}")
    ran, files = told(holdfast, "verify", "--only", "mutants")
    assert (ran.code, files.cases) == (20, {"mutants": "unanswered"})
