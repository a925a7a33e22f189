"""``holdfast campaign`` on the command line, with workers of this process instead of Spark."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

import spark.cli.look
import spark.cli.run
from spark.campaign.places import unit_path
from spark.cluster.session import start_cluster
from tests.cli.running import Run
from tests.spark.running import BROKEN, TABLE, here, place, tables

WITHOUT = ("--without", *BROKEN)


@pytest.fixture(autouse=True)
def workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands of these tests start no Spark."""
    monkeypatch.setattr(spark.cli.run, "start_cluster", here)


def run_words(out: Path, *more: object, traces: object = 3000) -> list[object]:
    """A small campaign."""
    words = ["campaign", "run", "--target", TABLE, "--scope", "tiny", "--runs", traces, "--seed", 7, "--out", out]
    return [*words, *more]


@pytest.fixture
def broken(holdfast: Run, tmp_path: Path) -> Path:
    """A campaign with findings."""
    out = tmp_path / "broken"
    assert holdfast(*run_words(out, *WITHOUT)).code == 12
    return out


def test_nothing_found(holdfast: Run, tmp_path: Path) -> None:
    """Without findings it ends with 0 and prints the number of runs. Times go to standard error."""
    ran = holdfast(*run_words(tmp_path / "a"))

    assert ran.code == 0
    assert ran.out.startswith("Table, scope tiny: nothing found in 3,000 runs, which is no proof\n")
    assert ran.err.startswith("3,000 runs, ")
    assert holdfast("campaign", "status", tmp_path / "a").code == 0


def test_a_finding_is_shown_and_replays(holdfast: Run, tmp_path: Path) -> None:
    """With a finding it ends with 12, shows a run, and prints a line that replays the same run."""
    ran = holdfast(*run_words(tmp_path / "a", *WITHOUT))
    [line] = [line for line in ran.out.splitlines() if line.startswith("replay: ")]
    replayed = holdfast(*shlex.split(line)[2:])

    assert (ran.code, replayed.code) == (12, 12)
    shown = ran.out.partition("reproduce:")[0]
    assert shown in replayed.out


def test_an_invariant_called_deadlock_is_no_deadlock(holdfast: Run, tmp_path: Path) -> None:
    """A campaign whose only finding is an invariant named deadlock ends with 12, not 11, also when read again."""
    model = tmp_path / "clock.py"
    model.write_text(CLOCK)
    words = ["campaign", "run", "--target", model, "--scope", "tiny", "--runs", 200, "--seed", 7]
    assert holdfast(*words, "--out", tmp_path / "a").code == 12
    assert holdfast("campaign", "status", tmp_path / "a").code == 12


CLOCK = '''
from holdfast.lang import Model, Nat, Scope, action, final, init, invariant, require

class Hour(Nat): ...

class Clock(Model):
    """A clock that stops at 2."""
    now: Hour
    tiny = Scope({Hour: 2})
    @init
    def begin(self) -> None:
        self.now = Hour(0)
    @action
    def tick(self) -> None:
        require(self.now < Hour(2), "CK-01")
        self.now = self.now + 1
    @invariant
    def deadlock(self) -> bool:
        """CK-10. Not 2."""
        return self.now != Hour(2)
    @final
    def over(self) -> bool:
        return self.now == Hour(2)
'''


def test_a_finding_is_reproduced_by_its_walk(holdfast: Run, tmp_path: Path) -> None:
    """The printed ``walk`` command makes the same run from its seed and number."""
    ran = holdfast(*run_words(tmp_path / "a", *WITHOUT))
    [line] = [line for line in ran.out.splitlines() if line.startswith("reproduce: ")]
    walked = holdfast(*shlex.split(line)[2:])

    assert walked.code == 12
    assert walked.out.partition("reproduce:")[0] == ran.out.partition("reproduce:")[0]


def test_the_same_twice(holdfast: Run, tmp_path: Path) -> None:
    """Equal commands print and write the same bytes."""
    one, two = (holdfast(*run_words(tmp_path / name, *WITHOUT)) for name in "ab")

    assert one.out == two.out
    assert tables(place(tmp_path / "a")) == tables(place(tmp_path / "b"))


def test_a_budget_leaves_the_rest(holdfast: Run, tmp_path: Path) -> None:
    """A limit leaves units out and says so. ``resume`` completes the tables to those of an undisturbed campaign."""
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    holdfast(*run_words(whole))
    holdfast(*run_words(cut))
    for table in ("runs", "coverage"):
        (cut / unit_path(table, 1)).unlink()

    status = holdfast("campaign", "status", cut)
    assert (status.code, "2 of 3 done" in status.out) == (20, True)
    resumed = holdfast("campaign", "resume", cut, "--model", TABLE)

    assert resumed.code == 0
    assert tables(place(cut)) == tables(place(whole))


