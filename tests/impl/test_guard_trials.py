"""How the lack of a rule is found: the runs of the default mix, trials of one rule, and the files that keep them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import pytest

from holdfast.check.worker_pool import WorkerPool
from holdfast.cli.app import main
from holdfast.ir.errors import UsageError
from impl.bridge.guards import trial
from impl.bridge.guards.conformance import objection
from impl.bridge.guards.making import PartDecisions, _counted, _is_open, _prepare, _tasks, _without_assertions
from impl.bridge.guards.part_runs import PartRun, by_part_runs, part_command, part_decisions, part_runs, seed_of_unit
from impl.bridge.guards.progress import GuardProgress, RunDecisions
from impl.bridge.guards.row import NOT_TRIED, GuardRow, GuardStore, read, text, unfound
from impl.bridge.guards.trial import NOTHING, TRIES, GuardTrial, Lack, _decides, evidence, reached, repeated
from impl.bridge.guards.unreachable import REASONS, undecided, wrongly_listed
from impl.bridge.guards.walk import disagreement
from impl.bridge.missing_rules import fails_without, tells_lack
from impl.bridge.pairings import pairing
from impl.cli import guards as guards_command
from impl.oracles.verdict import Violation
from impl.rules import guards
from impl.scenario.language import read_file, read_text
from impl.sim.check import NODE_ERROR, check
from impl.sim.mix import command, question
from spark.campaign.config import Config

FAILING = """\
name: it expects a stream that nobody has created
steps:
  - {op: describe, stream: 9, expect: {streams: [{stream: 9}]}}
"""
"""A scenario whose last step fails with all rules."""


def first_run(version: str, partitions: int, kinds: int) -> int:
    """The first run of the mix of a version, with streams or partitions, and with at least some kinds of faults."""
    return next(
        number
        for number in range(1_000)
        if (asked := question(number)).version == version
        and asked.options.partitions == partitions
        and asked.options.faults != "none"
        and len(asked.options.faults) >= kinds
    )


def test_an_oracle_finds_a_lack() -> None:
    """Without CL-08 an oracle objects to a run that it does not object to with all rules."""
    number = first_run("legacy", 0, 1)
    found = Lack("CL-08").by_oracle([number])
    assert (found.finder, found.run) == ("oracle", number)
    assert not check(question(number)).violations


def test_a_walk_finds_a_lack() -> None:
    """Without CA-41 the controller differs from the model in some walk, and with all rules it does not."""
    found = Lack("CA-41").by_walks(["cancellation"], TRIES)
    assert found.finder == "machine"
    assert found.run is not None
    assert found == Lack("CA-41").by_walk("cancellation", found.run)
    assert disagreement(pairing("cancellation"), found.run) is None


def test_models_allow_a_run_with_all_rules() -> None:
    """No model objects to a run with faults."""
    asked = question(first_run("legacy", 0, 1))
    assert objection(asked, check(asked)) is None


def test_a_kept_run_counts_as_the_oracle_that_objects() -> None:
    """A rule that has a kept run needs no run of the mix."""
    found = evidence(GuardTrial("ST-14", ()))
    assert (found.finder, found.by) == ("oracle", "log")
    assert found.file.startswith("corpus/V6-without-ST-14-log-")


def test_a_kept_run_with_a_defect_built_in_shows_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oracle objects to the defect, and both are mended at once."""
    (kept,) = Path("corpus").glob("V6-with-AM-03-log-1083.json")
    case = json.loads(kept.read_text(encoding="utf-8"))
    (tmp_path / "V6-without-CA-04-with-AM-03-log-1083.json").write_text(json.dumps({**case, "without": ["CA-04"]}))
    monkeypatch.setattr(trial, "KEPT", tmp_path)
    assert trial._by_kept_run("CA-04") == NOTHING


def test_an_error_with_all_rules_finds_no_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node ends with an error in both runs."""
    number = first_run("legacy", 0, 1)
    broken = check(question(number))
    broken = msgspec.structs.replace(broken, violations=(Violation(NODE_ERROR, -1, "KeyError"),))
    monkeypatch.setattr(trial, "check", lambda _: broken)
    lack = Lack("CL-08")
    assert (lack.by_oracle([number]), lack.error) == (NOTHING, NOTHING)


def test_kinds_are_left_out_until_each_one_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without loss the rule decides only if nothing is slow either."""
    kinds = [("delay", "loss"), ("delay",), ()]
    monkeypatch.setattr(trial, "_decides", lambda _number, _label, faults: faults in kinds)
    assert reached(0, "ST-14", ("delay", "loss")) == ()
    before = GuardRow(label="ST-14", reached=0, faults=("delay",))
    assert reached(0, "ST-14", ("delay", "loss"), before) == ()


