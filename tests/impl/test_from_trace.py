"""``holdfast scenario from-trace``: scenario files of models' runs, which need the rule that the run lacks."""

from __future__ import annotations

import re
from pathlib import Path

import attrs
import pytest

from holdfast.cli.app import main
from holdfast.ir.errors import UsageError
from impl.bridge.counterexample import scenario_of
from impl.bridge.missing_rules import KRAFT, OF_LABELS, OF_VARIANTS, PROFILES, TIMER_AS_BUILT, labels_of, needed
from impl.bridge.paired_run import DisagreementError
from impl.rules import guards, without
from impl.scenario.language import read_text
from impl.scenario.switches import switches

PAGES = Path(__file__).parents[2] / "docs" / "findings"
LINE = re.compile(r"^replay:    holdfast replay '(.*)'$", re.MULTILINE)
Captured = pytest.CaptureFixture[str]


@attrs.frozen
class Finding:
    """A run on a page of ``docs/findings``: the property that it shows, and what the implementation lacks in it.

    ``own``: the rule of the implementation without which its scenario fails; None if the run lacks no such rule.
    ``other``: a rule without which it fails, too.
    """

    page: str
    claim: str
    own: str | None
    other: str

    @property
    def line(self) -> str:
        """The replay line on the page."""
        found = LINE.findall((PAGES / f"{self.page}.md").read_text(encoding="utf-8"))
        return next(line for line in found if f" {self.claim}: " in line)


FINDINGS = [
    Finding("AM-01", "entry_is_durable", None, "CK-02.epoch_old"),
    Finding("AM-02", "taken_over_has_no_effect", "AM-02", "CK-01.flag"),
    Finding("AM-20", "one_owner", None, "CK-02.node"),
    Finding("CA-20", "went_unnoticed", None, "CA-20"),
    Finding("CA-23-order", "order_restored", KRAFT, "RA-44"),
    Finding("CA-23-overlap", "set_restored", KRAFT, "CA-27"),
    Finding("CA-25-min-isr", "stays_writable", KRAFT, "CA-26.min_isr"),
    Finding("CA-25-unclean", "in_sync_is_complete", KRAFT, "CA-26.alive"),
    Finding("CA-42", "cancelled_in_time", "CA-41", "CA-20"),
    Finding("CA-46", "clean_is_true", None, "CA-44"),
    Finding("CA-47", "no_acked_loss", "CK-02.epoch_old", "RA-04"),
    Finding("EL-03", "leader_found", "EL-03", "EL-12.leaderless"),
    Finding("EL-06", "leader_found", "EL-06", "EL-12.restore"),
    Finding("LP-05", "cancel_ends", None, "ST-14"),
    Finding("M-08", "refuses_what_is_late", "M-08", "M-02"),
    Finding("M-11", "recovery_never_dangles", "M-11", "M-10"),
    Finding("ZG-1", "recovery_never_dangles", "M-02", "M-08"),
    Finding("ZG-2", "recovery_never_dangles", None, "M-02"),
    Finding("ZG-3", "recovery_never_dangles", None, "M-10"),
    Finding("ZG-4", "reclaimed", None, "M-05"),
    Finding("ZG-5", "reclaimed", None, "M-05"),
]
QUICK = ("AM-20", "CA-23-order", "CA-42", "M-08", "M-11", "ZG-1", "ZG-2", "ZG-3", "ZG-4", "ZG-5")


def check_finding(finding: Finding) -> None:
    """The scenario of a finding passes with all rules, and fails without its own rule and without the other one."""
    made = scenario_of(finding.line)
    (scenario,) = read_text(made.text)
    rules = needed(scenario, made.own)
    assert rules.verdict.failure is None
    assert rules.is_needed
    assert rules.own == (() if finding.own is None else ((finding.own, True),))
    assert finding.other in rules.others


@pytest.mark.parametrize("page", QUICK)
def test_finding_becomes_a_scenario(page: str) -> None:
    """A finding's scenario passes on the implementation, and fails without the rule that the run lacks."""
    check_finding(next(finding for finding in FINDINGS if finding.page == page))


