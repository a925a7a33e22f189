"""What mutation answers: of every mutant, what was established, and whether the model declares just that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from holdfast.check.result import HOLDS, OUT_OF_BUDGET, UNSHOWN
from holdfast.ir.system import Declaration

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
    """What shows that a mutant is wrong: a violated property, or a witness that it does not reach any more.

    ``title`` is the property with its rule ids. ``steps`` is the length of a shortest run, and ``replay`` the command
    that repeats it; a witness that is not reached has neither.
    """

    property: str
    title: str
    scope: str
    steps: int | None
    replay: str | None

    def __str__(self) -> str:
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
class Facts:
    """What was established of one mutant, whatever the model declares.

    ``equal`` tells whether its graph is that of the whole model in every scope; None where it was not asked, because
    the mutant is killed or ``ended_by`` names a limit that left it open.
    """

    mutant: Mutant
    kill: Kill | None = None
    equal: bool | None = None
    ended_by: str | None = None
    pairs: tuple[Pair, ...] = ()

    @property
    def killed_with(self) -> Pair | None:
        """The first pair of which more is violated than of either mutant alone."""
        return next((pair for pair in self.pairs if pair.kill is not None), None)


@attrs.frozen
class Row:
    """A mutant's facts, what the model declares of it, the way it ends, and what is wrong with the declaration."""

    facts: Facts
    declared: Declaration | None
    way: Way
    fault: str | None

    @property
    def kill(self) -> Kill | None:
        """What kills it, alone or with another rule."""
        if self.facts.kill is not None or self.way != "redundant" or self.facts.killed_with is None:
            return self.facts.kill
        return self.facts.killed_with.kill


@attrs.frozen
class OperatorRow:
    """An operator mutant: where and what was changed, and what became of it.

    ``way`` is killed, equivalent, survived, or undecided where the search met its limit.
    """

    place: str
    where: str
    change: str
    way: Way
    kill: Kill | None


@attrs.frozen
class Report:
    """The answer for one model. ``ended_by`` says what ended the trials early: a limit, or ``interrupted``."""

    model: str
    target: str
    scopes: tuple[str, ...]
    fingerprint: str
    rows: tuple[Row, ...]
    operators: tuple[OperatorRow, ...] = ()
    untried: tuple[str, ...] = ()
    ended_by: str | None = None

    @property
    def faults(self) -> tuple[Row, ...]:
        """The mutants whose declaration is missing, false or superfluous."""
        return tuple(row for row in self.rows if row.fault is not None)

    @property
    def exit_code(self) -> int:
        """10 if a declaration is wrong, 20 if a mutant is left open, else 0."""
        codes = [UNSHOWN for _ in self.faults]
        codes += [OUT_OF_BUDGET for row in self.rows if row.way == "undecided"]
        if self.ended_by is not None:
            codes.append(OUT_OF_BUDGET)
        return min(codes, key=GRAVITY.index, default=HOLDS)


# As JSON --------------------------------------------------------------------------------------------------------


def to_json(report: Report) -> dict[str, Any]:
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
        "operators": [
            {"at": row.place, "in": row.where, "change": row.change, "way": row.way, "killed_by": _kill(row.kill)}
            for row in report.operators
        ],
    }


def row_to_json(row: Row) -> dict[str, Any]:
    """One mutant as JSON values."""
    declared = row.declared
    return {
        **facts_to_json(row.facts),
        "way": row.way,
        "declared": None if declared is None else str(declared),
        "reason": None if declared is None else declared.reason,
        "fault": row.fault,
    }


def facts_to_json(facts: Facts) -> dict[str, Any]:
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
    }


def _kill(kill: Kill | None) -> dict[str, Any] | None:
    return None if kill is None else attrs.asdict(kill)


def facts_from_json(row: Mapping[str, Any]) -> Facts:
    """What ``facts_to_json`` wrote. Raises KeyError, TypeError or ValueError for anything else."""
    kind = row["kind"]
    if kind not in ("rule", "site", "variant"):
        raise ValueError(f"no kind of mutant: {kind!r}")
    pairs = [Pair(str(pair["with"]), _kill_from(pair["killed_by"]), bool(pair["decided"])) for pair in row["pairs"]]
    mutant = Mutant(str(row["mutant"]), kind, tuple(map(str, row["actions"])))
    return Facts(mutant, _kill_from(row["killed_by"]), row["equal"], row["ended_by"], tuple(pairs))


def _kill_from(row: Mapping[str, Any] | None) -> Kill | None:
    return None if row is None else Kill(**row)