def test_kinds_of_faults_that_reach_nothing_are_left_out() -> None:
    """ST-17.seal decides something in every run, so it needs no fault at all."""
    number = first_run("V6", 0, 2)
    assert reached(number, "ST-17.seal", tuple(question(number).options.faults)) == ()


@pytest.mark.slow
def test_kinds_that_never_happened_may_matter() -> None:
    """Run 436 has kinds of faults that never happen in it; without them it takes another course."""
    happened = ("cut", "delay", "image_coalesce", "image_delay", "partition", "pause", "reorder", "store_race")
    assert not _decides(436, "RC-02.gap", happened)
    found = reached(436, "RC-02.gap", happened)
    assert "stop" in found
    assert _decides(436, "RC-02.gap", found)


def test_tasks_tell_what_runs_say() -> None:
    """A task has the runs to try, the counts, and the run with the fewest kinds of faults."""
    runs = [RunDecisions(number, {"ST-14": 1 + number % 5}, ("loss",) * (number % 3 + 1)) for number in range(40)]
    tasks = {each.trial.label: each for each in _tasks(runs)}
    assert list(tasks) == list(guards())
    task = tasks["ST-14"]
    assert (task.decided, task.runs, task.reached, task.kinds) == (120, 40, 0, ("loss",))
    assert len(set(task.trial.numbers)) == len(task.trial.numbers) == TRIES
    assert {4, 0} <= set(task.trial.numbers)
    (fewer,) = [each for each in _tasks(runs, 3) if each.trial.label == "ST-14"]
    assert (fewer.trial.numbers, fewer.trial.most_partners) == (task.trial.numbers[:3], 1)
    assert (tasks["ST-12"].runs, tasks["ST-12"].reached, tasks["ST-12"].trial.numbers) == (0, None, ())


def test_rules_are_tried_in_runs_of_parts() -> None:
    """Only in those to which no oracle objects with all rules. They are counted for rules that decide nothing else."""
    mix = [RunDecisions(1, {"ST-14": 1}, ())]
    rounds = [PartRun("balancer-round", seed) for seed in (2, 4, 6)]
    of_parts = [PartDecisions(each, {"BG-13": 2, "ST-14": 9}, violated=each.seed == 4) for each in rounds]
    tasks = {each.trial.label: each for each in _tasks(mix, parts=of_parts)}
    assert (tasks["BG-13"].decided, tasks["BG-13"].runs, tasks["BG-13"].idle) == (6, 3, True)
    assert (tasks["ST-14"].decided, tasks["ST-14"].runs, tasks["ST-14"].idle) == (1, 1, False)
    assert tasks["BG-13"].trial.part_runs == tasks["ST-14"].trial.part_runs == (rounds[0], rounds[2])

    found = evidence(tasks["BG-13"].trial)
    assert (found.finder, found.by, found.run, found.part) == ("oracle", "P-13", 2, "balancer-round")
    row = GuardRow(label="BG-13", **msgspec.structs.asdict(found))
    assert repeated(row) == found
    assert repeated(msgspec.structs.replace(row, run=0)) == NOTHING


@pytest.mark.parametrize(
    ("label", "run", "by"),
    [
        ("BG-02.time", PartRun("balancer-history", 17), "AB-14"),
        ("BG-17", PartRun("balancer-execution", 3), "AB-53"),
        ("BG-18", PartRun("balancer-join", 0), "one planner"),
    ],
)
def test_each_kind_of_runs_of_parts_finds_a_lack(label: str, run: PartRun, by: str) -> None:
    """A history, an execution, and a cluster in which a broker joins."""
    assert run in set(part_runs())
    assert by_part_runs((label,), [run]).by == by
    assert part_decisions(run)[1] == NOTHING


def test_commands_of_parts() -> None:
    """The command makes the same run without the rule."""
    said = part_command(PartRun("balancer-history", 7), ["BG-03"])
    assert said == "holdfast simulate --part balancer-history --seed 7 --without BG-03"


@pytest.mark.parametrize("seed", [0, 1, 2_999])
def test_a_round_of_the_balancer_is_the_first_run_of_a_campaign(seed: int) -> None:
    """So the command of the page makes the same round."""
    campaign = Config(target="balancer", scope="", traces=1, depth=100, seed=seed, traces_per_unit=1, balancer="parity")
    assert campaign.seed_of(0) == seed_of_unit(seed)


def test_a_rule_that_decided_nothing_is_named() -> None:
    """Rules that decided nothing, and rules that nothing finds, are told apart."""
    rows = (GuardRow(label="ST-12"), GuardRow(label="ST-14", decided=1, runs=1, finder="oracle", by="log", run=1))
    assert undecided(rows) == ["ST-12"]
    assert unfound(rows) == ["ST-12"]


