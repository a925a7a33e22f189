"""``holdfast tlc``: does an independent checker agree?"""

from __future__ import annotations

import json as json_format
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import attrs
from cyclopts import Parameter, validators

from holdfast.check.result import HOLDS, VIOLATED
from holdfast.check.tlc.agreement import Agreement, Claimed, SecondOpinion, Side
from holdfast.check.tlc.liveness import LiveAgreement, ask_liveness, compare_liveness
from holdfast.check.tlc.process import end_all, find_tools
from holdfast.cli.check import Names, Switch
from holdfast.cli.output import Ticker, check_writable, note, say, write
from holdfast.cli.tla import SPEC, smallest, written_by_hand
from holdfast.ir.compile import compile_model
from holdfast.ir.errors import UsageError
from holdfast.ir.load import load_model, model_names
from holdfast.ir.removal import remove_rules
from holdfast.trace.itf import itf_text
from holdfast.trace.line import replay_command
from holdfast.trace.text import render
from holdfast.trace.trace import Trace

DISAGREES = 1

LIMIT = 900.0
"""Seconds for each run."""


def tlc(
    *model: str,
    scope: str | None = None,
    variant: Names = (),
    without: Names = (),
    implements: Switch = False,
    live: Switch = False,
    limit: Annotated[float, Parameter(validator=validators.Number(gt=0))] = LIMIT,
    json: Switch = False,
    itf: Path | None = None,
) -> int:
    """Let TLC, an independent checker, search a scope too, and compare.

    The model becomes a module of TLA+ (see `holdfast tla`). Verdict, number of states, depth, and the length of a
    counterexample have to be the same; TLC uses one worker and no symmetry, and nor does the search that it is compared
    with. Ends 0 if both agree, and 1 if they do not.

    Parameters
    ----------
    model
        Names that `holdfast models` lists, or files; all models if there is none.
    scope
        The scope to search; otherwise tiny, or the first where there is no tiny.
    variant
        Choose a named variant of the models. May be repeated.
    without
        Remove a rule, LABEL everywhere or LABEL@action in one action. May be repeated.
    implements
        Instead, let TLC check that the model implements each module that MODEL_implements_….tla in spec/ names; ends 12
        if it does not.
    live
        Instead, let TLC decide each @leads_to under the model's fairness, and compare with `holdfast live`.
    limit
        How many seconds TLC and the search may take, each.
    json
        Print the answers as JSON, one line for each model, and nothing else.
    itf
        Write the first counterexample of TLC to this file, in the Informal Trace Format.
    """
    if implements and live:
        raise UsageError("--implements and --live ask for different runs; choose one of them")
    if itf is not None:
        check_writable(itf)
    tools = find_tools()
    by_hand = written_by_hand(SPEC)
    opinions = []
    for target in model or model_names():
        system = remove_rules(compile_model(load_model(target), variants=variant), without)
        found = smallest(system, scope)
        opinions.append(SecondOpinion(system, found, tools, target=target, seconds=limit, modules=by_hand))
    if not opinions:
        raise UsageError("there are no models here; name a file: holdfast tlc path/to/model.py")
    runs: list[Trace] = []
    codes = []
    with _threads() as pool, Ticker() as ticker:
        ticker.show("TLC is running")
        if implements:
            for opinion, claims in zip(opinions, pool.map(_implements, opinions), strict=True):
                ticker.show("")
                codes.append(_report_claims(opinion, claims, json))
                runs += [claim.run for claim in claims if claim.run is not None]
        elif live:
            for opinion, owed in zip(opinions, _debts(pool, opinions), strict=True):
                ticker.show("")
                codes.append(_report_owed(opinion, owed, json))
                runs += [] if owed is None else owed.runs
        else:
            for agreement in _agreements(pool, opinions):
                ticker.show("")
                codes.append(_report(agreement, json))
                runs += [] if agreement.run is None else [agreement.run]
    if itf is not None:
        _write_run(runs, itf)
    return next((code for code in (DISAGREES, VIOLATED) if code in codes), HOLDS)


# Running ---------------------------------------------------------------------------------------------------------


@contextmanager
def _threads() -> Iterator[ThreadPoolExecutor]:
    """Threads that wait for runs of TLC, two at a time; if this one is interrupted, all end."""
    pool = ThreadPoolExecutor(2)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        end_all()
        raise
    finally:
        pool.shutdown()


def _agreements(pool: ThreadPoolExecutor, opinions: Sequence[SecondOpinion]) -> Iterator[Agreement]:
    """Search in this thread, which Ctrl-C reaches, while TLC runs beside it."""
    asked = [pool.submit(opinion.ask) for opinion in opinions]
    for opinion, future in zip(opinions, asked, strict=True):
        yield opinion.compared(future.result)


