"""Judge one log from its header to its last event. `holdfast conform` and campaigns over logs both use these functions,
so that they give the same answer about a log.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from holdfast.check.budget import Meter
from holdfast.check.conform.dump_log import DumpLog
from holdfast.check.conform.judge.frame import Frame
from holdfast.check.conform.judge.judge import Judgement, judge_in
from holdfast.check.conform.judge.setup import JudgeOptions
from holdfast.check.conform.logs.copied_input import MOST_COPIED
from holdfast.check.conform.logs.damage import damaged, shown
from holdfast.check.conform.logs.log import Log
from holdfast.check.conform.logs.own_format import Header
from holdfast.check.conform.mappings.mapping import Mapping
from holdfast.check.conform.mappings.mapping_names import check_names
from holdfast.ir.errors import Place
from holdfast.ir.system import System


def open_log(paths: Sequence[str], mapping: Mapping | None, keep: int = 0, copy_limit: int = MOST_COPIED) -> Log:
    """The log in the files: a metadata dump if the mapping describes one, otherwise lines of JSON.

    ``keep`` and ``copy_limit``: see ``Log``; of a dump nothing is copied. Raises UsageError as ``Log`` does.
    """
    if mapping is not None and mapping.records is not None:
        return DumpLog(paths, mapping)
    return Log(paths, mapping, keep, copy_limit)


def header_of(log: Log, mapping: Mapping | None) -> Header:
    """The log's own header, or else the one of the mapping, or else an empty one."""
    if log.header is not None:
        return log.header
    return mapping.about if mapping is not None else Header(Place("", 0))


def system_for(
    header: Header, mapping: Mapping | None, chosen: tuple[str, ...], load: Callable[[tuple[str, ...]], System]
) -> System:
    """The system that judges the logs with a header.

    ``chosen``: the variants on the command line; without any, those of the header count. ``load``: the model in some
    variants. Raises UsageError if the header names another model, and if the mapping does not fit the model.
    """
    # The variants come later: they may be those of another model.
    system = load(())
    check_model(header, system)
    variants = chosen or header.variants
    if variants:
        system = load(variants)
    if mapping is not None:
        check_names(mapping, system)
    return system


def judge_log(frame: Frame, log: Log, options: JudgeOptions, meter: Meter) -> Judgement:
    """Judge a log to its end, and complete the judgement with what only the log knows.

    Raises UsageError if the log is damaged or does not fit the model.
    """
    judgement = judge_in(frame, log, options, meter)
    if isinstance(log, DumpLog):
        log.conclude(judgement)
    return judgement


def check_model(header: Header, system: System) -> None:
    """Raise UsageError if the header of the log names another model.

    Without this check, a log of a model whose actions happen to have the same names would be judged.
    """
    if header.model is None:
        return
    file, _, name = header.model.partition(":")
    if Path(file).stem not in (Path(system.file).stem, system.name) or name not in ("", system.name):
        damaged(
            header.at,
            f"the log is one of {shown(header.model)}, and {Path(system.file).stem} is asked for",
            "name that model on the command line, or correct the log's model",
        )