@pytest.mark.slow
@pytest.mark.parametrize("finding", FINDINGS, ids=lambda finding: finding.page)
def test_every_finding_becomes_a_scenario(finding: Finding) -> None:
    """The same holds for each finding whose model names operations."""
    check_finding(finding)


MUTANTS = [
    ("ownership", "ST-12", "ST-12"),
    ("ownership", "ST-14", "ST-14"),
    ("ownership", "ST-21", "ST-21"),
    ("ownership", "ST-44.lift", "ST-44.lift"),
    ("ownership", "CK-02.node", "CK-02.node"),
    ("ownership", "CS-28", "CS-28"),
    ("ownership", "CS-29b", "CS-29b"),
    ("fast_close", "ST-37.entry", "ST-37.entry"),
    ("fast_close", "CS-29a", "CS-29a"),
    ("cancellation", "CA-43", "CA-43"),
    ("replica_reassignment", "RA-44", "RA-44"),
    ("replica_reassignment", "CA-22", "CA-22"),
    ("replica_reassignment", "CA-05", "CA-26.alive"),
    ("replica_reassignment", "CA-26", "CA-26.min_isr"),
    ("route_epoch", "M-01", "M-01"),
    ("route_epoch", "M-02", "M-02"),
    ("route_epoch", "M-05", "M-05"),
    ("route_epoch", "M-06", "M-06"),
    ("route_epoch", "M-09", "M-09"),
    ("route_epoch", "M-10", "M-10"),
]
"""Models, a rule that each may lack, and the rule of the implementation that is the same. It has no rule that the runs
of some findings lack, and here it has one for each."""
QUICK_MUTANTS = [*MUTANTS[1:7:4], MUTANTS[-2]]


def test_twelve_findings_need_their_own_rule() -> None:
    """Of twelve findings the implementation has the rule that the run lacks."""
    assert sum(finding.own is not None for finding in FINDINGS) >= 12


def check_mutant(model: str, removed: str, own: str, capsys: Captured) -> None:
    """The scenario of the shortest run without a rule passes with all rules, and fails without the same rule."""
    assert main(["check", model, "--scope", "tiny", "--without", removed]) == 12
    made = scenario_of(LINE.findall(capsys.readouterr().out)[0])
    (scenario,) = read_text(made.text)
    rules = needed(scenario, made.own)
    assert rules.verdict.failure is None
    assert (own, True) in rules.own
    assert all(label.partition(".")[0] == own.partition(".")[0] for label, _ in rules.own)


@pytest.mark.parametrize(("model", "removed", "own"), QUICK_MUTANTS)
def test_mutant_becomes_a_scenario(model: str, removed: str, own: str, capsys: Captured) -> None:
    """A run that a model has without a rule fails on the controller without the same rule."""
    check_mutant(model, removed, own, capsys)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "removed", "own"), MUTANTS)
def test_every_mutant_becomes_a_scenario(model: str, removed: str, own: str, capsys: Captured) -> None:
    """The same holds for each of these rules."""
    check_mutant(model, removed, own, capsys)


def line_of(page: str) -> str:
    """The replay line of a finding."""
    return next(finding.line for finding in FINDINGS if finding.page == page)


def test_rule_of_brokers_is_told() -> None:
    """If the missing rule is one of brokers, the file has the requests of the run, and no rule of its own."""
    made = scenario_of(line_of("AM-20"))
    assert made.own == ()
    assert made.foreign == ("reopen_same_epoch", "PT-04.fresh_epoch")
    assert made.skipped == ("2. send_close(p=p1, s=s1)",)
    assert made.text.count("op: open,") >= 3


def test_a_run_may_lack_rules_of_both() -> None:
    """The file sends what a rule of brokers would hold back, and expects the answers of all rules of the controller."""
    run = "init(True) open(p1,s1,1,False) close(p1,s1,1) open(p1,s1,0,False)"
    made = scenario_of(f"ownership tiny -CL-07.sent -ST-12 #377898afa64386fb epochs_grow: {run}")
    assert (made.own, made.foreign) == (("ST-12",), ("CL-07.sent",))
    (scenario,) = read_text(made.text)
    found = needed(scenario, made.own)
    assert found.verdict.failure is None
    assert dict(found.own) == {"ST-12": True}


