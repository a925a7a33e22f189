"""``holdfast mutate``: tables, JSON, runs, files, limits and exit codes."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from holdfast.check.mutate.log import MutationLog
from holdfast.check.mutate.result import MutantFacts
from tests.check.conftest import HEADER
from tests.check.mutating import lock
from tests.cli.running import Run
from tests.cli.samples import COUNTER


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with lock.py, whose declarations are true."""
    monkeypatch.chdir(tmp_path)
    write_lock()
    return tmp_path


def write_lock(name: str = "lock.py", **changed: str | None) -> None:
    """Write the lock with other declarations."""
    lines = "".join(f"    {line}" if line.strip() else line for line in lock(**changed).splitlines(keepends=True))
    Path(name).write_text(f"{HEADER}class Lock(Model):\n{lines}")


def test_what_is_declared_ends_with_0(holdfast: Run) -> None:
    """With true declarations the command ends 0: the table has each mutant, its outcome and reason, and a count."""
    ran = holdfast("mutate", "lock.py", "--cores", "1")
    rows = {line.split("  ")[0]: " ".join(line.split()[1:]) for line in ran.out.splitlines()}

    assert ran.code == 0
    assert rows["LS-01"] == "killed asked_first (LS-11) in 1 step tiny"
    assert rows["LS-08"] == "killed busy is not reached tiny"
    assert rows["LS-02"] == "redundant without LS-03 too: alone (LS-10) in 4 steps tiny"
    assert rows["LS-05"] == "equivalent who is inside has asked"
    assert rows["LS-06"] == "liveness over (LV-02) in 3 steps tiny"
    assert ran.out.splitlines()[-1] == (
        "Lock, scope tiny: 12 mutants: 2 missing, 2 equivalent, 2 redundant, 4 killed, 1 liveness, 1 sound; "
        "all as declared"
    )


def test_what_is_not_declared_ends_with_10(holdfast: Run) -> None:
    """For a wrong declaration, its place or the rule's place and the remedy are shown, and the table marks the row."""
    write_lock("other.py", LS_05=None, LS_06='equivalent("no")')
    ran = holdfast("mutate", "other.py")
    text = Path("other.py").read_text().splitlines()
    found = [line for line in ran.out.splitlines() if line.startswith("other.py:")]
    marked = [text[int(line.split(":")[1]) - 1] for line in found]

    assert ran.code == 10
    assert [line.partition(" ")[2] for line in found] == [
        'LS-05: not declared: its graph is that of the model; declare "LS-05": equivalent(reason)',
        (
            "LS-06: declared equivalent, but it takes steps that the model does not take; "
            'over (LV-02) in 3 steps kills it; declare "LS-06": liveness("over", reason)'
        ),
    ]
    assert ['"LS-05")' in marked[0], 'equivalent("no")' in marked[1]] == [True, True]
    assert "LS-06" in ran.out
    assert "SURVIVED" in ran.out
    assert ran.out.splitlines()[-1].endswith("2 not as declared")


def test_json_is_the_same_each_time(holdfast: Run) -> None:
    """JSON has one line for each model, always the same bytes; each mutant has its outcome, facts and declaration."""
    Path("counter.py").write_text(COUNTER)
    first = holdfast("mutate", "lock.py", "counter.py", "--json")
    lines = [json.loads(line) for line in first.out.splitlines()]
    rows = {row["mutant"]: row for row in lines[0]["mutants"]}

    assert [line["target"] for line in lines] == ["lock.py", "counter.py"]
    assert rows["LS-01"]["killed_by"]["property"] == "asked_first"
    starves = rows["LS-06"]["starves"]
    assert rows["LS-06"] | {"pairs": []} == {
        "mutant": "LS-06",
        "kind": "rule",
        "actions": ["leave"],
        "killed_by": None,
        "equal": False,
        "ended_by": None,
        "pairs": [],
        "way": "liveness",
        "declared": "liveness(LV-02)",
        "reason": "nobody else is ever let in",
        "fault": None,
        "starves": starves,
        "starves_open": None,
    }
    assert [(kill["property"], kill["steps"], kill["scope"]) for kill in starves] == [("over", 3, "tiny")]
    assert (lines[0]["exit_code"], lines[1]["exit_code"], first.code) == (0, 10, 10)
    assert holdfast("mutate", "lock.py", "counter.py", "--json").out == first.out


