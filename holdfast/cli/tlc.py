"""``holdfast tlc``: does an independent checker agree?"""

from __future__ import annotations

import json as json_format
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import attrs
from cyclopts import Parameter, validators

from holdfast.check.json_values import as_json
from holdfast.check.result import HOLDS, OUT_OF_BUDGET, VIOLATED
from holdfast.check.tlc.agreement import Agreement, Refinement, SecondOpinion
from holdfast.check.tlc.liveness import LiveAgreement, ask_liveness, compare_liveness
from holdfast.check.tlc.process import NoAnswerError, ended_together, find_tools, result_of
from holdfast.cli.options import Names, Switch
from holdfast.cli.output import Ticker, note, say, write
from holdfast.cli.output_files import RunFile
from holdfast.cli.reporting import NO_REPORTS, Reports
from holdfast.cli.tla import SPEC, written_by_hand
from holdfast.ir.errors import UsageError
from holdfast.ir.load import model_names
from holdfast.ir.scopes import smallest_scope
from holdfast.ir.variants import load_variant
from holdfast.records.record import Record
from holdfast.records.second_opinion import (
    DISAGREES,
    agreement_record,
    claims_record,
    owed_record,
    unanswered_record,
)
from holdfast.trace.itf import itf_text
from holdfast.trace.line import replay_command
from holdfast.trace.text import render
from holdfast.trace.trace import Trace

LIMIT = 900.0
"""The default of ``--limit``: seconds for each run of TLC, and for each search."""

LONGEST = 10_000_000
"""The largest ``--limit`` in seconds: some months. The system counts no endless wait."""


def tlc(
    *model: str,
    scope: str | None = None,
    variant: Names = (),
    without: Names = (),
    implements: Switch = False,
    live: Switch = False,
    limit: Annotated[float, Parameter(validator=validators.Number(gt=0, lte=LONGEST))] = LIMIT,
    json: Switch = False,
    itf: RunFile = None,
    reports: Reports = NO_REPORTS,
) -> int:
    """Search a scope with TLC, an independent checker, and compare with Holdfast's search.

    The model is translated to TLA+ (see `holdfast tla`). Verdict, number of states, depth, and the length of a
    counterexample must be equal. TLC runs with one worker; both searches run without symmetry. Ends 0 if both agree,
    and 1 if they do not.

    Parameters
    ----------
    model
        Names that `holdfast models` lists, or files; all models if none is given.
    scope
        The scope to search; otherwise tiny, or the first where there is no tiny.
    variant
        Choose a named variant of the models. May be repeated.
    without
        Remove a rule, LABEL everywhere or LABEL@action in one action. May be repeated.
    implements
        Instead, check with TLC that the model implements each module that MODEL_implements_….tla in spec/ names; ends
        12 if it does not.
    live
        Instead, decide each liveness property with TLC under the model's fairness, and compare with `holdfast live`.
    limit
        Seconds that TLC may take, and that the search may take.
    json
        Print the answers as JSON, one line for each model, and nothing else.
    itf
        Write the first counterexample of TLC to this file, in the Informal Trace Format.
    reports
        Reports for other tools.
    """
    if implements and live:
        raise UsageError("--implements and --live ask for different runs; choose one of them")
    reports.prepare(json=json)
    tools = find_tools()
    by_hand = written_by_hand(SPEC)
    opinions = []
    for target in model or model_names():
        system = load_variant(target, variant, without)
        found = smallest_scope(system, scope)
        opinions.append(SecondOpinion(system, found, tools, target=target, seconds=limit, modules=by_hand))
    if not opinions:
        raise UsageError("there are no models here; name a file: holdfast tlc path/to/model.py")
    ask = _implements if implements else _owes if live else _agrees
    answers: list[TlcReport] = []
    try:
        # Two runs of TLC at a time. A thread waits for each process; the searches run in this thread.
        pool = ThreadPoolExecutor(2)
        with ended_together(pool), Ticker() as ticker:
            ticker.show("TLC is running")
            for answer in ask(pool, opinions):
                ticker.show("")
                say(json_format.dumps(answer.json) if json else answer.text)
                answers.append(answer)
    except (KeyboardInterrupt, NoAnswerError) as error:
        reports.give([*(answer.record for answer in answers), *_unanswered(opinions[len(answers) :], error)])
        if isinstance(error, NoAnswerError):
            raise
        note(f"holdfast: interrupted: {len(answers)} of {len(opinions)} models compared")
        return OUT_OF_BUDGET
    if itf is not None:
        _write_run([run for answer in answers for run in answer.runs], itf)
    reports.give([answer.record for answer in answers])
    codes = {answer.record.exit_code for answer in answers}
    return next((code for code in (DISAGREES, VIOLATED) if code in codes), HOLDS)


@attrs.frozen
class TlcReport:
    """The result for one model: as text, as JSON values, as a record, and TLC's counterexamples."""

    text: str
    json: dict[str, Any]
    record: Record
    runs: Sequence[Trace]


# Running ---------------------------------------------------------------------------------------------------------


def _agrees(pool: ThreadPoolExecutor, opinions: Sequence[SecondOpinion]) -> Iterator[TlcReport]:
    """Compare verdicts. The search runs in this thread, so that Ctrl-C reaches it; TLC runs meanwhile."""
    asked = [pool.submit(opinion.ask) for opinion in opinions]
    for opinion, future in zip(opinions, asked, strict=True):
        found = opinion.compared(partial(result_of, future))
        record = agreement_record(opinion, found)
        yield TlcReport(_text(found), _to_json(found), record, [] if found.run is None else [found.run])


