"""A trace as people read it: who did what, what changed, and what that breaks.

Each step shows its action with the arguments by name and, below, the cells that changed, grouped by the element they
belong to: a process's beliefs stand together. A cell belongs to the first element of a sort among its keys. A relation
of several keys gains (``+``) and loses (``-``) tuples. The text has no colour and no time, and fits 100 columns as far
as the model's names allow.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from holdfast.ir.types import BoolType, NatType, OptionalType, SortType
from holdfast.lower.layout import Cell, Value
from holdfast.trace.trace import Claim, Step, Trace

WIDTH = 96
NOBODY = ""
"""The group of cells that belong to no element."""


def render(trace: Trace, *, full: bool = False) -> str:
    """The run as text, without a final newline; ``full`` shows every state whole, not only what changed."""
    blocks = [_header(trace), _start(trace, full)]
    for number, (before, step) in enumerate(zip(trace.steps, trace.steps[1:], strict=False), start=1):
        blocks.append(_step(trace, number, before, step, full))
    blocks.append(_verdict(trace))
    return "\n\n".join("\n".join(block) for block in blocks)


# The parts of the text -------------------------------------------------------------------------------------------


def _header(trace: Trace) -> list[str]:
    claim, steps = trace.claim, count(trace.length, "step")
    lines = [f"{claim.name}: {'reached' if claim.kind == 'witness' else 'violated'} after {steps}"]
    if claim.sentence:
        lines += textwrap.wrap(claim.sentence, WIDTH, initial_indent="  ", subsequent_indent="  ")
    return [*lines, "", configuration(trace.model, trace.scope, trace.variants, trace.removed)]


def configuration(model: str, scope: str, variants: Sequence[str], removed: Sequence[str]) -> str:
    """What was checked, on one line: ``Ownership, scope tiny, without ST-14``."""
    parts = [model, f"scope {scope}"]
    parts += [f"variant {', '.join(variants)}"] if variants else []
    parts += [f"without {', '.join(removed)}"] if removed else []
    return ", ".join(parts)


def _start(trace: Trace, full: bool) -> list[str]:
    lines: list[str] = []
    if trace.constants:
        lines += ["given", *_listed(_standing(trace.constants, full=True)), ""]
    first = trace.steps[0]
    lines.append("start" if full else "start  (cells that are False, None or 0 are left out)")
    return [*lines, *(_state(trace, first, full) or ["     nothing else"])]


def _step(trace: Trace, number: int, before: Step, step: Step, full: bool) -> list[str]:
    header = f"{number:>3}  {action(step)}"
    if step.refused is not None:
        return [f"{header}  again: refused by {step.refused}"]
    lines = [header + ("  again" if step.repeat else "")]
    changes = [
        (cell, _change(cell, old, new))
        for cell, old, new in zip(trace.cells, before.values, step.values, strict=True)
        if old != new and not cell.field.hidden
    ]
    first = [str(value) for _, value in step.args]
    lines += list(_groups(changes, first)) or ["     nothing changes"]
    return [*lines, "     now", *_state(trace, step, full)] if full else lines


def _verdict(trace: Trace) -> list[str]:
    claim, lines = trace.claim, []
    if claim.reads_before and trace.length:
        lines += _read(trace, trace.steps[-2], claim.reads_before, "before the last step")
    lines += _read(trace, trace.steps[-1], claim.reads, "at the end")
    lines += textwrap.wrap(_conclusion(claim), WIDTH, subsequent_indent="  ")
    return [*lines, f"reproduce: {trace.command}"]


def _read(trace: Trace, step: Step, names: Sequence[str], when: str) -> list[str]:
    """What the property reads in a state, but for cells that are False, None or 0."""
    cells = zip(trace.cells, step.values, strict=True)
    read = _standing(((cell, value) for cell, value in cells if cell.field.name in names), full=False)
    return [f"what {trace.claim.name} reads {when}", *_listed(read), ""] if read else []


def _conclusion(claim: Claim) -> str:
    where = f" for {', '.join(f'{name} = {value}' for name, value in claim.where)}" if claim.where else ""
    match claim.kind:
        case "witness":
            return f"The witness {claim.title} is reached{where}."
        case "idempotent":
            return f"{claim.title} is violated: taken again with equal arguments, it must succeed and change nothing."
        case "deadlock":
            return "This is a deadlock: no action is possible here, and no @final names this state."
        case "lemma":
            return (
                f"The lemma {claim.title} is violated{where}. A lemma serves proofs; it is no property of the protocol."
            )
        case _:
            return f"{claim.title} is violated{where}."


# Steps and cells ---------------------------------------------------------------------------------------------------


def action(step: Step) -> str:
    """The action with its arguments by name: ``open(p=p1, s=s1, e=2)``."""
    return f"{step.action}({', '.join(f'{name}={value}' for name, value in step.args)})"


def count(number: int, noun: str) -> str:
    """``1 step``, ``2 steps``, ``1,204 steps``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _state(trace: Trace, step: Step, full: bool) -> list[str]:
    """A whole state; unless ``full`` without budgets and the cells that are False, None or 0."""
    cells = zip(trace.cells, step.values, strict=True)
    return list(_listed(_standing(((cell, value) for cell, value in cells if full or not cell.field.hidden), full)))