def test_a_changed_model_is_refused(holdfast: Run, tmp_path: Path) -> None:
    """A campaign does not resume with a changed model. The message has both fingerprints."""
    model = tmp_path / "mine.py"
    model.write_text(TABLE.read_text())
    holdfast("campaign", "run", "--target", model, "--runs", 1024, "--scope", "tiny", "--out", tmp_path / "a")
    # A process imports a model once; this makes it import the changed file, as a new process would.
    model.write_text(TABLE.read_text().replace('require(not self.opened[s], "ST-14"', 'require(True, "ST-14"'))
    words = [sys.executable, "-m", "holdfast", "campaign", "resume", str(tmp_path / "a"), "--model", str(model)]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)

    assert ran.returncode == 2
    assert "was begun with Table of fingerprint" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def test_reports_are_written(holdfast: Run, broken: Path, tmp_path: Path) -> None:
    """The page, JUnit and SARIF of a campaign, made from its tables."""
    junit, sarif = tmp_path / "a.xml", tmp_path / "a.sarif"
    ran = holdfast("campaign", "report", broken, "--model", TABLE, "--junit", junit, "--sarif", sarif, "--github")

    assert ran.code == 0
    assert "report.html" in ran.out
    assert "::error file=" in ran.out
    assert (broken / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert 'type="invariant"' in junit.read_text()
    assert '"codeFlows"' in sarif.read_text()


def test_two_campaigns_are_compared(holdfast: Run, broken: Path, tmp_path: Path) -> None:
    """The exit code is 12 if the second campaign has findings that the first lacks, and not the other way round."""
    holdfast(*run_words(tmp_path / "sound"))

    assert holdfast("campaign", "diff", tmp_path / "sound", broken).code == 12
    assert holdfast("campaign", "diff", broken, tmp_path / "sound").code == 0
    assert holdfast("campaign", "diff", broken, broken).code == 0


def test_a_plan_shows_its_formulas(holdfast: Run, broken: Path) -> None:
    """A plan prints its formulas, with a campaign's rates."""
    ran = holdfast("campaign", "plan", broken, "--runs", "1e12", "--cores", 2000)

    assert ran.code == 0
    assert "1,000,000,000,000 traces on 2,000 cores" in " ".join(ran.out.split())


REFUSED = {
    "no campaign": (("status", "{tmp}"), "holds no campaign"),
    "no campaign to resume": (("resume", "{tmp}"), "holds no campaign"),
    "a plan of nothing": (("plan", "--runs", "1e6", "--cores", "2"), "name one"),
    "no number": (
        ("run", "--target", TABLE, "--out", "{tmp}/a", "--runs", "many"),
        "--runs many: it is no whole number; write one",
    ),
    "too many": (("run", "--target", TABLE, "--out", "{tmp}/a", "--runs", "1e19"), "--runs"),
    "no steps": (("run", "--target", TABLE, "--out", "{tmp}/a", "--depth", "0"), "--depth 0"),
    "no findings": (("run", "--target", TABLE, "--out", "{tmp}/a", "--stop-after", "0"), "--stop-after 0"),
    "a state budget": (
        ("run", "--target", TABLE, "--out", "{tmp}/a", "--budget", "5states"),
        "a campaign stores no states",
    ),
    "no seed": (("run", "--target", TABLE, "--out", "{tmp}/a", "--seed", "x"), "--seed x"),
    "no master": (("run", "--target", TABLE, "--out", "{tmp}/a", "--master", "nowhere"), "--master is 'nowhere'"),
    "no model": (("run", "--target", "tables", "--out", "{tmp}/a"), "tables"),
    "nearly a target": (("run", "--target", "clutser", "--out", "{tmp}/a"), "no such target; did you mean cluster"),
    "nearly logs": (
        ("run", "--target", "logs", "--out", "{tmp}/a"),
        "--target logs: there is no such target; did you mean log",
    ),
    "no target": (("run", "--target", "xyzzy", "--out", "{tmp}/a"), "give cluster, balancer, log or a name that"),
    "a plan of logs": (("plan", "--target", "clutser", "--runs", "9", "--cores", "2"), "did you mean cluster"),
    "no steps of a cluster": (
        ("run", "--target", "cluster", "--steps", "0", "--out", "{tmp}/a"),
        "--steps 0: a run of",
    ),
    "no setting": (("run", "--target", "cluster", "--setting", "min", "--out", "{tmp}/a"), "--setting: "),
    "no property": (("run", "--target", TABLE, "--out", "{tmp}/a", "--property", "none"), "no property 'none'"),
    "a file": (("run", "--target", TABLE, "--out", "{tmp}/file"), "file"),
    "an unknown option": (("run", "--target", TABLE, "--out", "{tmp}/a", "--trace", "5"), "--trace"),
    "S3 for folders": (
        ("diff", "{tmp}", "{tmp}", "--s3", "http://127.0.0.1:1"),
        "--s3: neither campaign lies on S3; leave it out",
    ),
    "a scope for a place": (
        ("plan", "{tmp}/a", "--runs", "9", "--cores", "2", "--scope", "tiny"),
        "--scope: it belongs to --target; leave it out",
    ),
    "S3 for a measurement": (
        ("plan", "--target", TABLE, "--runs", "9", "--cores", "2", "--s3", "http://127.0.0.1:1"),
        "--s3: a measurement reads no campaign; leave it out",
    ),
    "S3 for a folder": (("status", "{tmp}", "--s3", "http://127.0.0.1:1"), "--s3"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_one_line(holdfast: Run, tmp_path: Path, case: str) -> None:
    """A wrong argument ends with 2 and one line, and starts nothing."""
    words, said = REFUSED[case]
    (tmp_path / "file").write_text("")

    ran = holdfast("campaign", *(str(word).replace("{tmp}", str(tmp_path)) for word in words))

    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1
    assert not (tmp_path / "a" / "campaign.parquet").exists()


@pytest.mark.parametrize("file", ["campaign.parquet", "findings.parquet", unit_path("runs", 0)])
@pytest.mark.parametrize("content", ["", "half of a file", "another table"])
def test_a_damaged_file_is_one_line(holdfast: Run, broken: Path, file: str, content: str) -> None:
    """A damaged file is one line, both for ``status`` and for ``resume``."""
    other = broken / unit_path("coverage", 0)
    (broken / file).write_bytes(other.read_bytes() if content == "another table" else content.encode())

    for verb in ("status", "resume"):
        named = ["--model", TABLE] if verb == "resume" else []
        ran = holdfast("campaign", verb, broken, *named)

        assert (ran.code, ran.out) == (2, "")
        assert f"{file} " in ran.err
        assert len(ran.err.splitlines()) == 1


def test_a_second_campaign_is_refused(holdfast: Run, broken: Path) -> None:
    """A second campaign in the same place is refused."""
    ran = holdfast(*run_words(broken))

    assert ran.code == 2
    assert "campaign resume" in ran.err


def test_a_missing_library_is_named(broken: Path) -> None:
    """Without the extra one line names it."""
    lines = f"""
        import sys
        sys.modules["pyarrow"] = None
        from holdfast.cli.app import main
        sys.exit(main(["campaign", "status", {str(broken)!r}]))
    """
    ran = subprocess.run([sys.executable, "-c", dedent(lines)], capture_output=True, text=True, check=False)

    assert ran.returncode == 2
    assert (
        ran.stderr == "holdfast: pyarrow is not installed, and this command needs it; pip install 'holdfast[spark]'\n"
    )


def test_what_cannot_start_has_not_begun(holdfast: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If Spark does not start, it leaves no campaign that would have to be resumed."""
    monkeypatch.setattr(spark.cli.run, "start_cluster", start_cluster)

    ran = holdfast(*run_words(tmp_path / "a", "--master", "spark://127.0.0.1:1"))

    assert ran.code == 2
    assert "spark://127.0.0.1:1 cannot be reached" in ran.err
    assert not (tmp_path / "a" / "campaign.parquet").exists()


def test_what_is_interrupted_while_spark_starts_is_resumed(
    holdfast: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A campaign is known before Spark is there: after Ctrl-C meanwhile, `resume` makes all its runs."""

    def interrupted(_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(spark.cli.run, "start_cluster", interrupted)
    ran = holdfast(*run_words(tmp_path / "a"))
    assert (ran.code, ran.out) == (20, "")
    assert f"go on with `holdfast campaign resume {tmp_path / 'a'}`" in ran.err
    monkeypatch.setattr(spark.cli.run, "start_cluster", here)
    assert holdfast("campaign", "resume", tmp_path / "a", "--model", TABLE).code == 0
    assert holdfast(*run_words(tmp_path / "b")).code == 0
    assert tables(place(tmp_path / "a")) == tables(place(tmp_path / "b"))


@pytest.mark.parametrize("words", [["--cores", "-1"], ["--cores", "0"], ["--cores", "4", "--cores-per-machine", "0"]])
def test_a_plan_judges_its_numbers_before_it_measures(
    holdfast: Run, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A number out of range is refused before the target is even loaded."""
    monkeypatch.setattr(spark.cli.look, "_measure", lambda *_: pytest.fail("it measured"))
    ran = holdfast("campaign", "plan", "--target", TABLE, "--runs", "1e9", *words)
    assert (ran.code, ran.out) == (2, "")
    assert "choose a number from 1" in ran.err
