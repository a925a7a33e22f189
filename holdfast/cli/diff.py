"""``holdfast diff``: compare two models, versions or variants in one scope."""

from __future__ import annotations

import json as json_format
import re
from functools import partial
from pathlib import Path

import attrs

from holdfast.check.budget import SEARCHING, Budget, Progress
from holdfast.check.diff.engine import COMPARING, Version, diff_to_json
from holdfast.check.diff.engine import diff as compare
from holdfast.check.diff.text import render_diff
from holdfast.cli.options import Cores, Switch
from holdfast.cli.output import Ticker, note, say, write
from holdfast.cli.output_files import PageFile
from holdfast.cli.reporting import renderer
from holdfast.ir.errors import UsageError
from holdfast.ir.load import load_model, model_names
from holdfast.ir.scopes import USUAL
from holdfast.ir.system import System
from holdfast.ir.variants import compile_variant
from holdfast.records.compared_models import compared_models

_CUT = re.compile(r"(?=[+-])")
_FILE = re.compile(r".*?\.py(?::\w+)?(?=[+-]|$)")
_VARIANT = re.compile(r"\+(\w+)(?=[+-]|$)")
_LABEL = re.compile(r"-((?:[0-9]*[A-Z][A-Z0-9]*-\w+|[a-z]\w*)(?:\.\w+)*(?:@\w+)?)(?=[+-]|$)")


def diff(
    a: str,
    b: str,
    /,
    *,
    scope: str | None = None,
    budget: str | None = None,
    cores: Cores = None,
    html: PageFile = None,
    json: Switch = False,
) -> int:
    """Compare two models, two versions of one, or two variants: what does B do that A does not, and the reverse?

    Each side is MODEL[+VARIANT...][-LABEL...]: a model, the chosen variants, and the removed rules (everywhere, or
    -LABEL@action in one action). For example: holdfast diff ownership ownership-ST-14

    Parameters
    ----------
    a
        The model before: a name that `holdfast models` lists, or a file, path/to/model.py or path/to/model.py:Class.
    b
        The model after.
    scope
        The scope of the comparison; otherwise tiny, or default.
    budget
        Stop at a limit of time, states or memory: 30s,1e6states,2GB.
    cores
        How many cores to use; otherwise all.
    html
        Write the comparison to this file as a page, with a run to what only one side does.
    json
        Print the comparison as JSON and nothing else.
    """
    limits = Budget() if budget is None else Budget.parse(budget)
    render = None if html is None else renderer("diff")
    sides = [parse_side(text) for text in (a, b)]
    name = scope or _common(sides)
    versions = [Version(side.system, side.system.scope(name), side.target) for side in sides]
    with Ticker() as ticker:
        found = compare(*versions, budget=limits, progress=partial(_tick, ticker), cores=cores)
    if json:
        say(json_format.dumps(diff_to_json(found)))
    else:
        say(render_diff(found))
        note(f"compared and searched in {found.seconds:.1f} s")
    if html is not None and render is not None:
        write(html, render(compared_models(found)))
    return found.exit_code


@attrs.frozen
class ComparedModel:
    """One side of the comparison: the model's name on the command line, and the compiled system."""

    target: str
    system: System


def parse_side(text: str) -> ComparedModel:
    """The system that ``MODEL[+VARIANT...][-LABEL...]`` names.

    A path may contain + and - too. Of several readings, the one with the longest name of an existing model wins. Raises
    UsageError for a model, variant or rule that does not exist.
    """
    end = _end_of_model(text)
    target, rest = text[:end], text[end:]
    model = load_model(target)
    variants, rest = _marked(_VARIANT, rest)
    removed, rest = _marked(_LABEL, rest)
    if rest:
        raise UsageError(
            f"{text!r}: {rest!r} is neither +VARIANT nor -LABEL; write the variants first, such as "
            f"{target}+as_built-ST-14"
        )
    return ComparedModel(target, compile_variant(model, variants, removed))


def _end_of_model(text: str) -> int:
    """The index in the text at which the name of the model ends."""
    # All places where the name may end, the longest name first: the end of the text, or before a + or a -.
    cuts = [len(text), *(found.start() for found in reversed(list(_CUT.finditer(text))) if found.start())]
    file = _FILE.match(text)
    # If no reading names an existing model, the error is about the most likely one: the file, or the shortest name.
    likely = file.end() if file is not None else cuts[-1]
    return next((cut for cut in cuts if _is_model(text[:cut])), likely)


def _is_model(text: str) -> bool:
    """Whether the text names an existing file or model, with or without ``:Class``."""
    name, _, wanted = text.partition(":")
    if wanted and not wanted.isidentifier():
        return False
    return Path(name).is_file() if name.endswith(".py") else name in model_names()


def _marked(pattern: re.Pattern[str], rest: str) -> tuple[list[str], str]:
    """The marked names at the start of the text, and the rest of the text."""
    names: list[str] = []
    while (found := pattern.match(rest)) is not None:
        names.append(found[1])
        rest = rest[found.end() :]
    return names, rest


def _common(sides: list[ComparedModel]) -> str:
    """The scope of the comparison if the user names none. Raises UsageError if the models share no usual scope."""
    scopes = [list(side.system.scopes) for side in sides]
    both = [name for name in scopes[0] if name in scopes[1]]
    usual = next((name for name in USUAL if name in both), None)
    if usual is None:
        said = "; ".join(f"{side.target} has {', '.join(side.system.scopes) or 'none'}" for side in sides)
        remedy = f"choose --scope {' or '.join(both)}" if both else "give both a scope of one name"
        raise UsageError(f"no scope tiny or default is in both models ({said}); {remedy}")
    return usual


def _tick(ticker: Ticker, now: Progress) -> None:
    if now.stage not in (SEARCHING, COMPARING):
        ticker.show(f"{now.stage}, {now.seconds:.0f} s")
        return
    parts = [
        f"{now.stage}: depth {now.depth}",
        f"{now.distinct:,} states",
        f"{now.rate:,.0f} a second",
        f"{now.queue:,} waiting",
        f"{now.seconds:.0f} s",
    ]
    parts += [] if now.left.seconds is None else [f"{now.left.seconds:.0f} s left"]
    ticker.show(", ".join(parts))
