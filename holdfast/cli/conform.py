"""``holdfast conform``: does a model allow the run that a system's log records?"""

from __future__ import annotations

import json as json_format
import re
from collections.abc import Mapping as Map
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from holdfast.check.budget import UNITS, Budget, Meter, Progress, interruptible
from holdfast.check.conform.answer.model_file import WRITTEN
from holdfast.check.conform.answer.retrace import NoRunError
from holdfast.check.conform.answer.run import check_suffix, lines_of
from holdfast.check.conform.answer.verdict import render, to_json, verdict_of
from holdfast.check.conform.judge.frame import Frame
from holdfast.check.conform.judge.ground import UnjudgedError
from holdfast.check.conform.judge.judge import Judgement
from holdfast.check.conform.judge.setup import JudgeOptions
from holdfast.check.conform.judge_log import header_of, judge_log, open_log, system_for
from holdfast.check.conform.logs.copied_input import MOST_COPIED
from holdfast.check.conform.logs.lines import STDIN
from holdfast.check.conform.logs.log import Log
from holdfast.check.conform.mappings.mapping import Mapping
from holdfast.cli.options import Names, Switch
from holdfast.cli.output import Ticker, note, say, write
from holdfast.cli.output_files import FileKind, PageFile
from holdfast.cli.reporting import NO_REPORTS, Reports, renderer
from holdfast.ir.errors import UsageError
from holdfast.ir.system import System
from holdfast.ir.variants import load_variant
from holdfast.records.conform import conform_record
from holdfast.records.judged_log import judged_log

ALL = "all"

SIZES = {unit: int(factor) for unit, (kind, factor) in UNITS.items() if kind == "memory_bytes"}
"""The units of --copy-limit, in bytes."""

HINT = "Add --run FILE.py for a run of the model up to there, which replay, show and explore take."

MODEL_OF_A_RUN = FileKind("model of a run", re.escape(WRITTEN.encode()))
"""What --run writes: a model that replay, show and explore take."""


def conform(
    model: str,
    /,
    *logs: Annotated[str, Parameter(allow_leading_hyphen=True)],
    map: Path | None = None,  # noqa: A002 - the option's name
    variant: Names = (),
    joint: str | None = None,
    project: str | None = None,
    window: Names = (),
    stream: Names = (),
    hidden: Names = (),
    budget: str | None = None,
    copy_limit: str | None = None,
    run: Annotated[Path | None, Parameter(validator=MODEL_OF_A_RUN)] = None,
    html: PageFile = None,
    json: Switch = False,
    reports: Reports = NO_REPORTS,
) -> int:
    """Decide whether a run of the model explains the log of a system.

    Ends 0 if the log conforms, 12 if no run of the model explains it, 20 if there is no answer, and 2 if the log is
    damaged.

    Parameters
    ----------
    model
        A name that `holdfast models` lists, or a file: path/to/model.py, or path/to/model.py:Class.
    logs
        The files of the log, one JSON object a line, or the files of a metadata dump; - is standard input.
    map
        A YAML file that says how to read a foreign log, or the name of one in models/mappings: automq-metadata.
    variant
        Choose a named variant of the model. May be repeated.
    joint
        How many streams to judge together, or all; otherwise one, or all of a few if the model needs it.
    project
        The sort of which one element is judged at a time; otherwise Stream, or Request in `route_epoch`.
    window
        How many values of a Nat to keep at once: NAT=N. May be repeated.
    stream
        Judge this stream only. May be repeated.
    hidden
        An action that the log does not show. May be repeated.
    budget
        Stop at a limit of time or memory: 30s,2GB.
    copy_limit
        How much of a log on standard input, or from a pipe, is copied to a temporary file (8GB); more is refused.
    run
        Write a model in the sizes of the log to this file, and print a line for `holdfast replay`: the run that
        explains the log, up to the first impossible event.
    html
        Write the verdict to this file, as a page for a browser.
    json
        Print the verdict as JSON and nothing else.
    reports
        Reports for other tools.
    """
    for each in logs:
        if each.startswith("-") and each != STDIN:
            raise UsageError(f"unknown option {each!r}; see `holdfast conform --help`, and write ./{each} for a file")
    limits = Budget() if budget is None else Budget.parse(budget)
    mapping = _mapping(map)
    with open_log(logs, mapping, copy_limit=_bytes(copy_limit)) as log:
        header = header_of(log, mapping)
        system = system_for(header, mapping, variant, lambda variants: load_variant(model, variants))
        shown = tuple(mapping.hidden) if mapping is not None else ()
        options = JudgeOptions(_joint(joint), project, _windows(window, system), stream, (*shown, *hidden))
        reports.prepare(json=json)
        page = None if html is None else renderer("log")
        if run is not None:
            check_suffix(run)
        with Ticker() as ticker:
            meter = Meter(limits, lambda now: _tick(ticker, now))
            with interruptible(meter):
                judgement = judge_log(Frame.of(system, header.literals), log, options, meter)
                found = _run(system, log, judgement, run, meter)
        verdict = verdict_of(system, judgement, found)
    if json:
        say(json_format.dumps(to_json(verdict)))
    else:
        say(render(verdict))
        note(f"{judgement.judged:,} events in {meter.seconds:.1f} s, {judgement.judged / meter.seconds:,.0f} a second")
    if html is not None and page is not None:
        write(html, page(judged_log(verdict)))
    reports.give([conform_record(verdict)])
    return verdict.exit_code


