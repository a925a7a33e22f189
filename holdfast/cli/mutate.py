"""``holdfast mutate``: do the properties of a model have teeth?"""

from __future__ import annotations

import json as json_format
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from rich.table import Table

from holdfast.check.budget import INTERRUPTED, SEARCHING, Budget, Progress
from holdfast.check.mutate.engine import Mutation, MutationOptions, fingerprint
from holdfast.check.mutate.guards import GUARDS, RESULTS, format_results, guards_page, read_guards, read_results
from holdfast.check.mutate.limits import Interruption, MutationLimits
from holdfast.check.mutate.log import MutationLog
from holdfast.check.mutate.operator_trials import try_operators
from holdfast.check.mutate.result import MutantRow, MutationReport, OperatorRow, to_json
from holdfast.check.result import DEADLOCK, HOLDS, OUT_OF_BUDGET, UNSHOWN, VIOLATED, Result
from holdfast.check.result import to_json as result_to_json
from holdfast.check.rules.book import book_beside
from holdfast.check.rules.page import PAGES, link_ids
from holdfast.check.summary import render_result
from holdfast.cli.legend import WithRules, refuse_json, say_legend
from holdfast.cli.options import Cores, Names, Switch
from holdfast.cli.output import Ticker, cannot_write, check_writable, note, say, show, write
from holdfast.cli.output_files import GuardsFile
from holdfast.cli.reporting import NO_REPORTS, Reports
from holdfast.ir.errors import UsageError
from holdfast.ir.load import load_with_lemmas, model_folders, names_in
from holdfast.ir.scopes import usual_scopes
from holdfast.ir.system import System
from holdfast.ir.variants import load_variant
from holdfast.records.mutation import mutation_record
from holdfast.records.record import Record
from holdfast.records.search import search_record
from holdfast.trace.itf import itf_text
from holdfast.trace.trace import Trace

if TYPE_CHECKING:
    from holdfast.cli.proving import Proving

GRAVITY = (VIOLATED, DEADLOCK, UNSHOWN, OUT_OF_BUDGET, HOLDS)
"""Exit codes, the gravest first. If several models are tried, the gravest code is the command's."""

Answer = MutationReport | Result
"""A report on a model's mutants, or the search result of a model that is itself violated."""


def mutate(
    *models: str,
    scope: str | None = None,
    pairs: bool = True,
    variants: bool = True,
    operators: Switch = False,
    prove: Switch = False,
    only: Names = (),
    budget: str | None = None,
    cores: Cores = None,
    json: Switch = False,
    rules: WithRules = False,
    itf: Path | None = None,
    resume: Path | None = None,
    update: Switch = False,
    guards: GuardsFile = None,
    reports: Reports = NO_REPORTS,
) -> int:
    """Remove every labelled rule of a model, one at a time, and check which property notices.

    Ends 0 if a property kills each mutant, or the model correctly declares its outcome; 10 if a declaration is
    missing, false or superfluous, and then it says what to write; 20 if a limit left a mutant open.

    Parameters
    ----------
    models
        Names that `holdfast models` lists, or files: path/to/model.py, or path/to/model.py:Class.
    scope
        The scope to search; otherwise tiny and, for mutants that survive there, default.
    pairs
        Try each survivor also with a second rule removed (the default), or do not.
    variants
        Try the named variants as well (the default), or do not.
    operators
        Also change comparisons, conditions, assignments and premises; such a mutant may survive, and is only reported.
    prove
        Also run the prover: the proof must fail for a mutant that a safety property kills, and succeed for one that is
        equivalent or redundant.
    only
        Try this mutant only: LABEL with its sites, LABEL@action, or a variant. May be repeated.
    budget
        Stop the command after a time, and leave a mutant open at a limit of states or memory: 5min,1e6states,2GB.
    cores
        How many mutants to try at once, each on a core of its own; otherwise one for each core.
    json
        Print the report as JSON, one line for each model, and nothing else.
    rules
        Below the result, explain each rule id that it mentions.
    itf
        Write the run that kills each mutant to this folder, in the Informal Trace Format.
    resume
        Save outcomes in this file, and do not repeat those that it already holds.
    update
        Store the outcomes in mutants.json beside the models; without model names, try all models.
    guards
        Write the page of all guards to this file, from the stored outcomes; without models nothing is tried.
    reports
        Reports for other tools.
    """
    refuse_json(rules=rules, json=json)
    folder = _folder() if update or guards is not None else None
    if update:
        assert folder is not None
        _check_whole(scope, only, pairs=pairs, variants=variants)
        models = models or tuple(names_in(folder))
        _check_stored_here(folder, models)
    elif guards is not None and not models:
        reports.refuse("--guards without a model tries nothing")
        return _write_guards(folder, guards)
    limits = MutationLimits(Budget() if budget is None else Budget.parse(budget), cores=cores)
    if not models:
        raise UsageError("no model is named; `holdfast models` lists all models")
    reports.prepare(json=json)
    if itf is not None:
        _make_folder(itf)
    if resume is not None:
        check_writable(resume)
    # Compile all models first: an error in the last one then shows before the first one is tried.
    systems = {target: load_variant(target) for target in models}
    chosen = {target: usual_scopes(system, scope) for target, system in systems.items()}
    log = MutationLog(resume)
    answers: list[Answer] = []
    for target, system in systems.items():
        stamp = fingerprint(system, chosen[target])
        mutation = Mutation(
            system,
            chosen[target],
            limits,
            target=target,
            options=MutationOptions(pairs, variants, only),
            known=log.known(target, stamp),
            keep=partial(log.keep, target, stamp),
            show=partial(_write_run, itf, target),
        )
        rows = OperatorRows(partial(log.operator, target, stamp), partial(log.keep_operator, target, stamp))
        proving = _proving(target, stamp, log, limits) if prove else None
        answers.append(_mutate(mutation, limits, rows if operators else None, proving, as_json=json))
        if rules:
            say_legend(_texts(answers[-1]), system)
        if answers[-1].exit_code == OUT_OF_BUDGET and len(answers) < len(systems):
            note(f"holdfast: not tried: {', '.join(list(systems)[len(answers) :])}")
            break
    code = min((answer.exit_code for answer in answers), key=GRAVITY.index)
    if update:
        code = _store(folder, [answer for answer in answers if isinstance(answer, MutationReport)], code)
    if guards is not None and code == HOLDS:
        code = _write_guards(folder, guards)
    reports.give([_record(system, answer) for system, answer in zip(systems.values(), answers, strict=False)])
    return code


