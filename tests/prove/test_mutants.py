"""Mutants in the prover: it agrees with the search, and each difference is named."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from holdfast.check.budget import Budget
from holdfast.check.mutate import proving
from holdfast.check.mutate.limits import Interruption, MutationLimits
from holdfast.check.mutate.proving import Proofs
from holdfast.check.mutate.result import Kill, Mutant, MutantFacts, MutantRow, ProofRow, Way
from holdfast.check.prove.prover import Prover, Standing
from holdfast.check.worker_pool import WorkerPool
from holdfast.ir.compile import compile_model
from holdfast.ir.errors import UsageError
from holdfast.ir.lemmas import compile_with_lemmas
from holdfast.ir.load import PROOF, load_with_lemmas
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from tests.prove.conftest import Compiled
from tests.prove.samples import LOCK
from tests.prove.test_ablation import EMPTY
from tests.prove.test_rests import CHAIN

MODELS = Path(__file__).parents[2] / "models"

STORED: dict[str, Any] = json.loads((MODELS / "mutants.json").read_text())

WITH_PROOFS = [name for name in sorted(STORED) if (MODELS / f"{name}{PROOF}.py").exists()]

NOT_PROVED = {
    "cancellation": ["CS-29b", "ST-12@open", "ST-12@open_unheard"],
    "fast_close": [
        "CK-01.flag@end_recovery",
        "CL-02",
        "WL-09",
        "CL-06",
        "CK-02.epoch_old@close",
        "ST-34",
        "CS-22",
        "CS-26",
        "CS-28",
    ],
    "controller_tables": ["CK-01.unknown@trim"],
    "replica_reassignment": ["SP-12.isr@shrink"],
    "kip_236": ["CA-03.busy@unfence", "SP-12.isr@unfence", "SP-12.order@fence", "RA-47.leader", "CA-05.isr"],
    "routed_produce": ["M-21@check"],
    "stream_log": ["CK-02.epoch_old@close", "CS-26", "CS-28", "CS-29a"],
}
"""Mutants that a model declares equivalent or redundant, and that the prover does not prove.

- ``kip_236``: rightly so. They are equivalent in the model's small scopes only; ``tests/models/test_kip_236.py`` has a
  run in a larger scope for each of them.
- ``controller_tables``: it is equivalent, since a node is registered when it becomes an owner, and stays so. The proof
  needs that as a lemma, which would be idle in the proof of the complete model.
- ``routed_produce``: it is redundant. The lemma about write contexts says that a thread without an append has none,
  which M-21@resume needs. A weaker lemma would suffice without M-21@check, and be idle in the complete model.
- ``cancellation``, ``fast_close``, ``replica_reassignment``, ``stream_log``: whether they are equivalent in any scope
  is open. The proofs need more lemmas, which would be idle in the complete models, too.
"""

SPARE = """
@action
def look(self, n: Node) -> None:
    require(not self.free or not self.inside[n], "LK-03")
    self.inside[n] = self.inside[n]
"""
"""A model with a rule that refuses only unreachable steps."""


def row_of(name: str, way: Way, killer: str | None = None, *, kind: str = "rule") -> MutantRow:
    """A mutant's row as a search stores it."""
    kill = None if killer is None else Kill(killer.split(" (")[0], killer, "tiny", 2, None)
    return MutantRow(MutantFacts(Mutant(name, kind, ()), kill), None, way, None)


def asked(system: System, row: MutantRow) -> ProofRow:
    """The prover's result for a mutant of a system."""
    return Proofs(system, "x.py", MutationLimits(Budget())).row(row, remove_rules(system, [row.facts.mutant.name]))


def test_what_is_killed_is_not_provable(compiled: Compiled) -> None:
    """The property that kills a mutant is unproved: its own step fails, or it needs a lemma that fails."""
    system = compiled(LOCK + EMPTY)
    found = asked(system, row_of("LK-01", "killed", "one_inside (LK-10)"))
    assert found == ProofRow("LK-01", ("one_inside (LK-10)",), ("one_inside after enter",))
    found = asked(system, row_of("LK-02", "killed", "free_is_empty"))
    assert found == ProofRow("LK-02", ("free_is_empty",), ("free_is_empty after leave",))
    found = asked(system, row_of("LK-02", "killed", "one_inside (LK-10)"))
    assert (found.unproved, found.fails, found.fault) == (("one_inside (LK-10)",), ("free_is_empty after leave",), None)