def test_file_of_the_other_generation() -> None:
    """G1 lacks no rule: the file follows the model with it, states the profile, and needs the rule that the run lacks.

    Under the default profile a timer runs after the isolation, which the model with G1 does not have (EL-07).
    """
    run = "init(n1) isolate(n1,n2) observe(n2) run_next(n2) open(n2,s1)"
    made = scenario_of(f"reassignment tiny +G1 -ST-14 #b8806630e4c11e39 one_lease: {run}")
    assert (made.own, made.foreign) == (("ST-14",), ())
    (scenario,) = read_text(made.text)
    assert scenario.profile.handshake == "G1"
    found = needed(scenario, made.own)
    assert found.verdict.failure is None
    assert dict(found.own) == {"ST-14": True}


def test_file_of_the_timer_as_built() -> None:
    """The timer as built is a profile, like KRaft: the file passes with the default and fails with `timer: automq`."""
    line = "reassignment tiny +timer_as_built #c74d6f3f02b555d3 leaderless_has_timer: init(n1) crash(n1,n2)"
    made = scenario_of(line)
    assert (made.own, made.foreign) == ((TIMER_AS_BUILT,), ())
    (scenario,) = read_text(made.text)
    found = needed(scenario, made.own)
    assert found.verdict.failure is None
    assert dict(found.own) == {TIMER_AS_BUILT: True}


def test_answers_are_those_of_the_model_with_all_rules() -> None:
    """The run lacks CA-41, so its cancel succeeds; the file expects the refusal, and no records."""
    text = scenario_of(line_of("CA-42")).text
    assert "expect: {rows: {moved-0: NO_REASSIGNMENT_IN_PROGRESS}, records: []}" in text


def test_the_answers_of_a_faulty_controller_are_not_written_down() -> None:
    """If the controller lacks the rule while the file is made, no file is made: it would pass on that controller."""
    with without("CA-41"), pytest.raises(DisagreementError):
        scenario_of(line_of("CA-42"))


def test_model_without_pairing_is_refused() -> None:
    """A run of a model that says nothing of the controller is refused, with the models that do."""
    found = LINE.findall((PAGES / "AM-03.md").read_text(encoding="utf-8"))
    with pytest.raises(
        UsageError,
        match=r"wal: no pairing runs this model .* cancellation, fast_close, ownership",
    ):
        scenario_of(found[0])


def test_labels_of_a_rule() -> None:
    """A rule of a model has its own label in the controller, or the parts of that label; a rule of brokers has none."""
    assert labels_of("CA-41") == ("CA-41",)
    assert labels_of("CK-01.expired@close") == ("CK-01.expired",)
    assert labels_of("RA-02") == ("RA-02.fenced", "RA-02.leaving", "RA-02.registered", "RA-02.size")
    assert labels_of("PT-04.fresh_epoch") == ()


def test_labels_of_a_rule_with_another_name() -> None:
    """A rule that the controller has under another id is no rule of brokers, and its siblings do not stand for it."""
    assert labels_of("CA-05") == ("CA-26.alive",)
    assert labels_of("CA-26@cancel") == ("CA-26.min_isr",)
    assert labels_of("EL-12.fence") == labels_of("EL-12.unfence") == ("EL-12.leaderless",)
    assert {name for names in OF_LABELS.values() for name in names} <= guards().keys()


def test_rule_without_a_switch_is_told(tmp_path: Path, capsys: Captured) -> None:
    """CA-44 of the implementation switches off the direct return, not a part of its condition; the report says so."""
    run = "init(n1) reassign(n2) crash(n1,n1) isolate(n2,n2) cancel(True)"
    line = f"cancellation tiny -CA-44.active #857bdf45625c7c8c chosen_is_active: {run}"
    main(["scenario", "from-trace", line, "--out", str(tmp_path / "made.yaml")])
    told = capsys.readouterr().out
    assert "  CA-44.active: a rule of the controller, but no label of the implementation switches it off alone" in told
    assert "without CA-44 it" not in told