def _texts(answer: Answer) -> list[str]:
    """The printed texts of an answer that may name rules."""
    if isinstance(answer, Result):
        return [render_result(answer)]
    return [f"{row.facts.mutant.name} {row.because}" for row in answer.rows]


def _record(system: System, answer: Answer) -> Record:
    return (
        mutation_record(system, answer)
        if isinstance(answer, MutationReport)
        else search_record(system, answer, "mutate")
    )


@attrs.frozen
class OperatorRows:
    """The log of operator mutants: ``known`` looks up the outcome from an earlier run, ``keep`` stores a new one."""

    known: Callable[[str, str, int], OperatorRow | None]
    keep: Callable[[OperatorRow], None]


def _proving(target: str, stamp: str, log: MutationLog, limits: MutationLimits) -> Proving:
    """The proof of a model, with its lemmas from ``MODEL_proof.py``."""
    from holdfast.cli.proving import Proving  # noqa: PLC0415 - Z3 takes a while to load

    known, keep = partial(log.proof, target, stamp), partial(log.keep_proof, target, stamp)
    return Proving.of(load_with_lemmas(target), limits, known, keep)


def _mutate(
    mutation: Mutation,
    limits: MutationLimits,
    operators: OperatorRows | None,
    proving: Proving | None,
    *,
    as_json: bool,
) -> Answer:
    """Try one model's mutants, and print their outcomes. If the model itself is violated, print that instead."""
    with Ticker() as ticker:
        limits.progress = partial(_tick, ticker, mutation.target, limits)
        try:
            if proving is not None:
                proving.proofs.prove_whole()
            broken = mutation.broken()
        except (Interruption, KeyboardInterrupt) as stopped:
            ended_by = str(stopped) or INTERRUPTED
            remedy = "" if ended_by == INTERRUPTED else "; give it more time, or choose a smaller scope"
            note(f"holdfast: {mutation.target}: {ended_by}, before any mutant was tried{remedy}")
            return mutation.untried(ended_by)
        if broken is None:
            report = mutation.report()
            if operators is not None and report.ended_by is None:
                report = _with_operators(mutation, report, limits, operators)
            if proving is not None and report.ended_by is None:
                from holdfast.cli.proving import with_proofs  # noqa: PLC0415 - as above

                report = with_proofs(report, proving)
    if broken is not None:
        say(json_format.dumps(result_to_json(broken)) if as_json else render_result(broken))
        note(f"holdfast: {mutation.target} itself does not hold, so its mutants say nothing; mend it first")
        return broken
    if as_json:
        say(json_format.dumps(to_json(report)))
    else:
        _print(report, mutation.system)
    return report


def _with_operators(
    mutation: Mutation, report: MutationReport, limits: MutationLimits, operators: OperatorRows
) -> MutationReport:
    """The report with the operator mutants of the first scope. Stops at a limit, with the mutants tried until then."""
    rows: list[OperatorRow] = []
    ended_by: str | None = None

    def keep(row: OperatorRow) -> None:
        operators.keep(row)
        rows.append(row)

    try:
        try_operators(mutation.system, mutation.benches[0], limits, keep, operators.known)
    except (Interruption, KeyboardInterrupt) as stopped:
        ended_by = str(stopped) or INTERRUPTED
    return attrs.evolve(report, operators=tuple(rows), ended_by=ended_by)