def test_a_rule_that_decides_only_in_runs_of_parts_is_listed() -> None:
    """Everywhere a rule has to decide something, also a listed one. The rules of the list exist, in their order."""
    in_parts = {"decided": 1, "runs": 1, "idle": True}
    rows = (GuardRow(label="CS-27"), GuardRow(label="PL-13.gap", **in_parts), GuardRow(label="ST-12", **in_parts))
    assert undecided(rows) == ["CS-27", "ST-12"]
    assert wrongly_listed(rows) == []
    assert wrongly_listed((GuardRow(label="CA-04", decided=1, runs=1),)) == ["CA-04"]
    assert list(REASONS) == [label for label in guards() if label in REASONS]


def asserts(_: int) -> bool:
    """Whether assertions are on in this process."""
    return __debug__


def test_assertions_are_off_in_the_processes_that_try_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule is not found by an assertion in a node. Where assertions are on, nothing is tried."""
    monkeypatch.setenv("PYTHONOPTIMIZE", "")
    with _without_assertions(), WorkerPool(1, _prepare, None) as pool:
        assert list(pool.in_order(asserts, [1], lambda _: None)) == [False]
    assert os.environ["PYTHONOPTIMIZE"] == ""
    assert asserts(1)
    with pytest.raises(RuntimeError, match="assertions are on"):
        _prepare(None)


def test_a_scenario_that_fails_anyway_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a scenario that passes with all rules counts: the first of the two fails with and without the rule."""
    path = Path("tests/scenarios/streams/open.yaml")
    sound = next(each for each in read_file(path) if tells_lack(each, "ST-16.back"))
    steps = (*sound.steps, read_text(FAILING)[0].steps[-1])
    broken = msgspec.structs.replace(sound, name="broken", steps=steps)
    assert fails_without(broken, "ST-16.back")
    assert not tells_lack(broken, "ST-16.back")
    monkeypatch.setattr(trial, "_scenarios", lambda: [("broken.yaml", broken)])
    assert trial._by_scenarios("ST-16.back") == NOTHING
    monkeypatch.setattr(trial, "_scenarios", lambda: [("broken.yaml", broken), ("open.yaml", sound)])
    assert trial._by_scenarios("ST-16.back").file == "open.yaml"


def test_what_found_a_lack_before_is_tried_first() -> None:
    """The scenario of an earlier row is enough, if it still fails without the rule; a wrong row is worth nothing."""
    file = "tests/scenarios/streams/open.yaml"
    row = GuardRow(label="ST-16.back", finder="scenario", file=file)
    gone = msgspec.structs.replace(row, label="ST-14", file="tests/scenarios/gone.yaml")
    assert evidence(GuardTrial("ST-16.back", (), 1, row)).file == file
    assert repeated(msgspec.structs.replace(row, file="tests/scenarios/streams/trim.yaml")) == NOTHING
    assert evidence(GuardTrial("ST-14", (), 1, gone)).finder == "oracle"


def test_an_oracle_is_asked_before_something_weaker_is_repeated() -> None:
    """A scenario found the lack of ST-43 before; now the oracle of answers does."""
    number = next(row.reached for row in read().rows if row.label == "ST-43")
    assert number is not None
    row = GuardRow(label="ST-43", finder="scenario", file="tests/scenarios/streams/trim.yaml")
    assert repeated(row).finder == "scenario"
    found = evidence(GuardTrial("ST-43", (number,), 1, row))
    assert (found.finder, found.by, found.run) == ("oracle", "answers", number)


def test_a_task_has_the_row_of_an_earlier_trial() -> None:
    """Each rule gets its own row, and those of which a row says what finds their lack are known."""
    before = GuardRow(label="CL-08.confirm", finder="oracle", by="heal", run=1)
    tasks = {each.trial.label: each for each in _tasks([], before={"CL-08.confirm": before})}
    assert tasks["CL-08.confirm"].trial.before == before
    assert tasks["CL-08.confirm"].trial.was_found
    assert not tasks["ST-14"].trial.was_found


def test_a_file_without_rows_is_refused(tmp_path: Path) -> None:
    """The message names the file and the remedy."""
    file = tmp_path / "guards.json"
    file.write_text('{"runs": 1}')
    with pytest.raises(UsageError, match=r"guards.json: holds no rows .*write it anew with `holdfast simulate"):
        read(file)
    with pytest.raises(UsageError, match="cannot be read"):
        read(tmp_path / "none.json")
    store = GuardStore(runs=1, rows=(GuardRow(label="ST-12"),))
    file.write_text(text(store))
    assert read(file) == store
    assert msgspec.json.decode(text(store))["rows"] == [{"label": "ST-12"}]


