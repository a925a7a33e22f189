"""The record of ``mutate``: a case for each mutant. It passes if the mutant ends as the model declares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from holdfast.check.mutate.result import MutantRow, MutationReport, OperatorRow, ProofRow
from holdfast.ir.errors import Place
from holdfast.ir.system import System
from holdfast.records.record import Case, Record, Status, identified


def mutation_record(system: System, report: MutationReport) -> Record:
    """The record of the mutants of a model."""
    counted = Counter(row.way for row in report.rows)
    record = Record(
        engine="mutate",
        model=report.target,
        scope=", ".join(report.scopes),
        verdict="not as declared" if report.faults else "open" if report.exit_code else "as declared",
        exit_code=report.exit_code,
        cases=(
            *(_mutant(system, row) for row in report.rows),
            *(_proof(system, row) for row in report.proofs),
            *_operators(report.operators),
            *_untried(system, report),
        ),
        figures=(
            ("mutants", str(len(report.rows))),
            *((way, str(number)) for way, number in counted.items()),
            ("fingerprint", report.fingerprint),
        ),
    )
    return identified(record, system.name)


def _mutant(system: System, row: MutantRow) -> Case:
    name, kill = row.facts.mutant.name, row.kill
    status: Status = "passed"
    message = f"{row.way}: {row.because}" if row.because else row.way
    text = ""
    if row.fault is not None:
        status, message = "failed", row.fault
        declared = "" if row.declared is None else f"\ndeclared at {row.declared.at}"
        text = f"{name}: {row.fault}{declared}"
    elif row.way == "undecided":
        status, message = "unanswered", f"no answer: {row.open_because}"
    return Case(
        name=_named(system, name),
        kind="mutant",
        sentence=_sentence(system, name),
        at=_place(system, name),
        status=status,
        message=message,
        text=text,
        replay=None if kill is None else kill.replay,
    )


def _proof(system: System, row: ProofRow) -> Case:
    """The case of the prover's answer for a mutant."""
    status: Status = "passed"
    message = f"not proved: {', '.join(row.unproved)}" if row.unproved else "proved"
    if row.fault is not None:
        status, message = "failed", row.fault
    elif row.open is not None:
        status, message = "unanswered", f"no answer: {row.open}"
    return Case(
        name=f"proof {_named(system, row.mutant)}",
        kind="proof of a mutant",
        sentence=_sentence(system, row.mutant),
        at=_place(system, row.mutant),
        status=status,
        message=message,
    )


def _operators(rows: Sequence[OperatorRow]) -> Iterator[Case]:
    """The cases of operator mutants. If an action has several equal changes, a number makes their names differ."""
    seen: Counter[str] = Counter()
    for row in rows:
        name = f"{row.where}: {row.change}"
        seen[name] += 1
        yield _operator(row, name if seen[name] == 1 else f"{name} #{seen[name]}")


def _operator(row: OperatorRow, name: str) -> Case:
    """The case of an operator mutant. One that survives, or that a limit left open, is skipped, not failed."""
    file, line, column = row.place.rsplit(":", 2)
    done = row.way in ("killed", "equivalent")
    return Case(
        name=name,
        kind="operator",
        sentence=f"The model where, in {row.where}, {row.change}.",
        at=Place(file, int(line), int(column)),
        status="passed" if done else "skipped",
        message=row.way if row.kill is None else f"{row.way}: {row.kill}",
        replay=None if row.kill is None else row.kill.replay,
    )


def _untried(system: System, report: MutationReport) -> Iterator[Case]:
    """The cases of mutants that a limit left out; one case for "the rest" if their names are not known."""
    if report.ended_by is None:
        return
    for name in report.untried or ("the rest",):
        mutant = name.removeprefix("proof of ")
        # A pair of rules, or the rest, is no rule or variant: it has no line and no sentence of its own.
        known = mutant.partition("@")[0] in {*(rule.label for rule in system.rules), *system.variants}
        named = _named(system, mutant) if known else name
        yield Case(
            name=f"proof {named}" if mutant != name else named,
            kind="mutant",
            sentence=_sentence(system, mutant) if known else "Pairs of rules, or operators, that were not come to.",
            at=_place(system, mutant),
            status="unanswered",
            message=f"not tried: ended early ({report.ended_by})",
        )


def _named(system: System, mutant: str) -> str:
    """``without LS-01@enter`` or ``variant slow``."""
    return f"variant {mutant}" if mutant in system.variants else f"without {mutant}"


def _sentence(system: System, mutant: str) -> str:
    """The description of a mutant: that of its variant, or the rule that it removes."""
    if mutant in system.variants:
        return system.variants[mutant]
    label, _, site = mutant.partition("@")
    rule = system.rule(label)
    return f"{label} is removed, a {rule.kind} of {site or ', '.join(rule.actions)}."


def _place(system: System, mutant: str) -> Place:
    """The line of the removed rule; for a variant, the line of its declared outcome, or else line 1 of the file."""
    rule = next((rule for rule in system.rules if rule.label == mutant.partition("@")[0]), None)
    if rule is not None:
        return rule.at
    declared = system.outcomes.get(mutant)
    return Place(system.file, 1) if declared is None else declared.at