def test_each_kill_has_a_run(holdfast: Run) -> None:
    """Each kill's line in JSON replays to the violation, and the folder has the same runs as files, pairs included."""
    ran = holdfast("mutate", "lock.py", "--json", "--itf", "runs/here", "--only", "LS-01", "--only", "LS-02")
    [row] = [row for row in json.loads(ran.out)["mutants"] if row["mutant"] == "LS-01"]
    again = holdfast("replay", row["killed_by"]["replay"])

    assert sorted(path.name for path in Path("runs/here").iterdir()) == [
        "lock-LS-01.itf.json",
        "lock-LS-02+LS-03.itf.json",
    ]
    assert len(json.loads(Path("runs/here/lock-LS-01.itf.json").read_text())["states"]) == 2
    assert "asked_first" in again.out


def test_what_starves_has_a_run_too(holdfast: Run) -> None:
    """If a mutant violates liveness only, the folder has the lasso of the starvation."""
    holdfast("mutate", "lock.py", "--itf", "runs", "--only", "LS-06")
    kept = json.loads(Path("runs/lock-LS-06.itf.json").read_text())
    assert kept["loop"] >= 0


def test_a_model_that_does_not_hold_says_nothing_of_mutants(holdfast: Run) -> None:
    """If the unmutated model has a violation, it is shown with a check's exit code, and no mutant is tried."""
    Path("bad.py").write_text(Path("lock.py").read_text().replace("require(self.greedy or", "require(True or"))
    ran = holdfast("mutate", "bad.py")

    assert ran.code == 12
    assert "alone: violated after 4 steps" in ran.out
    assert "bad.py itself does not hold" in ran.err


def test_limits_end_with_20(holdfast: Run) -> None:
    """Without time nothing is tried; without states even the whole model has no answer. Both end with 20."""
    none = holdfast("mutate", "lock.py", "--budget", "0.000001s")
    few = holdfast("mutate", "lock.py", "--budget", "1states")

    assert (none.code, few.code) == (20, 20)
    assert "time: more than 1e-06 s, before any mutant was tried" in none.err
    assert "no answer (states: more than 1)" in few.out


def test_going_on_from_a_file(holdfast: Run) -> None:
    """A second run reads all facts from the file: it ends the same way and adds nothing to the file."""
    first = holdfast("mutate", "lock.py", "--resume", "facts")
    kept = Path("facts").read_text()
    again = holdfast("mutate", "lock.py", "--resume", "facts")

    assert (again.code, again.out) == (first.code, first.out)
    assert Path("facts").read_text() == kept


def test_an_altered_log_is_refused(holdfast: Run) -> None:
    """A log of mutants in which somebody has changed a value is refused in one line, and nothing is tried."""
    holdfast("mutate", "lock.py", "--resume", "facts")
    kept = Path("facts").read_text()
    for old, new in (('"steps": 1', '"steps": 2'), ('"LS-01"', '"LS-02"'), ('"digest": "', '"digest": "0')):
        assert old in kept
        Path("facts").write_text(kept.replace(old, new, 1))
        ran = holdfast("mutate", "lock.py", "--resume", "facts")
        assert (ran.code, ran.out) == (2, "")
        assert len(ran.err.splitlines()) == 1
        assert "is no line of a log of mutants (its digest does not fit its content" in ran.err
    assert len(kept.splitlines()) >= 12


