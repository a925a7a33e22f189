"""The answer of mutation: the facts established about every mutant, and whether the model's declarations fit them."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import attrs
from cattrs import override

from holdfast.check.json_values import MERGED, NextProperty, as_object, converter
from holdfast.check.result import HOLDS, OUT_OF_BUDGET, UNSHOWN
from holdfast.ir.system import Declaration
from holdfast.trace.line import replay_command
from holdfast.trace.trace import Trace

MutantKind = Literal["rule", "site", "variant"]
Way = Literal["killed", "redundant", "equivalent", "liveness", "missing", "sound", "survived", "undecided"]
"""The five ways in which a mutant may end, ``sound`` for variants that are no faults, and two open ones at the end."""
OperatorWay = Literal["killed", "equivalent", "survived", "undecided"]
KilledBy = Annotated["Kill | None", override(rename="killed_by")]

GRAVITY = (UNSHOWN, OUT_OF_BUDGET, HOLDS)
"""The exit codes of a report, the gravest first."""


@attrs.frozen
class Mutant:
    """A mutant: the model without a rule (everywhere, or at one of several sites), or a named variant of it.

    ``name`` is the argument for ``--without`` or ``--variant``. ``actions`` are the actions that the mutant may change.
    """

    name: Annotated[str, override(rename="mutant")]
    kind: MutantKind
    actions: tuple[str, ...]

    @property
    def label(self) -> str:
        """The label of the rule; for a variant, its name."""
        return self.name.partition("@")[0]


@attrs.frozen
class Kill:
    """The reason why a mutant is killed: a violated property, an unreached witness, or a failing start.

    - ``property``: the name of the property or witness, or ``init``; ``title``: the same with its rule ids.
    - ``steps``: length of a shortest run; ``replay``: the command that repeats it. None for an unreached witness.
    - ``problem``: why the mutant cannot start.
    """

    property: str
    title: str
    scope: str
    steps: int | None
    replay: str | None
    problem: str | None = None

    @classmethod
    def of(cls, trace: Trace) -> Kill:
        """The kill that a trace shows."""
        claim = trace.shown
        return cls(claim.name, claim.title, trace.scope, trace.length, replay_command(trace))

    def is_of(self, prop: str) -> bool:
        """Whether it is about the property with this name or rule id."""
        return prop == self.property or prop in re.findall(r"[\w.-]+", self.title)

    def __str__(self) -> str:
        if self.problem is not None:
            return self.problem
        if self.steps is None:
            return f"{self.title} is not reached"
        return f"{self.title} in {self.steps} step{'' if self.steps == 1 else 's'}"


@attrs.frozen
class Pair:
    """The trial of a mutant without a second rule, ``partner``, too. ``decided`` is False if a limit left it open."""

    partner: Annotated[str, override(rename="with")]
    kill: KilledBy
    decided: bool = True


@attrs.frozen
class MutantFacts:
    """The facts established about one mutant. They do not depend on what the model declares.

    - ``kill``: what kills it. ``ended_by``: the limit that left it open. ``pairs``: its trials without a second rule.
    - ``equal``: whether its graph equals the whole model's in every scope. None if that was not asked, because the
      mutant is killed or open.
    - ``starves``: the liveness properties that it violates, if it violates nothing else. None if that was not asked,
      or if it is unknown; then ``starves_open`` says why.
    """

    mutant: Annotated[Mutant, MERGED]
    kill: KilledBy = None
    equal: bool | None = None
    ended_by: str | None = None
    pairs: tuple[Pair, ...] = ()
    starves: tuple[Kill, ...] | None = None
    starves_open: str | None = None

    @property
    def killed_with(self) -> Pair | None:
        """The first pair that violates more than either of its mutants alone."""
        return next((pair for pair in self.pairs if pair.kill is not None), None)


@attrs.frozen
class MutantRow:
    """One mutant: its facts, its declaration in the model, the way it ends, and the declaration's fault, if any."""

    facts: MutantFacts
    declared: Declaration | None
    way: Way
    fault: str | None

    @property
    def kill(self) -> Kill | None:
        """The kill: of the mutant alone, of its pair with another rule, or of a liveness property."""
        if self.way == "liveness" and self.facts.starves:
            named = None if self.declared is None else self.declared.names
            return next((kill for kill in self.facts.starves if named and kill.is_of(named)), self.facts.starves[0])
        if self.facts.kill is not None or self.way != "redundant" or self.facts.killed_with is None:
            return self.facts.kill
        return self.facts.killed_with.kill

    @property
    def because(self) -> str:
        """Why the mutant ends in this way, in a few words; may be empty."""
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
        """Why an undecided mutant has no answer."""
        return self.facts.ended_by or self.facts.starves_open or "a pair was left open"


@attrs.frozen
class OperatorRow:
    """An operator mutant and its result.

    - ``place``: file and line; ``where``: the action or property; ``change``: the change in words.
    - ``number``: its number among the mutants with equal ``where`` and ``change``, from 0, in the order of the source.
      The place does not identify a mutant: a line may hold several such parts, and lines move.
    - ``way``: killed, equivalent, survived, or undecided if the search met its limit.
    """

    place: Annotated[str, override(rename="at")]
    where: Annotated[str, override(rename="in")]
    change: str
    number: int
    way: OperatorWay
    kill: KilledBy


@attrs.frozen
class ProofRow:
    """The prover's opinion of a mutant.

    - ``unproved``: the properties that are unproved, without lemmas. For a killed mutant the prover may ask no further
      than the property that kills it.
    - ``fails``: the first obligation that is not met.
    - ``open``: why there is no answer.
    - ``fault``: how the prover and the search disagree.
    """

    mutant: str
    unproved: tuple[str, ...]
    fails: tuple[str, ...] = ()
    open: str | None = None
    fault: str | None = None


@attrs.frozen(kw_only=True)
class MutationReport:
    """The answer for one model. ``ended_by`` says what ended the trials early: a limit, or ``interrupted``.

    ``untried`` are the mutants that were not tried then.
    """

    model: str
    target: str
    scopes: tuple[str, ...]
    fingerprint: Annotated[str, NextProperty("exit_code")]
    ended_by: str | None = None
    rows: Annotated[tuple[MutantRow, ...], override(rename="mutants")]
    untried: tuple[str, ...] = ()
    operators: tuple[OperatorRow, ...] = ()
    proofs: tuple[ProofRow, ...] = ()

    @property
    def faults(self) -> tuple[MutantRow, ...]:
        """The mutants whose declaration is missing, false or superfluous."""
        return tuple(row for row in self.rows if row.fault is not None)

    @property
    def exit_code(self) -> int:
        """10 if a declaration is wrong or a proof disagrees, 20 if a mutant is left open, else 0.

        A wrong declaration also counts if the trials ended early: no further trial could make it right.
        """
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
    return {"engine": "mutate", **as_object(report)}


def _row(row: MutantRow) -> dict[str, Any]:
    declared = row.declared
    return {
        **as_object(row.facts),
        "way": row.way,
        "declared": None if declared is None else str(declared),
        "reason": None if declared is None else declared.reason,
        "fault": row.fault,
    }


converter.register_unstructure_hook(MutantRow, _row)