def _implements(pool: ThreadPoolExecutor, opinions: Sequence[SecondOpinion]) -> Iterator[TlcReport]:
    """Check with TLC each module that a model claims to implement."""
    asked = [pool.submit(_claims, opinion) for opinion in opinions]
    for opinion, future in zip(opinions, asked, strict=True):
        claims = result_of(future)
        record = claims_record(opinion, claims)
        found = {"implements": as_json(claims)}
        runs = [claim.run for claim in claims if claim.run is not None]
        yield TlcReport(_claims_text(opinion, claims), _heading_json(record) | found, record, runs)


def _claims(opinion: SecondOpinion) -> list[Refinement]:
    return [opinion.implemented(name) for name in opinion.implementing]


def _owes(pool: ThreadPoolExecutor, opinions: Sequence[SecondOpinion]) -> Iterator[TlcReport]:
    """Compare liveness. ``holdfast live`` decides in this thread; TLC runs meanwhile."""
    asked = [pool.submit(ask_liveness, opinion) for opinion in opinions]
    for opinion, future in zip(opinions, asked, strict=True):
        owed = compare_liveness(opinion, partial(result_of, future))
        record = owed_record(opinion, owed)
        found = {"liveness": None if owed is None else _owed_json(owed)}
        runs = () if owed is None else owed.runs
        yield TlcReport(_owed_text(opinion, owed), _heading_json(record) | found, record, runs)


def _unanswered(left: Sequence[SecondOpinion], ended: BaseException) -> Iterator[Record]:
    """A record for each unanswered model: the first one ended the command, the others were not tried."""
    why = str(ended) or "interrupted"
    for number, opinion in enumerate(left):
        yield unanswered_record(opinion, f"not asked, after another ended early: {why}" if number else why)


# Text ------------------------------------------------------------------------------------------------------------


def _text(agreement: Agreement) -> str:
    """The comparison of verdicts as text."""
    heading = _configured(agreement.model, agreement.scope, agreement.variants, agreement.removed)
    lines = [
        f"{heading}: {'both agree' if agreement.agrees else 'THEY DISAGREE'}",
        f"  search  {agreement.ours}",
        f"  TLC     {agreement.theirs}",
        *(f"  {difference}" for difference in agreement.differences),
    ]
    if agreement.run is not None:
        lines.append(f"  TLC's run: {replay_command(agreement.run)}")
    return "\n".join(lines)


def _claims_text(opinion: SecondOpinion, claims: Sequence[Refinement]) -> str:
    """The text that says for each claimed module whether the model implements it."""
    heading = _configured(opinion.target, opinion.scope.name, opinion.system.chosen, opinion.system.removed)
    lines = [f"{heading}:" if claims else f"{heading}: it implements no module of {SPEC}/ in this scope"]
    for claim in claims:
        lines.append(f"  {claim.name}: {'it does' if claim.holds else 'it DOES NOT'}")
        if claim.run is not None:
            lines += [f"  TLC's run: {replay_command(claim.run)}", "", render(claim.run)]
    return "\n".join(lines)


def _owed_text(opinion: SecondOpinion, owed: LiveAgreement | None) -> str:
    """The comparison of liveness as text: for each liveness property, the answers of both."""
    heading = _configured(opinion.target, opinion.scope.name, opinion.system.chosen, opinion.system.removed)
    if owed is None:
        return f"{heading}: it has no liveness property"
    lines = [
        f"{heading}: {'both agree' if owed.agrees else 'THEY DISAGREE'}",
        f"  live    {_verdicts(owed.properties, owed.ours, owed.only_if_cut)}",
        f"  TLC     {_verdicts(owed.properties, owed.theirs, ())}",
        *(f"  {difference}" for difference in owed.differences),
        *(f"  TLC's run: {replay_command(run)}" for run in owed.runs),
    ]
    return "\n".join(lines)


def _verdicts(names: Sequence[str], violated: Sequence[str], if_cut: Sequence[str]) -> str:
    """One checker's answers for all properties, on one line."""
    holding = [name for name in names if name not in violated and name not in if_cut]
    parts = [("holds", holding), ("violated", violated), ("violated only where a bound cuts", if_cut)]
    return "; ".join(f"{word}: {', '.join(found)}" for word, found in parts if found)


def _configured(model: str, scope: str, variants: Sequence[str], removed: Sequence[str]) -> str:
    options = [f"variant {name}" for name in variants] + [f"without {rule}" for rule in removed]
    return ", ".join([f"{model}, scope {scope}", *options])


def _write_run(runs: Sequence[Trace], path: Path) -> None:
    if runs:
        write(path, itf_text(runs[0]))
    else:
        note(f"holdfast: TLC found no counterexample, so {path} is not written")


# JSON ------------------------------------------------------------------------------------------------------------


def _heading_json(record: Record) -> dict[str, Any]:
    return {"engine": "tlc", "model": record.model, "scope": record.scope, "exit_code": record.exit_code}


def _to_json(agreement: Agreement) -> dict[str, Any]:
    return {
        "engine": "tlc",
        "model": agreement.model,
        "scope": agreement.scope,
        "variants": list(agreement.variants),
        "without": list(agreement.removed),
        "verdict": "agrees" if agreement.agrees else "disagrees",
        "exit_code": HOLDS if agreement.agrees else DISAGREES,
        "search": as_json(agreement.ours),
        "tlc": as_json(agreement.theirs),
        "differences": list(agreement.differences),
        "replay": None if agreement.run is None else replay_command(agreement.run),
    }


def _owed_json(owed: LiveAgreement) -> dict[str, Any]:
    return {
        "verdict": "agrees" if owed.agrees else "disagrees",
        "properties": list(owed.properties),
        "live": {"violated": list(owed.ours), "only_if_cut": list(owed.only_if_cut)},
        "tlc": {"violated": list(owed.theirs)},
        "differences": list(owed.differences),
        "replay": [replay_command(run) for run in owed.runs],
    }