def test_operators_go_on_from_a_file_too(holdfast: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The results of operators are kept in the file too, and are not tried again."""
    first = holdfast("mutate", "lock.py", "--operators", "--resume", "facts")
    kept = Path("facts").read_text()
    monkeypatch.setattr("holdfast.check.mutate.bench.Bench.try_changed", None)
    again = holdfast("mutate", "lock.py", "--operators", "--resume", "facts")

    assert "survived" in first.out
    assert (again.code, again.out) == (first.code, first.out)
    assert Path("facts").read_text() == kept


def test_operators_are_reported_and_no_failure(holdfast: Run) -> None:
    """Surviving operators are listed in a table of their own and do not change the exit code."""
    ran = holdfast("mutate", "lock.py", "--operators")
    rows = [" ".join(line.split()) for line in ran.out.splitlines() if line.startswith("lock.py:")]

    assert ran.code == 0
    assert any("leave tired is not written survived" in row for row in rows)
    assert any("leave inside is not written killed asked_first (LS-11) in 3 steps" in row for row in rows)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "no model is named; `holdfast models` lists all models"),
        (["nothing"], "there is no model 'nothing'"),
        (["lock.py", "--scope", "huge"], "Lock has no scope 'huge'; it has: tiny"),
        (["lock.py", "--only", "LS-99"], "Lock has no mutant 'LS-99'; did you mean"),
        (["lock.py", "--budget", "soon"], "'soon' is not a limit"),
        (["lock.py", "--resume", "lock.py"], "lock.py:1: is no line of a log of mutants"),
        (["lock.py", "--resume", "no/such/file"], "no/such/file: cannot be written"),
        (["lock.py", "--itf", "lock.py"], "lock.py: cannot be written"),
        (["lock.py", "--cores", "0"], "--cores"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_wrong_arguments(holdfast: Run, args: list[str], said: str) -> None:
    """A wrong argument gives one line on standard error, nothing on standard output, and code 2."""
    ran = holdfast("mutate", *args)

    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert said in ran.err


def test_an_interrupted_command_reports_what_it_has(holdfast: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """After Ctrl-C the finished rows are printed, the rest is named, later models are not tried, and the code is 20."""
    kept: list[MutantFacts] = []
    # A shell that runs the tests in the background lets them ignore Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt(_log: MutationLog, _target: str, _stamp: str, facts: MutantFacts) -> None:
        kept.append(facts)
        if len(kept) == 3:
            signal.raise_signal(signal.SIGINT)

    Path("counter.py").write_text(COUNTER)
    monkeypatch.setattr(MutationLog, "keep", interrupt)
    ran = holdfast("mutate", "lock.py", "counter.py")
    signal.signal(signal.SIGINT, before)

    assert ran.code == 20
    assert "ended early (interrupted); not tried: " in ran.out
    assert "LS-07" in ran.out
    assert ran.err == "holdfast: not tried: counter.py\n"


def test_results_are_stored_and_make_the_page(holdfast: Run) -> None:
    """--update stores results that match their declarations beside the models, and --guards writes the page of them."""
    Path("models").mkdir()
    write_lock("models/lock.py")
    Path("models/guards.toml").write_text(
        '[[table]]\nname = "locks.md 3"\ntitle = "Locks"\n\n[[table.guard]]\nid = "G-01"\nguard = "one"\n'
        'protects = "LS-10"\nhome = "lock"\nmutants = ["lock:LS-01"]\n'
    )
    before = holdfast("mutate", "--guards", "guards.md")
    untried = Path("guards.md").read_text()
    updated = holdfast("mutate", "--update")
    after = holdfast("mutate", "--guards", "guards.md")

    assert (before.code, updated.code, after.code) == (0, 0, 0)
    assert "`lock` LS-01: not tried yet" in untried
    assert "`lock` LS-01: **killed** by asked_first (LS-11) in 1 step" in Path("guards.md").read_text()
    assert json.loads(Path("models/mutants.json").read_text())["lock"]["scopes"] == ["tiny"]


def test_only_the_whole_truth_is_stored(holdfast: Run) -> None:
    """Partial trials, wrong declarations and models of other folders are not stored."""
    Path("models").mkdir()
    write_lock("models/lock.py", LS_06=None)
    wrong = holdfast("mutate", "--update")
    refused = [
        holdfast("mutate", "lock", "--update", *options)
        for options in (["--scope", "tiny"], ["--only", "LS-01"], ["--no-pairs"], ["--no-variants"])
    ]
    elsewhere = holdfast("mutate", "lock.py", "--update")

    assert wrong.code == 10
    assert "nothing is stored" in wrong.err
    assert [(ran.code, ran.out, ran.err.count("\n")) for ran in (*refused, elsewhere)] == [(2, "", 1)] * 5
    assert not Path("models/mutants.json").exists()