def _tick(ticker: Ticker, target: str, limits: MutationLimits, now: Progress) -> None:
    how_far = f"{now.distinct:,} states" if now.stage == SEARCHING else now.stage
    ticker.show(f"{target}, {limits.now}: {how_far}")


# Files ------------------------------------------------------------------------------------------------------------


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from error


def _write_run(folder: Path | None, target: str, name: str, trace: Trace) -> None:
    if folder is not None:
        write(folder / f"{Path(target).stem}-{name}.itf.json", itf_text(trace))


# The results beside the models -----------------------------------------------------------------------------------


def _folder() -> Path:
    folder = next(iter(model_folders()), None)
    if folder is None:
        raise UsageError("there are no models; run this where models/ is")
    return folder


def _check_whole(scope: str | None, only: tuple[str, ...], *, pairs: bool, variants: bool) -> None:
    """Raise UsageError for an option that leaves out mutants or scopes: only complete outcomes are stored."""
    left_out = {
        "--scope": scope is not None,
        "--only": bool(only),
        "--no-pairs": not pairs,
        "--no-variants": not variants,
    }
    for option, given in left_out.items():
        if given:
            raise UsageError(f"--update stores what becomes of every mutant; leave out {option}")


def _check_stored_here(folder: Path, models: tuple[str, ...]) -> None:
    for name in models:
        if name not in names_in(folder):
            raise UsageError(
                f"--update stores results of the models in {folder}, and {name} is none; name it without .py"
            )
    read_results(folder / RESULTS)
    check_writable(folder / RESULTS)


def _store(folder: Path | None, reports: list[MutationReport], code: int) -> int:
    """Store the results if all of them are as declared, and return ``code``."""
    assert folder is not None
    if code != HOLDS:
        note(f"holdfast: nothing is stored, because not all is as declared: {folder / RESULTS} stays as it is")
        return code
    stored = {name: model for name, model in read_results(folder / RESULTS).items() if name in names_in(folder)}
    write(folder / RESULTS, format_results(stored, reports))
    note(f"holdfast: stored in {folder / RESULTS}")
    return code


def _write_guards(folder: Path | None, path: Path) -> int:
    assert folder is not None
    link = partial(link_ids, book=book_beside(folder), folder=PAGES)
    write(path, guards_page(read_guards(folder / GUARDS), read_results(folder / RESULTS), link))
    note(f"holdfast: {path} is written")
    return HOLDS


# Text -------------------------------------------------------------------------------------------------------------


def _print(report: MutationReport, system: System) -> None:
    """Print the tables of mutants, the outcomes that differ from the declarations, and the counts."""
    show(_table(report))
    if report.operators:
        say("")
        show(_operator_table(report))
    if report.proofs:
        from holdfast.cli.proving import proof_lines, proof_table  # noqa: PLC0415 - as above

        say("")
        show(proof_table(report))
        say("")
        for line in proof_lines(report):
            say(line)
    say("")
    for row in report.faults:
        at = row.declared.at if row.declared is not None else _place(system, row)
        say(f"{at}: {row.facts.mutant.name}: {row.fault}")
    for row in report.rows:
        if row.way == "undecided":
            say(f"{row.facts.mutant.name}: no answer ({row.open_because})")
    if report.ended_by is not None:
        say(f"ended early ({report.ended_by}); not tried: {', '.join(report.untried) or 'some pairs'}")
    counted = Counter(row.way for row in report.rows)
    ways = ", ".join(f"{number} {way}" for way, number in counted.items()) or "none"
    wrong = len(report.faults)
    verdict = f"{wrong} not as declared" if wrong else "all as declared"
    say(f"{report.model}, scope {', '.join(report.scopes)}: {len(report.rows)} mutants: {ways}; {verdict}")


def _place(system: System, row: MutantRow) -> str:
    """The line of the rule that an undeclared mutant removes; otherwise the model's file."""
    rules = [rule for rule in system.rules if rule.label == row.facts.mutant.label]
    return str(rules[0].at) if rules else system.file


def _table(report: MutationReport) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("mutant", "ends", "because", "scope"):
        table.add_column(heading, overflow="fold")
    for row in report.rows:
        kill = row.kill
        way = row.way.upper() if row.fault is not None or row.way == "undecided" else row.way
        table.add_row(row.facts.mutant.name, way, row.because, kill.scope if kill is not None else "")
    return table


def _operator_table(report: MutationReport) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("at", "in", "change", "ends", "because"):
        table.add_column(heading, overflow="fold")
    for row in report.operators:
        table.add_row(row.place, row.where, row.change, row.way, "" if row.kill is None else str(row.kill))
    return table
