"""A trace as text for people: which action was taken, the cells it changed, and the property that the run violates.

Each step shows its action with the arguments by name. Below stand the cells that changed, grouped by the element that
they belong to, so that a process's beliefs stand together. A cell belongs to the first element of a sort among its
keys. A relation of several keys gains (``+``) and loses (``-``) tuples. The text has no colour and no time, and fits
100 columns unless names of the model are too long.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from holdfast.ir.system import LIVENESS
from holdfast.ir.types import BoolType, NatType, OptionalType, SortType
from holdfast.lower.layout import Cell, Value
from holdfast.trace.line import replay_command
from holdfast.trace.sequences import NOTHING, unpacked, whole
from holdfast.trace.trace import Claim, Step, Trace

WIDTH = 96
NOBODY = ""
"""The group of cells that belong to no element."""


def render(trace: Trace, *, full: bool = False) -> str:
    """The run as text, without a final newline; with ``full`` it shows every state whole, not only the changes."""
    blocks = [header(trace), _start(trace, full)]
    for number, (before, step) in enumerate(zip(trace.steps, trace.steps[1:], strict=False), start=1):
        blocks.append(_step(trace, number, before, step, full))
    if trace.loop is not None:
        blocks.append([f"     {back(trace)}"])
    blocks.append(verdict(trace))
    return "\n\n".join("\n".join(block) for block in blocks if block)


def render_steps(trace: Trace) -> str:
    """The steps alone, each with its changes, without a final newline."""
    pairs = enumerate(zip(trace.steps, trace.steps[1:], strict=False), start=1)
    return "\n".join(line for number, (before, step) in pairs for line in _step(trace, number, before, step, False))


# The parts of the text -------------------------------------------------------------------------------------------


def header(trace: Trace, width: int = WIDTH) -> list[str]:
    """The heading: the claim with its outcome, and the model with its configuration."""
    claim, about = trace.claim, configuration(trace.model, trace.scope, trace.variants, trace.removed)
    if claim is None:
        return [f"a run of {count(trace.length, 'step')}", "", about]
    lines = [f"{claim.name}: {outcome(trace, claim)}"]
    if claim.sentence:
        lines += textwrap.wrap(claim.sentence, width, initial_indent="  ", subsequent_indent="  ")
    return [*lines, "", about]


def outcome(trace: Trace, claim: Claim) -> str:
    """Such as ``violated after 3 steps``. Liveness is violated by the whole lasso, so the text names the loop."""
    steps = count(trace.length, "step")
    if claim.kind not in LIVENESS or trace.loop is None:
        return f"{'reached' if claim.kind == 'witness' else 'violated'} after {steps}"
    turn = trace.length - trace.loop
    if turn:
        return f"violated by {steps}, the last {turn:,} of them over and over"
    return f"violated by {steps}, after which nothing happens" if trace.length else "violated where nothing happens"


def configuration(model: str, scope: str, variants: Sequence[str], removed: Sequence[str]) -> str:
    """The checked configuration on one line: ``Ownership, scope tiny, without ST-14``; a foreign run has no scope."""
    parts = [model]
    parts += [f"scope {scope}"] if scope else []
    parts += [f"variant {', '.join(variants)}"] if variants else []
    parts += [f"without {', '.join(removed)}"] if removed else []
    return ", ".join(parts)


def _start(trace: Trace, full: bool) -> list[str]:
    lines: list[str] = []
    if trace.constants:
        lines += ["given", *listed(standing(trace.constants, full=True)), ""]
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
        for (cell, old), (_, new) in zip(_cells(trace, before, step), _cells(trace, step, before), strict=True)
        if old != new and not cell.field.hidden
    ]
    first = [str(value) for _, value in step.args]
    lines += list(_groups(changes, first)) or ["     nothing changes"]
    return [*lines, "     now", *_state(trace, step, full)] if full else lines


def verdict(trace: Trace, width: int = WIDTH) -> list[str]:
    """The end of the text: the cells that the property reads, the conclusion, and the commands that repeat the run."""
    lines: list[str] = []
    if trace.claim is not None:
        lines += _evidence(trace, trace.claim, width)
        lines += textwrap.wrap(conclusion(trace.claim), width, subsequent_indent="  ")
    # A command stays on one line, however long, so that it can be copied.
    lines += [f"reproduce: {trace.command}"] if trace.command is not None else []
    replay = replay_command(trace)
    return [*lines, f"replay:    {replay}"] if replay is not None else lines


def _evidence(trace: Trace, claim: Claim, width: int) -> list[str]:
    """The cells that the property reads in the last state, and in the state before it."""
    lines: list[str] = []
    if claim.reads_before and trace.length:
        lines += _read(trace, claim, trace.steps[-2], claim.reads_before, "before the last step", width)
    return lines + _read(trace, claim, trace.steps[-1], claim.reads, "at the end", width)


def _read(trace: Trace, claim: Claim, step: Step, names: Sequence[str], when: str, width: int) -> list[str]:
    """The cells that the property reads in a state, except cells that are False, None or 0."""
    named = {field.sequence or field.name for field in (cell.field for cell in trace.cells) if field.name in names}
    read = standing(((cell, value) for cell, value in _cells(trace, step) if cell.field.name in named), full=False)
    return [f"what {claim.name} reads {when}", *listed(read, width), ""] if read else []


def conclusion(claim: Claim) -> str:
    """A sentence that says which property is violated or which witness is reached."""
    where = f" for {', '.join(f'{name} = {value}' for name, value in claim.where)}" if claim.where else ""
    match claim.kind:
        case "witness":
            return f"The witness {claim.title} is reached{where}."
        case "idempotent":
            return f"{claim.title} is violated: taken again with equal arguments, it must succeed and change nothing."
        case "deadlock":
            # An empty sentence means a foreign run: other tools have no @final.
            named = ", and no @final names this state" if claim.sentence else ""
            return f"This is a deadlock: no action is possible here{named}."
        case "lemma":
            return (
                f"The lemma {claim.title} is violated{where}. A lemma serves proofs; it is no property of the protocol."
            )
        case "leads_to":
            return (
                f"{claim.title} is violated{where}: it is owed and never comes, though every fair action is taken that "
                "stays possible."
            )
        case "always_eventually":
            return (
                f"{claim.title} is violated{where}: from some point on it is never true again, though every fair "
                "action is taken that stays possible."
            )
        case "eventually_always":
            return (
                f"{claim.title} is violated{where}: it is false again and again, or for ever, though every fair "
                "action is taken that stays possible."
            )
        case _:
            return f"{claim.title} is violated{where}."


# Steps and cells ---------------------------------------------------------------------------------------------------


def action(step: Step) -> str:
    """The action with its arguments by name: ``open(p=p1, s=s1, e=2)``; only its name if a file gives no arguments."""
    if not step.args and not step.code:
        return step.action
    return f"{step.action}({', '.join(f'{name}={value}' for name, value in step.args)})"


def back(trace: Trace) -> str:
    """A clause about the loop of a lasso: the state to which it returns after its last step."""
    if trace.loop == len(trace.steps) - 1:
        return "and then nothing happens any more (stuttering)"
    return f"and then back to {f'the state after step {trace.loop}' if trace.loop else 'the start'}, for ever"


def count(number: int, noun: str) -> str:
    """``1 step``, ``2 steps``, ``1,204 steps``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _state(trace: Trace, step: Step, full: bool) -> list[str]:
    """A whole state; without ``full`` it leaves out budgets and the cells that are False, None or 0."""
    cells = _cells(trace, step)
    return list(listed(standing(((cell, value) for cell, value in cells if full or not cell.field.hidden), full)))