def test_what_variants_stand_for_exists() -> None:
    """Each name in the table is a label, a switch or a profile."""
    named = {name for names in OF_VARIANTS.values() for name in names}
    assert named <= {*guards(), *switches(), *PROFILES}


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """The command writes the file, and tells what the file needs. The file passes as a scenario of its own."""
    monkeypatch.chdir(tmp_path)
    assert main(["scenario", "from-trace", line_of("CA-23-overlap"), "--out", "made.yaml"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "made.yaml: 9 steps; with all rules it passes",
        "  with profile: {cancel: K} it fails",
        "  also fails without CA-27, RA-44",
    ]
    assert main(["scenario", "run", "made.yaml"]) == 0
    assert main(["scenario", "run", "made.yaml", "--without", "CA-27"]) == 12


@pytest.mark.parametrize(("page", "option"), [("CA-42", "--without CA-41"), ("EL-06", "--switch EL-06")])
def test_option_lets_the_file_fail(page: str, option: str, tmp_path: Path, capsys: Captured) -> None:
    """With the option that the command names, the file fails."""
    out = str(tmp_path / "made.yaml")
    assert main(["scenario", "from-trace", line_of(page), "--out", out]) == 0
    assert f"  with {option} it fails" in capsys.readouterr().out.splitlines()
    assert main(["scenario", "run", out, *option.split()]) == 12


def test_scope_that_is_too_small(tmp_path: Path) -> None:
    """With CA-40 back, the second run of CA-47 needs more epochs; the command that the message names follows it."""
    found = LINE.findall((PAGES / "CA-47.md").read_text(encoding="utf-8"))
    line = next(line for line in found if " acked_once: " in line)
    with pytest.raises(UsageError, match=r"leaves scope tiny .* --model 'cancellation large \+restore_epoch'"):
        scenario_of(line)
    out = str(tmp_path / "made.yaml")
    assert main(["scenario", "from-trace", line, "--model", "cancellation large +restore_epoch", "--out", out]) == 0


def test_edited_file_is_kept(tmp_path: Path, capsys: Captured) -> None:
    """The command writes over its own text alone: a file that the user has edited is refused, and stays."""
    out = tmp_path / "made.yaml"
    words = ["scenario", "from-trace", line_of("CA-42"), "--out", str(out)]
    assert main(words) == main(words) == 0
    edited = out.read_text() + "  # mine\n"
    out.write_text(edited)
    capsys.readouterr()
    assert main(words) == 2
    assert "the file exists, and has another text" in capsys.readouterr().err
    assert out.read_text() == edited


def test_page_has_the_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """The page shows what the command prints for the run of CA-42."""
    monkeypatch.chdir(tmp_path)
    assert main(["scenario", "from-trace", line_of("CA-42"), "--out", "late.yaml"]) == 0
    page = (PAGES.parent / "scenarios.md").read_text(encoding="utf-8")
    assert f"```text\n{capsys.readouterr().out}```" in page


def test_command_fails_if_the_rule_is_not_needed(tmp_path: Path, capsys: Captured) -> None:
    """If the file passes without the rule that the run lacks, the exit code says so."""
    line = next(line for line in LINE.findall((PAGES / "CA-25-unclean.md").read_text()) if "-CA-25" in line)
    assert main(["scenario", "from-trace", line, "--out", str(tmp_path / "made.yaml")]) == 12
    told = capsys.readouterr().out.splitlines()
    assert "  with --without CA-25 it passes" in told
    search = "holdfast check replica_reassignment --scope tiny --without CA-25 --property NAME"
    assert f"  the run does not show the rule at its end; try a run to another property: {search}" in told


def test_a_close_at_the_end_is_repeated() -> None:
    """The run ends with a close; only its repetition shows that the model lacks ST-33."""
    run = "open(p1,s1) send_close(p1,s1) close(p1,s1)"
    made = scenario_of(f"fast_close tiny -ST-33 #49d24ee7e284acee close_idempotent: {run}")
    (scenario,) = read_text(made.text)
    found = needed(scenario, made.own)
    assert found.verdict.failure is None
    assert dict(found.own) == {"ST-33": True}


def test_file_that_cannot_be_written(capsys: Captured, tmp_path: Path) -> None:
    """A file in a folder that does not exist is refused, on one line, before the run is followed."""
    assert main(["scenario", "from-trace", "no line", "--out", str(tmp_path / "no" / "made.yaml")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
