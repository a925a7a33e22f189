"""Logs of random runs, and the judge's answers on them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from holdfast.check.budget import Budget, Meter
from holdfast.check.conform.judge.judge import Judgement, judge
from holdfast.check.conform.judge.setup import JudgeOptions
from holdfast.check.conform.logs.log import Log
from holdfast.check.conform.walks.log_walk import LogWalk
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.system import System

Line = dict[str, Any]


@cache
def system(model: str) -> System:
    """A model, compiled once."""
    return compile_model(load_model(model))


@cache
def walked(
    model: str, seed: int, events: int, scope: str = "default", stretched: bool = True, sources: int = 1
) -> tuple[str, ...]:
    """The lines of a log of a random run."""
    found = system(model)
    walk = LogWalk(found, found.scope(scope), seed=seed, stretched=stretched, sources=sources)
    return tuple(json.dumps(line) for line in walk.lines(events))


def lines(model: str, seed: int, events: int, **more: Any) -> list[Line]:
    """The same lines as objects, to be edited."""
    return [json.loads(line) for line in walked(model, seed, events, **more)]


@contextmanager
def judged_log(model: str, log_lines: list[Line], path: Path, **options: Any) -> Iterator[tuple[Log, Judgement]]:
    """A log, still open, and the judge's answer."""
    path.write_text("".join(f"{json.dumps(line)}\n" for line in log_lines))
    with Log([str(path)]) as log:
        literals = log.header.literals if log.header is not None else {}
        yield log, judge(system(model), log, literals, JudgeOptions(**options), Meter(Budget()))


def judged(model: str, log_lines: list[Line], path: Path, **options: Any) -> Judgement:
    """The judge's answer on a log."""
    with judged_log(model, log_lines, path, **options) as (_, judgement):
        return judgement