def _cells(trace: Trace, step: Step, *others: Step) -> Iterable[tuple[Cell, Value]]:
    """The cells of a state with their values. A sequence is one cell, if it is so in this state and in others."""
    return whole(trace.cells, step.values, unpacked(trace.cells, [each.values for each in (step, *others)]))


def standing(cells: Iterable[tuple[Cell, Value]], full: bool) -> list[tuple[Cell, str]]:
    """Pairs of a cell and its text; of a relation of several keys, only the tuples that it contains."""
    return [
        (cell, _stands(cell, value))
        for cell, value in cells
        if not is_blank(cell, value) or (full and not is_tuple(cell))
    ]


def is_blank(cell: Cell, value: Value) -> bool:
    """Whether the value need not be shown: it is None, or it is False or 0 in a cell that is never None."""
    return value in (None, NOTHING) or (not value and not isinstance(cell.field.type, OptionalType))


def _stands(cell: Cell, value: Value) -> str:
    if is_tuple(cell):
        return f"{cell.field.name} {keys_of(cell, '()')}{_ghost(cell)}"
    return f"{name_of(cell)}: {value}{_ghost(cell)}"


def _change(cell: Cell, old: Value, new: Value) -> str:
    if is_tuple(cell):
        return f"{cell.field.name} {'+' if new else '-'} {keys_of(cell, '()')}{_ghost(cell)}"
    return f"{name_of(cell)}: {old} -> {new}{_ghost(cell)}"