def test_a_command_of_the_page_makes_the_run_of_the_mix() -> None:
    """A command has every option by which a run of the mix differs from the defaults."""
    asked = [question(number, ("ST-14",)) for number in range(40)]
    assert {each.version for each in asked} == {"V6", "legacy"}
    assert {bool(each.options.partitions) for each in asked} == {True, False}
    for each in asked:
        words = command(each).split()
        given = dict(zip(words[2::2], words[3::2], strict=True))
        faults = given["--faults"]
        assert given["--seed"] == str(each.seed)
        assert given["--without"] == "ST-14"
        assert each.options.faults == (faults if faults == "none" else tuple(faults.split(",")))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--runs", "5"), "--runs: it belongs to --update; leave it out"),
        (("--tries", "5"), "--tries: it belongs to --update; leave it out"),
        (("--resume", "a.ndjson"), "--resume: it belongs to --update; leave it out"),
        (("--guards", "page.md", "--runs", "5"), "--runs: it belongs to --update; leave it out"),
        (("--guards", "page.md", "--budget", "5s"), "--budget: it belongs to --update; leave it out"),
        (("--update",), "--update: there is no folder corpus; run this in the root of the repository"),
        (("--update", "--seed", "1"), "--seed: all rules are meant; leave it out"),
        (("--update", "--without", "ST-14"), "--without: all rules are meant; leave it out"),
        (("--guards", "page.md", "--partitions", "3"), "--partitions: all rules are meant; leave it out"),
        (("--update", "--json"), "--json: all rules are meant; leave it out"),
    ],
)
def test_options_that_do_not_go_together(
    given: tuple[str, ...],
    said: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An option of one run is refused where all rules are meant, and the other way round. No file is written."""
    monkeypatch.chdir(tmp_path)
    assert main(["simulate", *given]) == 2
    assert capsys.readouterr().err == f"holdfast: {said}\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("resume", "kept"),
    [((), "nothing is kept without --resume"), (("--resume", "progress.ndjson"), "go on with --resume")],
)
def test_a_limit_keeps_the_rows_of_earlier_trials(
    resume: tuple[str, ...],
    kept: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rules that were not tried replace no row. A limit that leaves no time ends with 20, and no page is written."""
    file, page = tmp_path / "guards.json", tmp_path / "page.md"
    monkeypatch.setattr(guards_command, "FILE", file)
    file.write_text("earlier")
    where = [str(tmp_path / each) if each.endswith("ndjson") else each for each in resume]
    assert main(["simulate", "--update", "--runs", "1", "--budget", "0.001s", "--guards", str(page), *where]) == 20
    said = capsys.readouterr()
    assert f"; guards.json stays as it was; {kept}\n" in said.err
    assert "found by nothing" not in said.out
    assert file.read_text() == "earlier"
    assert not page.exists()


def test_progress_is_kept(tmp_path: Path) -> None:
    """A file has what was kept, without a last line that was not written to its end."""
    path = tmp_path / "progress.ndjson"
    progress = GuardProgress(path)
    run = RunDecisions(3, {"ST-12": 2}, ("loss",))
    progress.keep(run=run)
    progress.keep(row=GuardRow(label="ST-12"))
    whole = path.read_text()
    path.write_text(whole + '{"row": {"la')
    again = GuardProgress(path)
    assert again.runs == {3: run}
    assert again.rows == {"ST-12": GuardRow(label="ST-12")}
    assert path.read_text() == whole
    path.write_text('{"stamp": "0"}\n')
    with pytest.raises(UsageError, match="was made with other code; remove it"):
        GuardProgress(path)
    for foreign in ("[]\n", "notes", '{"run": 1}\n'):
        path.write_text(foreign)
        with pytest.raises(UsageError, match="is no file of --resume"):
            GuardProgress(path)
        assert path.read_text() == foreign


def test_only_open_rules_are_tried_again() -> None:
    """A rule is tried again if nothing was found, or if only now a run reaches it. The counts are always the newest."""
    (task,) = [each for each in _tasks([RunDecisions(4, {"ST-14": 2}, ())]) if each.trial.label == "ST-14"]
    found = GuardRow(label="ST-14", decided=1, runs=1, reached=4, finder="oracle", by="log", run=4)
    assert _is_open(task, None)
    assert _is_open(task, GuardRow(label="ST-14", reached=4))
    assert _is_open(task, GuardRow(label="ST-14", finder="scenario", file="a.yaml"))
    assert not _is_open(task, found)
    assert _counted(task, found) == msgspec.structs.replace(found, decided=2)
    assert _counted(task, None) == GuardRow(label="ST-14", decided=2, runs=1, said=NOT_TRIED)