def _standing(cells: Iterable[tuple[Cell, Value]], full: bool) -> list[tuple[Cell, str]]:
    """Cells with their values, and relations of several keys as the tuples in them."""
    return [
        (cell, _stands(cell, value))
        for cell, value in cells
        if not is_blank(cell, value) or (full and not _is_tuple(cell))
    ]


def is_blank(cell: Cell, value: Value) -> bool:
    """Whether the value goes without saying: None, or False or 0 in a cell that is never None."""
    return value is None or (not value and not isinstance(cell.field.type, OptionalType))


def _stands(cell: Cell, value: Value) -> str:
    if _is_tuple(cell):
        return f"{cell.field.name} {_keys(cell, '()')}{_ghost(cell)}"
    return f"{_name(cell)}: {value}{_ghost(cell)}"


def _change(cell: Cell, old: Value, new: Value) -> str:
    if _is_tuple(cell):
        return f"{cell.field.name} {'+' if new else '-'} {_keys(cell, '()')}{_ghost(cell)}"
    return f"{_name(cell)}: {old} -> {new}{_ghost(cell)}"


def _is_tuple(cell: Cell) -> bool:
    return isinstance(cell.field.type, BoolType) and len(cell.keys) > 1


def _name(cell: Cell) -> str:
    return cell.field.name + (_keys(cell, "[]") if cell.keys else "")


def _keys(cell: Cell, brackets: str) -> str:
    """The keys; a number says what it counts, as in ``(p1, s1, offset 0)``."""
    parts = [
        f"{_words(key.name)} {value}" if isinstance(key, NatType) else str(value)
        for key, value in zip(cell.field.keys, cell.keys, strict=True)
    ]
    return f"{brackets[0]}{', '.join(parts)}{brackets[1]}"


def _words(name: str) -> str:
    """``NodeEpoch`` as ``node epoch``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower()


def _ghost(cell: Cell) -> str:
    return "  (ghost)" if cell.field.ghost else ""


def _groups(entries: Iterable[tuple[Cell, str]], first: Sequence[str] = ()) -> Iterator[str]:
    """The entries, one a line, under the element that each belongs to; elements in ``first`` lead, in that order."""
    groups = _by_home(entries, first)
    for home, texts in groups.items():
        for position, text in enumerate(texts):
            yield f"{_margin(groups, home if position == 0 else NOBODY)}{text}"


def _listed(entries: Iterable[tuple[Cell, str]]) -> Iterator[str]:
    """The same, but as many entries on a line as fit."""
    groups = _by_home(entries)
    for home, texts in groups.items():
        first, rest = _margin(groups, home), _margin(groups, NOBODY)
        line = first + texts[0]
        for text in texts[1:]:
            if len(line) + len(text) + 2 > WIDTH:
                yield f"{line};"
                line = rest + text
            else:
                line += f"; {text}"
        yield line


def _by_home(entries: Iterable[tuple[Cell, str]], first: Sequence[str] = ()) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {home: [] for home in first}
    for cell, text in entries:
        groups.setdefault(_home(cell), []).append(text)
    # What belongs to nobody comes last.
    groups[NOBODY] = groups.pop(NOBODY, [])
    return {home: texts for home, texts in groups.items() if texts}


def _margin(groups: Iterable[str], home: str) -> str:
    width = max(len(other) for other in groups)
    return f"     {home:<{width}}{'  ' if width else ''}"


def _home(cell: Cell) -> str:
    for key, value in zip(cell.field.keys, cell.keys, strict=True):
        if isinstance(key, SortType):
            return str(value)
    return NOBODY
