"""What mutation answers: of every mutant, what was established, and whether the model declares just that."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

import attrs

from holdfast.check.result import HOLDS, OUT_OF_BUDGET, UNSHOWN
from holdfast.ir.system import Declaration
from holdfast.trace.line import replay_command
from holdfast.trace.trace import Trace

MutantKind = Literal["rule", "site", "variant"]
Way = Literal["killed", "redundant", "equivalent", "liveness", "missing", "sound", "survived", "undecided"]
"""The five ways in which a mutant may end (and a sixth for variants that are no faults), and the two that are open."""

GRAVITY = (UNSHOWN, OUT_OF_BUDGET, HOLDS)


@attrs.frozen
class Mutant:
    """The model without a rule (everywhere, or at one of several sites), or a named variant of it.

    ``name`` is what ``--without`` or ``--variant`` takes, ``actions`` those that may differ from the whole model's.
    """

    name: str
    kind: MutantKind
    actions: tuple[str, ...]

    @property
    def label(self) -> str:
        """The rule's label; of a variant its name."""
        return self.name.partition("@")[0]


@attrs.frozen
class Kill:
    """What shows that a mutant is wrong: a violated property, a witness that it does not reach any more, or that it
    cannot start.

    ``title`` is the property with its rule ids. ``steps`` is the length of a shortest run, and ``replay`` the command
    that repeats it; a witness that is not reached has neither. ``problem`` is why there is no start.
    """

    property: str
    title: str
    scope: str
    steps: int | None
    replay: str | None
    problem: str | None = None

    @classmethod
    def of(cls, trace: Trace) -> Kill:
        """What a run shows."""
        claim = trace.shown
        return cls(claim.name, claim.title, trace.scope, trace.length, replay_command(trace))

    def is_of(self, prop: str) -> bool:
        """Whether it violates the property of that name or rule id."""
        return prop == self.property or prop in re.findall(r"[\w.-]+", self.title)

    def __str__(self) -> str:
        if self.problem is not None:
            return self.problem
        if self.steps is None:
            return f"{self.title} is not reached"
        return f"{self.title} in {self.steps} step{'' if self.steps == 1 else 's'}"


@attrs.frozen
class Pair:
    """A mutant tried without another rule too. ``decided`` tells whether a limit left it open."""

    partner: str
    kill: Kill | None
    decided: bool = True


@attrs.frozen
class MutantFacts:
    """What was established of one mutant, whatever the model declares.

    ``equal`` tells whether its graph is that of the whole model in every scope; None where it was not asked, because
    the mutant is killed or ``ended_by`` names a limit that left it open. ``starves`` are the leads-to properties that
    it violates, of a mutant that violates nothing else; None where that was not asked, or where ``starves_open`` says
    why it is not known.
    """

    mutant: Mutant
    kill: Kill | None = None
    equal: bool | None = None
    ended_by: str | None = None
    pairs: tuple[Pair, ...] = ()
    starves: tuple[Kill, ...] | None = None
    starves_open: str | None = None

    @property
    def killed_with(self) -> Pair | None:
        """The first pair of which more is violated than of either mutant alone."""
        return next((pair for pair in self.pairs if pair.kill is not None), None)


@attrs.frozen
class MutantRow:
    """A mutant's facts, what the model declares of it, the way it ends, and what is wrong with the declaration."""

    facts: MutantFacts
    declared: Declaration | None
    way: Way
    fault: str | None

    @property
    def kill(self) -> Kill | None:
        """What kills it, alone or with another rule, or by starving what is owed."""
        if self.way == "liveness" and self.facts.starves:
            named = None if self.declared is None else self.declared.names
            return next((kill for kill in self.facts.starves if named and kill.is_of(named)), self.facts.starves[0])
        if self.facts.kill is not None or self.way != "redundant" or self.facts.killed_with is None:
            return self.facts.kill
        return self.facts.killed_with.kill

    @property
    def because(self) -> str:
        """Why it ends so, in a few words; empty where there is nothing to say."""
        facts, declared = self.facts, self.declared
        if facts.kill is not None:
            return str(facts.kill)
        if self.way == "redundant" and facts.killed_with is not None:
            return f"without {facts.killed_with.partner} too: {facts.killed_with.kill}"
        if self.way == "liveness" and self.kill is not None:
            return str(self.kill)
        tried = f"in pairs with {', '.join(pair.partner for pair in facts.pairs)}: nothing" if facts.pairs else ""
        if declared is None or (self.way == "equivalent" and declared.kind != "equivalent"):
            return tried
        named = f"{declared.names}: " if declared.kind == "liveness" else ""
        return f"{named}{declared.reason}"

    @property
    def open_because(self) -> str:
        """Why an undecided one has no answer."""
        return self.facts.ended_by or self.facts.starves_open or "a pair was left open"


@attrs.frozen
class OperatorRow:
    """An operator mutant: where and what was changed, and what became of it.

    ``number`` counts the mutants with this ``where`` and ``change``, from 0, in the order of the source: one line may
    hold several such parts, and lines move. ``way`` is killed, equivalent, survived, or undecided where the search met
    its limit.
    """

    place: str
    where: str
    change: str
    number: int
    way: Way
    kill: Kill | None


@attrs.frozen
class ProofRow:
    """A mutant as the prover sees it: the properties that are ``unproved`` without the rule, lemmas left out.

    ``fails`` is the first obligation that is not met, ``open`` why there is no answer, and ``fault`` in what the prover
    and the search disagree. Of a mutant that a property kills nothing is asked beyond that property.
    """

    mutant: str
    unproved: tuple[str, ...]
    fails: tuple[str, ...] = ()
    open: str | None = None
    fault: str | None = None


