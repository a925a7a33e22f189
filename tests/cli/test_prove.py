"""``holdfast prove``: its output, exit codes and files, and where it looks for lemmas."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import itf_py
import pytest

from holdfast.check.prove import asking
from holdfast.lower.smt.solve import SolverAnswer
from tests.cli.running import Run

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "two_phase_commit.py"

MODEL, LEMMAS = EXAMPLE.read_text().split("    @lemma\n", 1)
"""The source of two-phase commit, split into the model and its lemmas."""

PROOF = f'''\
"""Lemmas of two-phase commit."""

from __future__ import annotations

from holdfast.lang import lemma
from two import Participant, TwoPhaseCommit


class Lemmas(TwoPhaseCommit):
    """With lemmas."""

    @lemma
{LEMMAS.split("    @witness")[0]}'''


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a model, two.py."""
    monkeypatch.chdir(tmp_path)
    for name in ("two", "two_proof", "_model_two", "_model_two_proof"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    Path("two.py").write_text(MODEL)
    return tmp_path


def test_lemmas_beside_a_model_are_used(holdfast: Run) -> None:
    """The lemmas in two_proof.py prove the model two.py, and the output names the file; a named class is used alone."""
    Path("two_proof.py").write_text(PROOF)
    ran = holdfast("prove", "two.py", "--no-suggest")
    assert ran.code == 0
    assert "with the lemmas of two_proof.py: proved, for any sizes" in ran.out
    assert "needs one_decision, commit_was_promised, promises_are_kept" in ran.out
    assert " s, of which Z3 " not in ran.out
    assert holdfast("prove", "two.py:TwoPhaseCommit", "--no-suggest").code == 20


def test_lemmas_of_another_model_are_refused(holdfast: Run) -> None:
    """A class in the file of lemmas that does not extend the model is refused in one line."""
    Path("two_proof.py").write_text(EXAMPLE.read_text())
    ran = holdfast("prove", "two.py")
    assert ran.code == 2
    assert ran.err == "holdfast: two_proof.py: TwoPhaseCommit does not extend TwoPhaseCommit; let it\n"


def test_a_counterexample_is_shown_and_written(holdfast: Run) -> None:
    """Two states, their changes, the clause and a suggestion are shown; other commands can read them as ITF."""
    ran = holdfast("prove", "two.py", "--itf", "cti.itf.json")
    assert ran.code == 20
    assert ran.out.startswith("all_agree: not kept by ")
    assert "It need not be one that can be reached." in " ".join(ran.out.split())
    assert "excludes it" in ran.out
    assert "replay:" not in ran.out
    trace = itf_py.trace_from_json(json.loads(Path("cti.itf.json").read_text()))
    assert len(trace.states) == 2
    assert json.loads(Path("cti.itf.json").read_text())["#meta"]["replay"] is None
    assert holdfast("show", "cti.itf.json").code == 0


def test_a_violation_is_a_run(holdfast: Run) -> None:
    """A property that a run violates ends 12 with that run, which can be replayed."""
    ran = holdfast("prove", "two.py", "--without", "TP-02")
    assert ran.code == 12
    assert "all_agree: violated after" in ran.out
    assert "TwoPhaseCommit, without TP-02: violated: all_agree (TP-10)" in ran.out


def test_two_models_and_the_graver_answer(holdfast: Run) -> None:
    """Several models are proved one after the other; the worst answer decides the exit code."""
    ran = holdfast("prove", EXAMPLE, "two.py", "--no-suggest")
    assert ran.code == 20
    assert ran.out.index("TwoPhaseCommit: proved") < ran.out.index("TwoPhaseCommit: not proved")


def test_json_is_one_line_a_model(holdfast: Run) -> None:
    """JSON has one line for each model, equal for equal questions except for the timing."""
    first, second = (json.loads(holdfast("prove", EXAMPLE, "--json").out) for _ in range(2))
    assert (first["verdict"], first["exit_code"]) == ("proved", 0)
    assert {**first, "timing": None} == {**second, "timing": None}


def test_a_question_without_an_answer_is_saved(holdfast: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """For an open question, the reason is printed and the question is saved for other solvers."""
    monkeypatch.setattr(asking, "ask", lambda *_, **__: SolverAnswer("unknown", reason="timeout"))
    monkeypatch.setattr(asking, "MANY", 10_000)
    monkeypatch.setattr(asking, "BRIEF", 10_000.0)
    ran = holdfast("prove", EXAMPLE, "--property", "final")
    assert ran.code == 20
    assert "No answer after vote: timeout. That leaves open: final." in ran.out
    saved = Path("unanswered/TwoPhaseCommit_final_vote.smt2")
    assert f"saved: {saved}" in ran.out
    assert saved.read_text().startswith("(declare-sort sort.Participant 0)")


def test_a_bounded_search(holdfast: Run) -> None:
    """A bounded search reports no violation within the depth, or shows a run."""
    assert "nothing violated within 2 steps, for any sizes" in holdfast("prove", "two.py", "--depth", 2).out
    ran = holdfast("prove", "two.py", "--depth", 5, "--without", "TP-02", "--property", "all_agree")
    assert ran.code == 12
    assert "all_agree: violated after 4 steps" in ran.out


def test_the_fragment(holdfast: Run) -> None:
    """A model whose questions are all decidable is reported as such, without asking the solver."""
    assert holdfast("prove", "two.py", "--fragment").out == (
        "TwoPhaseCommit: every question about invariants is decidable: the graph of sorts has no cycle\n"
    )


CHANGES = {
    "the action vote": (
        "    @action\n    def vote(self, p: Participant) -> None:\n"
        '        require(not self.aborted[p], "TP-01")\n        self.voted[p] = False\n'
    ),
    "all_agree": (
        "    @invariant\n    def all_agree(self) -> bool:\n"
        "        return not any(self.aborted[p] for p in Participant)\n"
    ),
    "the field more": "    more: bool\n\n    @init\n    def no_more(self) -> None:\n        self.more = False\n",
}
"""The changes that a class of lemmas may not make, with the message for each."""


@pytest.mark.parametrize("changed", CHANGES)
def test_a_class_of_lemmas_changes_nothing_else(holdfast: Run, changed: str) -> None:
    """A class of lemmas that changes the protocol or drops a property is refused."""
    lemmas = PROOF.replace("import lemma\n", "import action, init, invariant, lemma, require\n")
    Path("two_proof.py").write_text(f"{lemmas}\n{CHANGES[changed]}")
    ran = holdfast("prove", "two.py")
    assert (ran.code, ran.out) == (2, "")
    expected = "the initial condition" if changed.startswith("the field") else changed
    assert ran.err.startswith(f"holdfast: two_proof.py: Lemmas changes {expected} of TwoPhaseCommit; a class of")


def test_seconds_are_told_apart(holdfast: Run) -> None:
    """With --explain, the seconds of each property and the slowest questions go to standard error only."""
    ran = holdfast("prove", EXAMPLE, "--explain")
    assert "each property:\n" in ran.err
    assert " s  all_agree\n" in ran.err
    assert len(ran.err.partition("the slowest questions:\n")[2].splitlines()) == 10
    assert ran.out == holdfast("prove", EXAMPLE, "--explain").out


def test_a_bounded_run_is_written(holdfast: Run) -> None:
    """With --depth, the violating run is written, and ``holdfast show`` reads it."""
    ran = holdfast("prove", "two.py", "--depth", 5, "--without", "TP-02", "--itf", "run.itf.json")
    assert ran.code == 12
    assert len(itf_py.trace_from_json(json.loads(Path("run.itf.json").read_text())).states) == 5
    assert holdfast("show", "run.itf.json").code == 0


def test_lemmas_are_left_out(holdfast: Run) -> None:
    """--ablate prints a row for each lemma, and the suggested clauses in its place, with their brackets."""
    ran = holdfast("prove", EXAMPLE, "--ablate")
    assert ran.code == 0
    assert "commit_was_promised" in ran.out
    assert "self.voted[p1]" in ran.out
    assert ran.out.endswith("TwoPhaseCommit: 3 of 3 lemmas are missed; suggestions restore 2\n\n")
    rows = json.loads(holdfast("prove", EXAMPLE, "--ablate", "--json").out)
    assert [row["ends"] for row in rows["lemmas"]] == ["missed"] * 3
    brief = holdfast("prove", EXAMPLE, "--ablate", "--no-suggest").out
    assert brief.count("not looked for") == 3
    assert brief.endswith("TwoPhaseCommit: 3 of 3 lemmas are missed; no clauses were looked for\n\n")


def test_only_models_of_the_folder_are_stored(holdfast: Run) -> None:
    """--update works only for models in models/, without variants or removed rules."""
    Path("models").mkdir()
    Path("models/two.py").write_text(EXAMPLE.read_text())
    assert "--update stores results of the models in" in holdfast("prove", EXAMPLE, "--ablate", "--update").err
    refused = holdfast("prove", "two", "--ablate", "--update", "--without", "TP-02")
    assert "leave out --variant and --without" in refused.err
    assert holdfast("prove", "two", "--ablate", "--update").code == 0
    assert list(json.loads(Path("models/lemmas.json").read_text())) == ["two"]


def test_mutants_are_proved_too(holdfast: Run) -> None:
    """With --prove, mutate prints the prover's answer on each mutant and keeps it in the log."""
    Path("two_proof.py").write_text(PROOF)
    ran = holdfast("mutate", "two.py", "--prove", "--resume", "log")
    assert "all_agree after " in ran.out
    assert "mutants are proved, for any sizes; as the search says" in ran.out
    kept = Path("log").read_text()
    assert '"proof": ' in kept
    again = holdfast("mutate", "two.py", "--prove", "--resume", "log")
    assert (again.code, again.out) == (ran.code, ran.out)
    assert Path("log").read_text() == kept
    rows = json.loads(holdfast("mutate", "two.py", "--prove", "--json").out)["proofs"]
    assert {"TP-01", "TP-02"} <= {row["mutant"] for row in rows}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["two.py", "--property", "agree"], "TwoPhaseCommit has no property 'agree'"),
        ([str(EXAMPLE), "--property", "done"], "done: none of these names can be proved"),
        (["two.py", "--without", "TP-99"], "TwoPhaseCommit has no rule 'TP-99'"),
        (["tow"], "there is no model 'tow'"),
        (["two.py", "--budget", "soon"], "budget 'soon'"),
        (["two.py", "--k", "0"], "k"),
        (["two.py", "--budget", "100states"], "a proof counts no states"),
        (["two.py", "--fragment", "--depth", "3"], "--fragment and --depth ask for different things"),
        (["two.py", "--fragment", "--json"], "--fragment: --json has no effect there"),
        (["two.py", "--depth", "3", "--k", "2"], "--depth: --k has no effect there"),
        (["two.py", "--ablate", "--itf", "x"], "--ablate: --itf has no effect there"),
        (["two.py", "--update"], "a proof: --update has no effect there"),
        (["two.py", "--ablate"], "two.py is not proved as it is"),
        (["two.py", "--itf", "nowhere/x.itf.json"], "cannot be written"),
    ],
)
def test_wrong_arguments_are_one_line(holdfast: Run, arguments: list[str], problem: str) -> None:
    """Each wrong argument ends with 2 and one line that names it, before any proof starts."""
    ran = holdfast("prove", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert problem in ran.err
    assert ran.err.count("\n") == 1
