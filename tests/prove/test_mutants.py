"""What the prover says of mutants: it agrees with the search, and a difference is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.check.budget import Budget
from holdfast.check.mutate.limits import Interruption, MutationLimits
from holdfast.check.mutate.proving import Proofs
from holdfast.check.mutate.result import Kill, Mutant, MutantFacts, MutantRow, ProofRow, Way
from holdfast.ir.compile import compile_model
from holdfast.ir.errors import UsageError
from holdfast.ir.lemmas import compile_with_lemmas
from holdfast.ir.load import PROOF, load_with_lemmas
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from tests.prove.conftest import Compiled
from tests.prove.test_ablation import EMPTY
from tests.prove.test_prove import LOCK
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
    "stream_log": ["CK-02.epoch_old@close", "CS-26", "CS-28", "CS-29a"],
}
"""Mutants that a model declares equivalent, and that the prover does not prove.

- ``kip_236``: rightly so. They are equivalent in the model's small scopes only; ``tests/models/test_kip_236.py`` has a
  run in a larger scope for each of them.
- ``controller_tables``: it is, since a node is registered when it becomes an owner, and stays so. A proof needs that as
  a lemma, which the proof of the complete model does without: there it would be idle.
- ``cancellation``, ``fast_close``, ``replica_reassignment``, ``stream_log``: whether they are equivalent in any scope
  is open. A proof needs more lemmas, which would be idle there, too.
"""

SPARE = """
@action
def look(self, n: Node) -> None:
    require(not self.free or not self.inside[n], "LK-03")
    self.inside[n] = self.inside[n]
"""
"""A rule that refuses only what is not reached."""


def row_of(name: str, way: Way, killer: str | None = None, *, kind: str = "rule") -> MutantRow:
    """A mutant as a search describes it."""
    kill = None if killer is None else Kill(killer.split(" (")[0], killer, "tiny", 2, None)
    return MutantRow(MutantFacts(Mutant(name, kind, ()), kill), None, way, None)  # type: ignore[arg-type]


def asked(system: System, row: MutantRow) -> ProofRow:
    """What the prover says of a mutant of a system."""
    return Proofs(system, "x.py", MutationLimits(Budget())).row(row, remove_rules(system, [row.facts.mutant.name]))


def test_what_is_killed_is_not_provable(compiled: Compiled) -> None:
    """The killer is unproved: by a step of its own, or because a lemma is lost on which it rests."""
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
"""What CHAIN lacks, and the action that would break it: ``never_high`` rests on it by two steps."""


def test_what_rests_on_what_is_lost_is_lost(compiled: Compiled) -> None:
    """The killer is unproved although its own steps, and those of the lemma that it needs, are as before."""
    found = asked(compiled(LADDER), row_of("CH-02", "killed", "never_high"))
    assert found == ProofRow("CH-02", ("never_high",), ("never_low after lift",))


def test_what_is_equivalent_is_provable(compiled: Compiled) -> None:
    """A rule that refuses nothing reached is not missed by the proof either."""
    assert asked(compiled(LOCK + EMPTY + SPARE), row_of("LK-03", "equivalent")) == ProofRow("LK-03", ())


def test_a_kill_that_is_proved_is_a_disagreement(compiled: Compiled) -> None:
    """If a run violates what is proved, one of the engines is wrong."""
    found = asked(compiled(LOCK + EMPTY + SPARE), row_of("LK-03", "killed", "one_inside (LK-10)"))
    assert found.fault == ("one_inside (LK-10) in 2 steps kills it, and yet it is proved: search and proof disagree")


def test_an_equivalent_that_is_not_proved_is_told(compiled: Compiled) -> None:
    """What the scopes miss, or a lemma that is missing."""
    found = asked(compiled(LOCK + EMPTY), row_of("LK-01", "redundant"))
    assert found.fault == (
        "redundant, and yet one_inside (LK-10) is not proved (one_inside after enter fails): a lemma is missing, or "
        "the scopes are too small to show a violation"
    )


def test_of_anything_else_nothing_is_expected(compiled: Compiled) -> None:
    """Where only liveness is lost, or a witness, the prover says what it finds."""
    system = compiled(LOCK + EMPTY + SPARE)
    assert asked(system, row_of("LK-03", "liveness")) == ProofRow("LK-03", ())
    assert asked(system, row_of("LK-01", "missing")).fault is None
    assert asked(system, row_of("LK-03", "killed", "seen")).fault is None


def test_a_model_without_a_proof_is_refused(compiled: Compiled) -> None:
    """Its mutants say nothing."""
    with pytest.raises(UsageError, match=r"^x.py is not proved as it is \(one_inside after enter\), so that its"):
        asked(compiled(LOCK), row_of("LK-01", "equivalent"))


def test_time_that_is_up_stops(compiled: Compiled) -> None:
    """No row is made up."""
    proofs = Proofs(compiled(LOCK + EMPTY), "x.py", MutationLimits(Budget(seconds=1e-9)))
    with pytest.raises(Interruption, match="time: more than 1e-09 s"):
        proofs.prove_whole()


# The models of the repository ------------------------------------------------------------------------------------


def differences(name: str, only: tuple[str, ...] = ()) -> list[str]:
    """In what the prover disagrees with what is stored of a model's mutants."""
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
    """One that a lemma gives away, and an equivalent one; the nightly test has them all."""
    assert differences("ownership", ("CL-08", "ST-20")) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_PROOFS)
def test_all_mutants_agree(name: str) -> None:
    """Each mutant that a property of safety kills is not provable, and each equivalent or redundant one is."""
    found = differences(name)
    assert [text.partition(": ")[0] for text in found] == NOT_PROVED.get(name, []), found