@attrs.frozen
class MutationReport:
    """The answer for one model. ``ended_by`` says what ended the trials early: a limit, or ``interrupted``."""

    model: str
    target: str
    scopes: tuple[str, ...]
    fingerprint: str
    rows: tuple[MutantRow, ...]
    operators: tuple[OperatorRow, ...] = ()
    proofs: tuple[ProofRow, ...] = ()
    untried: tuple[str, ...] = ()
    ended_by: str | None = None

    @property
    def faults(self) -> tuple[MutantRow, ...]:
        """The mutants whose declaration is missing, false or superfluous."""
        return tuple(row for row in self.rows if row.fault is not None)

    @property
    def exit_code(self) -> int:
        """10 if a declaration is wrong or a proof says otherwise, 20 if a mutant is left open, else 0."""
        codes = [UNSHOWN for _ in self.faults]
        codes += [UNSHOWN for row in self.proofs if row.fault is not None]
        codes += [OUT_OF_BUDGET for row in self.proofs if row.open is not None]
        codes += [OUT_OF_BUDGET for row in self.rows if row.way == "undecided"]
        if self.ended_by is not None:
            codes.append(OUT_OF_BUDGET)
        return min(codes, key=GRAVITY.index, default=HOLDS)


# As JSON --------------------------------------------------------------------------------------------------------


def to_json(report: MutationReport) -> dict[str, Any]:
    """The report as JSON values; equal reports give equal values."""
    return {
        "engine": "mutate",
        "model": report.model,
        "target": report.target,
        "scopes": list(report.scopes),
        "fingerprint": report.fingerprint,
        "exit_code": report.exit_code,
        "ended_by": report.ended_by,
        "mutants": [row_to_json(row) for row in report.rows],
        "untried": list(report.untried),
        "operators": [operator_to_json(row) for row in report.operators],
        "proofs": [proof_to_json(row) for row in report.proofs],
    }


def proof_to_json(row: ProofRow) -> dict[str, Any]:
    """What the prover said of a mutant as JSON values."""
    return {**attrs.asdict(row), "unproved": list(row.unproved), "fails": list(row.fails)}


def proof_from_json(row: Mapping[str, Any]) -> ProofRow:
    """What ``proof_to_json`` wrote. Raises KeyError, TypeError or ValueError for anything else."""
    unproved, fails = tuple(map(str, row["unproved"])), tuple(map(str, row["fails"]))
    return ProofRow(str(row["mutant"]), unproved, fails, row["open"], row["fault"])


def operator_to_json(row: OperatorRow) -> dict[str, Any]:
    """What became of an operator mutant as JSON values."""
    return {
        "at": row.place,
        "in": row.where,
        "change": row.change,
        "number": row.number,
        "way": row.way,
        "killed_by": _kill(row.kill),
    }


def operator_from_json(row: Mapping[str, Any]) -> OperatorRow:
    """What ``operator_to_json`` wrote. Raises KeyError, TypeError or ValueError for anything else."""
    way = row["way"]
    if way not in ("killed", "equivalent", "survived", "undecided"):
        raise ValueError(f"no way for an operator mutant to end: {way!r}")
    killed_by = _kill_from(row["killed_by"])
    return OperatorRow(str(row["at"]), str(row["in"]), str(row["change"]), int(row["number"]), way, killed_by)


def row_to_json(row: MutantRow) -> dict[str, Any]:
    """One mutant as JSON values."""
    declared = row.declared
    return {
        **facts_to_json(row.facts),
        "way": row.way,
        "declared": None if declared is None else str(declared),
        "reason": None if declared is None else declared.reason,
        "fault": row.fault,
    }


def facts_to_json(facts: MutantFacts) -> dict[str, Any]:
    """What was established of one mutant as JSON values."""
    return {
        "mutant": facts.mutant.name,
        "kind": facts.mutant.kind,
        "actions": list(facts.mutant.actions),
        "killed_by": _kill(facts.kill),
        "equal": facts.equal,
        "ended_by": facts.ended_by,
        "pairs": [
            {"with": pair.partner, "killed_by": _kill(pair.kill), "decided": pair.decided} for pair in facts.pairs
        ],
        "starves": None if facts.starves is None else [_kill(kill) for kill in facts.starves],
        "starves_open": facts.starves_open,
    }


def _kill(kill: Kill | None) -> dict[str, Any] | None:
    return None if kill is None else attrs.asdict(kill)


def facts_from_json(row: Mapping[str, Any]) -> MutantFacts:
    """What ``facts_to_json`` wrote. Raises KeyError, TypeError or ValueError for anything else."""
    kind = row["kind"]
    if kind not in ("rule", "site", "variant"):
        raise ValueError(f"no kind of mutant: {kind!r}")
    pairs = [Pair(str(pair["with"]), _kill_from(pair["killed_by"]), bool(pair["decided"])) for pair in row["pairs"]]
    mutant = Mutant(str(row["mutant"]), kind, tuple(map(str, row["actions"])))
    starves = None if row["starves"] is None else tuple(Kill(**kill) for kill in row["starves"])
    killed_by = _kill_from(row["killed_by"])
    return MutantFacts(mutant, killed_by, row["equal"], row["ended_by"], tuple(pairs), starves, row["starves_open"])


def _kill_from(row: Mapping[str, Any] | None) -> Kill | None:
    return None if row is None else Kill(**row)