def _run(system: System, log: Log, judgement: Judgement, path: Path | None, meter: Meter) -> tuple[str, ...]:
    """The lines about the run that explains the log, up to its end or to the first impossible event."""
    if path is None:
        return (HINT,) if judgement.kind == "impossible" else ()

    def check(events: int) -> None:
        if meter.tick(events, judgement.tally.steps, judgement.tally.steps, judgement.judged - events):
            raise UnjudgedError(f"stopped by a limit ({meter.spent})")

    try:
        return lines_of(system, log, judgement, path, check)
    except NoRunError as error:
        return (f"No run is written: {error}.",)


def _bytes(text: str | None) -> int:
    """The value of --copy-limit in bytes. Raises UsageError for a text that is no size."""
    if text is None:
        return MOST_COPIED
    found = re.fullmatch(rf"(\d{{1,9}})({'|'.join(SIZES)})", text, re.ASCII)
    if found is None:
        raise UsageError(f"--copy-limit {text}: it is no size; write one such as 20GB (units: {', '.join(SIZES)})")
    return int(found[1]) * SIZES[found[2]]


def _mapping(path: Path | None) -> Mapping | None:
    if path is None:
        return None
    # Only a mapping needs the YAML library.
    from holdfast.check.conform.mappings.mapping_file import read_mapping  # noqa: PLC0415

    return read_mapping(path)


def _joint(text: str | None) -> int | None:
    if text is None:
        return None
    if text == ALL:
        return 0
    if not re.fullmatch(r"0*[1-9]\d{0,8}", text, re.ASCII):
        raise UsageError(f"--joint {text}: it is no number; write how many streams are judged together, or all")
    return int(text)


def _windows(texts: tuple[str, ...], system: System) -> Map[str, int]:
    found: dict[str, int] = {}
    known = [nat.name for nat in system.nats]
    for text in texts:
        nat, _, number = text.partition("=")
        if nat not in known or not re.fullmatch(r"\d{1,3}", number, re.ASCII) or not 2 <= int(number) <= 254:
            raise UsageError(
                f"--window {text}: it names no room of a Nat; write NAT=N, N from 2 to 254, with a Nat of "
                f"{', '.join(known) or 'none'}"
            )
        found[nat] = int(number)
    return found


def _tick(ticker: Ticker, now: Progress) -> None:
    """Show how many events were read or judged. While a log is read, no step of the model is taken."""
    rate = now.depth / now.seconds if now.seconds else 0.0
    done = f"{now.depth:,} events read" if not now.distinct else f"{now.depth:,} events judged, {now.queue:,} remain"
    ticker.show(f"{done}, {rate:,.0f} a second, {now.seconds:.0f} s")