def is_tuple(cell: Cell) -> bool:
    """Whether the cell is the membership of one tuple in a relation of several keys."""
    return isinstance(cell.field.type, BoolType) and len(cell.keys) > 1


def name_of(cell: Cell) -> str:
    """The cell's name for people: ``epoch[s1]``, ``covered[s1, offset 0]``."""
    return cell.field.name + (keys_of(cell, "[]") if cell.keys else "")


def keys_of(cell: Cell, brackets: str) -> str:
    """The keys in brackets; a number stands after the name of its type, as in ``(p1, s1, offset 0)``."""
    parts = [
        f"{_words(key.name)} {value}".strip() if isinstance(key, NatType) else str(value)
        for key, value in zip(cell.field.keys, cell.keys, strict=True)
    ]
    return f"{brackets[0]}{', '.join(parts)}{brackets[1]}"


def _words(name: str) -> str:
    """``NodeEpoch`` as ``node epoch``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower()


def _ghost(cell: Cell) -> str:
    return "  (ghost)" if cell.field.ghost else ""


def _groups(entries: Iterable[tuple[Cell, str]], first: Sequence[str] = ()) -> Iterator[str]:
    """The entries, one a line, grouped by the element that each belongs to; elements in ``first`` come first."""
    groups = _by_home(entries, first)
    for home, texts in groups.items():
        for position, text in enumerate(texts):
            yield f"{_margin(groups, home if position == 0 else NOBODY)}{text}"


def listed(entries: Iterable[tuple[Cell, str]], width: int = WIDTH) -> Iterator[str]:
    """The entries grouped by the element that each belongs to, as many on a line as fit."""
    groups = _by_home(entries)
    for home, texts in groups.items():
        first, rest = _margin(groups, home), _margin(groups, NOBODY)
        line = first + texts[0]
        for text in texts[1:]:
            if len(line) + len(text) + 2 > width:
                yield f"{line};"
                line = rest + text
            else:
                line += f"; {text}"
        yield line


def _by_home(entries: Iterable[tuple[Cell, str]], first: Sequence[str] = ()) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {home: [] for home in first}
    for cell, text in entries:
        groups.setdefault(home_of(cell), []).append(text)
    # Cells that belong to no element come last.
    groups[NOBODY] = groups.pop(NOBODY, [])
    return {home: texts for home, texts in groups.items() if texts}


def _margin(groups: Iterable[str], home: str) -> str:
    width = max(len(other) for other in groups)
    return f"     {home:<{width}}{'  ' if width else ''}"


def home_of(cell: Cell) -> str:
    """The element that a cell belongs to: the first among its keys, or NOBODY."""
    for key, value in zip(cell.field.keys, cell.keys, strict=True):
        if isinstance(key, SortType):
            return str(value)
    return NOBODY
