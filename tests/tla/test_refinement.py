"""The hand-written modules: their theorems hold, the models refine them, and each rule is needed."""

from __future__ import annotations

import pytest

from holdfast.check.tlc.agreement import SecondOpinion
from holdfast.check.tlc.answer import answer_of
from holdfast.check.tlc.process import Tools, run_tlc
from holdfast.lower.tla.files import formula
from tests.tla.asking import LIMIT, by_hand, opinion, system_of

LEASE, LOG = "lease", "stream_log"

SIZES = {"ownership": {"Offset": 1}}
"""Sizes that differ from those of scope tiny. With two offsets it takes TLC four minutes; stream_log has two."""

SMALL_LEASE = r"""
---- MODULE small ----
EXTENDS Lease
Step == /\ holders' \in [Resource -> SUBSET Holder] /\ newest' \in [Resource -> 0..2] /\ Next
====
"""
SMALL_LOG = r"""
---- MODULE small ----
EXTENDS StreamLog
Pairs == (0..1) \X Holder
Begin == Init /\ LogInit
Step ==
    /\ holders' \in [Resource -> SUBSET Holder] /\ newest' \in [Resource -> 0..1]
    /\ acked' \in [Resource -> SUBSET Pairs] /\ start' \in [Resource -> 0..2] /\ kept' \in [Resource -> SUBSET (0..1)]
    /\ Next \/ UNCHANGED leases
    /\ LogNext
Read == \A r \in Resource : Readable(r)
====
"""
LEASES = "INIT Init\nNEXT Step\nINVARIANTS TypeOK OneHolder\nPROPERTY EpochsGrow\n"
LOGS = """\
INIT Begin
NEXT Step
INVARIANTS TypeOK LogTypeOK OneHolder AckedOnce Read
PROPERTIES EpochsGrow AckedIsForEver
"""


def verdict(tools: Tools, module: str, configuration: str, resources: str) -> str:
    """TLC's verdict on a small instance."""
    constants = f"CONSTANTS\n Resource = {{{resources}}}\n Holder = {{h1, h2}}\n"
    files = {f"{name}.tla": text for name, text in by_hand().items()}
    files |= {"small.tla": module.lstrip(), "small.cfg": configuration + constants}
    return answer_of(run_tlc(tools, files, "small", "small.cfg", seconds=LIMIT)).verdict


def test_what_follows_from_a_lease(tools: Tools) -> None:
    """With two resources and two holders each resource has at most one holder, and its epochs grow."""
    assert verdict(tools, SMALL_LEASE, LEASES, "r1, r2") == "exhausted"


def test_a_lease_without_its_guard_has_two_holders(tools: Tools) -> None:
    """Without the guard a second holder joins a resource, and the theorem fails."""
    worse = SMALL_LEASE.replace("/\\ Next", r"/\ \A r \in Resource : newest'[r] > newest[r]")
    assert verdict(tools, worse, LEASES, "r1") == "violated"


@pytest.mark.slow
def test_what_follows_from_a_log(tools: Tools) -> None:
    """An acked record is acked once, stays acked, and can be read."""
    assert verdict(tools, SMALL_LOG, LOGS, "r1") == "exhausted"


def asked_about(tools: Tools, model: str, *removed: str) -> SecondOpinion:
    """TLC's opinion of a model, without these rules, and of what it implements."""
    return opinion(tools, system_of(model, removed), target=model, sizes=SIZES.get(model), modules=by_hand())


def broken_after(tools: Tools, model: str, rule: str, module: str) -> int:
    """The steps of TLC's shortest run of the model, without this rule, that the hand-written module does not allow."""
    asked = asked_about(tools, model, rule)
    found = asked.implemented(f"{model}_implements_{module}")
    assert not found.holds
    assert found.run is not None
    return found.run.length


@pytest.mark.parametrize(
    ("model", "rule", "module", "steps"),
    [
        ("ownership", "ST-14", LEASE, 2),
        ("stream_log", "PL-03", LOG, 3),
        ("reassignment", "WL-05", LOG, 4),
    ],
)
def test_without_a_rule_it_is_not_implemented(tools: Tools, model: str, rule: str, module: str, steps: int) -> None:
    """Without a rule a lease is held twice, a record is acked that no WAL has, or a taken-over process acks."""
    assert broken_after(tools, model, rule, module) == steps


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "rule", "module", "steps"),
    [
        ("ownership", "PT-01", LEASE, 3),
        ("ownership", "FO-06.newer", LEASE, 3),
        ("ownership", "ST-21", LEASE, 2),
        ("ownership", "CL-08", LOG, 4),
        ("ownership", "CL-07.sent", LOG, 3),
        ("ownership", "RC-05", LOG, 5),
        ("ownership", "ST-51", LOG, 3),
        ("ownership", "FO-09", LOG, 3),
        ("ownership", "CS-29b", LOG, 3),
        ("stream_log", "ST-14", LEASE, 2),
        ("stream_log", "WL-05", LOG, 5),
        ("stream_log", "CL-08", LOG, 6),
        ("reassignment", "ST-14", LOG, 5),
        ("reassignment", "RA-17", LOG, 7),
        ("reassignment", "PL-03", LOG, 1),
    ],
)
def test_many_rules_are_needed(tools: Tools, model: str, rule: str, module: str, steps: int) -> None:
    """Many other rules are needed, too."""
    assert broken_after(tools, model, rule, module) == steps


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "modules"),
    [("ownership", (LEASE, LOG)), ("stream_log", (LEASE, LOG)), ("reassignment", (LOG,))],
)
def test_models_implement_what_is_written_by_hand(tools: Tools, model: str, modules: tuple[str, ...]) -> None:
    """Every behaviour of a model in scope tiny, but for SIZES, is one of a lease and of a log.

    One run of TLC is asked about both, for it spends its time on the steps of the model. It is about the last module,
    which extends the other.
    """
    asked = asked_about(tools, model)
    assert asked.implementing == tuple(f"{model}_implements_{module}" for module in modules)
    formulas = [formula(name) for name in asked.implementing]
    configuration = asked.specification.scope.configuration(formulas, invariants=False)
    found = asked.run(asked.implementing[-1], "both.cfg", asked.files | {"both.cfg": configuration})
    assert answer_of(found).verdict == "exhausted"