def _implements(opinion: SecondOpinion) -> list[Claimed]:
    return [opinion.implemented(name) for name in opinion.implementing]


def _debts(pool: ThreadPoolExecutor, opinions: Sequence[SecondOpinion]) -> Iterator[LiveAgreement | None]:
    """Decide liveness in this thread, while TLC runs beside it."""
    asked = [pool.submit(ask_liveness, opinion) for opinion in opinions]
    for opinion, future in zip(opinions, asked, strict=True):
        yield compare_liveness(opinion, future.result)


# Reporting -------------------------------------------------------------------------------------------------------


def _report(agreement: Agreement, as_json: bool) -> int:
    """Say what both found, and answer the exit code."""
    code = HOLDS if agreement.agrees else DISAGREES
    if as_json:
        say(json_format.dumps(_to_json(agreement, code)))
        return code
    heading = _configured(agreement.model, agreement.scope, agreement.variants, agreement.removed)
    say(f"{heading}: {'both agree' if agreement.agrees else 'THEY DISAGREE'}")
    say(f"  search  {agreement.ours}")
    say(f"  TLC     {agreement.theirs}")
    for difference in agreement.differences:
        say(f"  {difference}")
    if agreement.run is not None:
        say(f"  TLC's run: {replay_command(agreement.run)}")
    return code


def _report_claims(opinion: SecondOpinion, claims: Sequence[Claimed], as_json: bool) -> int:
    """Say what TLC found of the modules that the model implements, and answer the exit code."""
    heading = _configured(opinion.target, opinion.scope.name, opinion.system.chosen, opinion.system.removed)
    code = HOLDS if all(claim.holds for claim in claims) else VIOLATED
    if as_json:
        found = {"engine": "tlc", "model": opinion.target, "scope": opinion.scope.name, "exit_code": code}
        say(json_format.dumps(found | {"implements": [_claim_json(claim) for claim in claims]}))
        return code
    say(f"{heading}:" if claims else f"{heading}: it implements no module of {SPEC}/ in this scope")
    for claim in claims:
        say(f"  {claim.name}: {'it does' if claim.holds else 'it DOES NOT'}")
        if claim.run is not None:
            say(f"  TLC's run: {replay_command(claim.run)}")
            say(f"\n{render(claim.run)}")
    return code


def _report_owed(opinion: SecondOpinion, owed: LiveAgreement | None, as_json: bool) -> int:
    """Say what both found of each leads-to, and answer the exit code."""
    code = HOLDS if owed is None or owed.agrees else DISAGREES
    heading = _configured(opinion.target, opinion.scope.name, opinion.system.chosen, opinion.system.removed)
    if as_json:
        found = {"engine": "tlc", "model": opinion.target, "scope": opinion.scope.name, "exit_code": code}
        say(json_format.dumps(found | {"liveness": None if owed is None else _owed_json(owed)}))
        return code
    if owed is None:
        say(f"{heading}: it has no @leads_to")
        return code
    say(f"{heading}: {'both agree' if owed.agrees else 'THEY DISAGREE'}")
    say(f"  live    {_verdicts(owed.properties, owed.ours, owed.only_if_cut)}")
    say(f"  TLC     {_verdicts(owed.properties, owed.theirs, ())}")
    for difference in owed.differences:
        say(f"  {difference}")
    for run in owed.runs:
        say(f"  TLC's run: {replay_command(run)}")
    return code


def _verdicts(names: Sequence[str], violated: Sequence[str], if_cut: Sequence[str]) -> str:
    """What one of them found of all properties."""
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


def _to_json(agreement: Agreement, code: int) -> dict[str, Any]:
    return {
        "engine": "tlc",
        "model": agreement.model,
        "scope": agreement.scope,
        "variants": list(agreement.variants),
        "without": list(agreement.removed),
        "verdict": "agrees" if agreement.agrees else "disagrees",
        "exit_code": code,
        "search": _side_json(agreement.ours),
        "tlc": _side_json(agreement.theirs),
        "differences": list(agreement.differences),
        "replay": None if agreement.run is None else replay_command(agreement.run),
    }


def _side_json(side: Side) -> dict[str, Any]:
    return attrs.asdict(side)


def _claim_json(claim: Claimed) -> dict[str, Any]:
    run = None if claim.run is None else replay_command(claim.run)
    return {"name": claim.name, "holds": claim.holds, "replay": run}


def _owed_json(owed: LiveAgreement) -> dict[str, Any]:
    return {
        "verdict": "agrees" if owed.agrees else "disagrees",
        "properties": list(owed.properties),
        "live": {"violated": list(owed.ours), "only_if_cut": list(owed.only_if_cut)},
        "tlc": {"violated": list(owed.theirs)},
        "differences": list(owed.differences),
        "replay": [replay_command(run) for run in owed.runs],
    }