LADDER = (
    CHAIN
    + """
@action
def lift(self, n: Node) -> None:
    require(self.high, "CH-02")
    self.low = True
@lemma
def never_low(self) -> bool:
    return not self.low
"""
)
"""CHAIN with its missing lemma, and an action that could break it: ``never_high`` needs it through another lemma."""


def test_what_rests_on_what_is_lost_is_lost(compiled: Compiled) -> None:
    """The killing property is unproved if a lemma fails that its own lemma needs."""
    found = asked(compiled(LADDER), row_of("CH-02", "killed", "never_high"))
    assert found == ProofRow("CH-02", ("never_high",), ("never_low after lift",))


def test_what_is_equivalent_is_provable(compiled: Compiled) -> None:
    """If a rule refuses no reachable step, the proof goes through without it."""
    assert asked(compiled(LOCK + EMPTY + SPARE), row_of("LK-03", "equivalent")) == ProofRow("LK-03", ())


def test_a_proof_of_an_unchanged_action_is_kept(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the mutated action's obligations are asked again: the others are those of the whole model."""
    begun: list[str] = []
    decided: list[str] = []
    begin, decide = Prover.begin, Prover.decide

    def noted_all(self: Prover, standings: Sequence[Standing], assumed: Sequence[str]) -> None:
        begun.extend(standing.due.where for standing in standings)
        begin(self, standings, assumed)

    def noted(self: Prover, standing: Standing, assumed: Sequence[str]) -> None:
        decided.append(standing.due.where)
        decide(self, standing, assumed)

    monkeypatch.setattr(Prover, "begin", noted_all)
    monkeypatch.setattr(Prover, "decide", noted)
    system = compiled(LOCK + EMPTY + SPARE)
    proofs = Proofs(system, "x.py", MutationLimits(Budget()))
    proofs.row(row_of("LK-03", "equivalent"), remove_rules(system, ["LK-03"]))
    assert {"enter", "leave", "look"} <= set(begun)

    begun.clear()
    proofs.row(row_of("LK-03", "equivalent"), remove_rules(system, ["LK-03"]))
    assert (begun, set(decided)) == ([], {"look"})


def mutants_of(system: System) -> list[tuple[MutantRow, System]]:
    """Rows of some mutants, two of which the prover contradicts, with the mutants."""
    ways = [("LK-01", "redundant"), ("LK-03", "equivalent"), ("LK-01", "equivalent"), ("LK-03", "redundant")]
    return [(row_of(label, way), remove_rules(system, [label])) for label, way in ways]


def test_mutants_proved_side_by_side_end_as_one_after_the_other(
    compiled: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes give the rows of one, in the same order."""
    system = compiled(LOCK + EMPTY + SPARE)
    alone = list(Proofs(system, "x.py", MutationLimits(Budget(), cores=1)).rows(mutants_of(system)))
    begun: list[int] = []
    monkeypatch.setattr(proving, "LONG", 0)
    monkeypatch.setattr(proving, "WorkerPool", lambda count, *args: (begun.append(count), WorkerPool(count, *args))[1])
    together = list(Proofs(system, "x.py", MutationLimits(Budget(), cores=2)).rows(mutants_of(system)))
    assert begun == [2]
    assert together == alone
    assert [row.fault is None for row in alone] == [False, True, False, True]


def test_time_that_is_up_stops_mutants_side_by_side(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a process has no time left, the limit of the whole command is named, and no row is made up."""
    system = compiled(LOCK + EMPTY + SPARE)

    def out_of_time(count: int, prepare: Callable[[Any], None], payload: Any) -> WorkerPool:
        return WorkerPool(count, prepare, (payload[0], Budget(seconds=1e-9)))

    monkeypatch.setattr(proving, "LONG", 0)
    monkeypatch.setattr(proving, "WorkerPool", out_of_time)
    proofs = Proofs(system, "x.py", MutationLimits(Budget(seconds=1000.0), cores=2))
    with pytest.raises(Interruption, match="time: more than 1000 s"):
        list(proofs.rows(mutants_of(system)))


def test_a_kill_that_is_proved_is_a_disagreement(compiled: Compiled) -> None:
    """If a run violates what is proved, one of the engines is wrong."""
    found = asked(compiled(LOCK + EMPTY + SPARE), row_of("LK-03", "killed", "one_inside (LK-10)"))
    assert found.fault == ("one_inside (LK-10) in 2 steps kills it, and yet it is proved: search and proof disagree")


def test_an_equivalent_that_is_not_proved_is_told(compiled: Compiled) -> None:
    """An equivalent mutant without a proof is reported: the scopes are too small, or a lemma is missing."""
    found = asked(compiled(LOCK + EMPTY), row_of("LK-01", "redundant"))
    assert found.fault == (
        "redundant, and yet one_inside (LK-10) is not proved (one_inside after enter fails): a lemma is missing, or "
        "the scopes are too small to show a violation"
    )


def test_of_anything_else_nothing_is_expected(compiled: Compiled) -> None:
    """If a mutant violates only liveness or a witness, any result of the prover is accepted."""
    system = compiled(LOCK + EMPTY + SPARE)
    assert asked(system, row_of("LK-03", "liveness")) == ProofRow("LK-03", ())
    assert asked(system, row_of("LK-01", "missing")).fault is None
    assert asked(system, row_of("LK-03", "killed", "seen")).fault is None


def test_a_model_without_a_proof_is_refused(compiled: Compiled) -> None:
    """A model that is not proved is refused, since its mutants would say nothing."""
    with pytest.raises(UsageError, match=r"^x.py is not proved as it is \(one_inside after enter\), so that its"):
        asked(compiled(LOCK), row_of("LK-01", "equivalent"))


def test_time_that_is_up_stops(compiled: Compiled) -> None:
    """A time limit ends the run, and no row is made up."""
    proofs = Proofs(compiled(LOCK + EMPTY), "x.py", MutationLimits(Budget(seconds=1e-9)))
    with pytest.raises(Interruption, match="time: more than 1e-09 s"):
        proofs.prove_whole()


# The models of the repository ------------------------------------------------------------------------------------


def differences(name: str, only: tuple[str, ...] = ()) -> list[str]:
    """The differences between the prover and the stored outcomes of a model's mutants."""
    system = compile_with_lemmas(load_with_lemmas(name))
    proofs = Proofs(system, name, MutationLimits(Budget()))
    found: list[str] = []
    for stored in STORED[name]["mutants"]:
        mutant = stored["mutant"]
        if only and mutant not in only:
            continue
        killer = stored.get("property") if stored["way"] == "killed" and stored["steps"] is not None else None
        row = row_of(mutant, stored["way"], killer, kind=stored["kind"])
        lacking = (
            compile_model(system.python, variants=(mutant,))
            if stored["kind"] == "variant"
            else remove_rules(system, [mutant])
        )
        said = proofs.row(row, lacking)
        found += [f"{mutant}: {text}" for text in (said.fault, said.open) if text is not None]
    return found


def test_mutants_of_ownership_agree() -> None:
    """The prover agrees on a killed and an equivalent mutant; the nightly test runs many of them."""
    assert differences("ownership", ("CL-08", "ST-20")) == []


def chosen(name: str) -> tuple[str, ...]:
    """The mutants to ask about: a sixteenth of all, and every sixth one that is not proved. All take half an hour.

    ``holdfast mutate MODEL --prove`` asks about all.
    """
    mutants = [stored["mutant"] for stored in STORED[name]["mutants"]]
    return tuple(each for place, each in enumerate(mutants) if place % 16 == 0 or each in NOT_PROVED.get(name, [])[::6])


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_PROOFS)
def test_many_mutants_agree(name: str) -> None:
    """Each chosen mutant that a safety property kills is unproved, and each equivalent or redundant one is proved."""
    found = differences(name, chosen(name))
    wanted = [each for each in NOT_PROVED.get(name, []) if each in chosen(name)]
    assert [text.partition(": ")[0] for text in found] == wanted, found
