"""The page of the implementation's rules: what finds the lack of each, and what the models say of the same rule."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from holdfast.check.mutate.guards import Guard, GuardTable, because
from impl.bridge.guards.instead import ELSEWHERE
from impl.bridge.guards.part_runs import JOINS, ROUNDS, PartRun, part_command
from impl.bridge.guards.row import NOT_TRIED, GuardRow, GuardStore
from impl.bridge.guards.unreachable import REASONS, undecided
from impl.bridge.log_models import OF_PARTITIONS
from impl.sim.mix import command, question
from impl.sim.part_cases.registry import PARTS

LONGEST, WIDTH = 120, 120
"""The longest message of a row, and the longest line of text, in characters."""

PARTS_IN_WORDS = "\n".join(f"- `{name}`: {each.what} ({each.runs:,} runs)." for name, each in PARTS.items())
HEAD = f"""\
# The rules of the implementation, and what finds their lack

Every rule of the [reference implementation](simulate.md) with a label, what reaches it, and what finds its removal in
the *default campaign*, which has three kinds of runs. Assertions are switched off.

Most are clusters of the *default mix* (`impl/sim/mix.py`): half of them with streams and half with partitions, of both
versions and both generations, with no faults, with few kinds, or with half of all kinds. Some have another setting of
the controllers, or clients besides the brokers (strangers and neighbours). For every ten of these runs there is one
with three zones; these have the numbers from 20,000 on.

Where these show nothing, a rule is tried in *runs of a part*: a part of a node alone, with a second statement of the
facts that judges it, an *oracle of a part* (`holdfast simulate --part NAME --seed N`):

{PARTS_IN_WORDS}

The balancer, which no broker of the mix has, also has {ROUNDS:,} rounds on random clusters
(`holdfast campaign run --target balancer`), and {JOINS} clusters in which an empty broker joins
(`holdfast simulate --scenario balance`).

The columns:

- *reached by*: the kinds of faults with which a run of the mix reaches the rule; without any one of them it does not.
- *decided*: how often the rule refused a request or decided a branch, and in how many runs; these are runs of parts
  only if no run of the mix reaches the rule.
- *found by* an **oracle**: it objects to a run without the rule: of the mix, of a part, or a kept one.
- **machine**: no oracle objects to the runs that were tried, but controller and model differ in a walk, in which both
  get the same requests from a seed.
- **conform**: neither of these, but a model does not allow the log of the run.
- **redundant**: none of these, for another rule decides in its place. With both removed, the run shows what the row
  says; without the other rule alone, it does not.
- **node error**: none of these, but a node ends with an error that no rule describes.
- **scenario**: only a file of `tests/scenarios/` fails without the rule.
- With all rules, the same run, walk or file shows nothing.
- *not found*: nothing of this was found in the few runs that were tried, or the rule was not tried (*not tried*).
- *the run*: the command that shows it. No command makes a walk; its model and its seed stand there.
- *in the models*: the rows of [the guards](guards.md) that name the rule, and other models that have it, each with what
  the model without it shows.

This page is generated: `holdfast simulate --update` tries all rules and stores what finds them, and
`holdfast simulate --guards docs/impl-guards.md` writes it.
"""


def page(
    store: GuardStore, tables: Sequence[GuardTable], results: Mapping[str, Any], link: Callable[[str], str]
) -> str:
    """The page, in Markdown. ``tables``, ``results``: the guards of the models. ``link`` adds links to rule ids."""
    counted = Counter(_way(row) for row in store.rows)
    ways = ", ".join(f"{number} {way}" for way, number in counted.most_common())
    lines = [HEAD, *_wrapped(f"{store.runs:,} runs of the mix, {len(store.rows)} rules: {ways}.")]
    lines += _elsewhere()
    lines += _idle(store.rows)
    lines += ["| rule | reached by | decided | found by | the run | in the models |", "|---|---|---|---|---|---|"]
    for row in store.rows:
        models = "<br>".join(_in_models(row.label, tables, results, link))
        cells = (link(row.label), _reached(row), _decided(row), _found(row), _run(row), models)
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join([*lines, ""])


def _wrapped(text: str) -> list[str]:
    return [*textwrap.wrap(text, WIDTH, break_on_hyphens=False), ""]


def _idle(rows: Sequence[GuardRow]) -> Iterator[str]:
    """Lists the rules that decided nothing, then those that decided only in runs of parts, each with its reason."""
    if missed := undecided(rows):
        yield from _wrapped(f"These rules decided nothing, though a run may reach them: {', '.join(missed)}.")
    listed = [row.label for row in rows if row.idle and row.label in REASONS]
    if listed:
        title = f"No run of a simulated cluster reaches {len(listed)} rules, which decide something in runs of parts:"
        yield from _list(title, listed, REASONS)


def _elsewhere() -> Iterator[str]:
    """The rules that have another label than their id."""
    title = "Of the rules M-01 to M-25 of zone routing, these have no label of their own:"
    yield from _list(title, list(ELSEWHERE), ELSEWHERE)


def _list(title: str, listed: Sequence[str], reasons: Mapping[str, str]) -> Iterator[str]:
    yield from _wrapped(title)
    for reason, labels in groupby(listed, reasons.__getitem__):
        yield from textwrap.wrap(f"- {', '.join(labels)}: {reason}.", WIDTH, subsequent_indent="  ")
    yield ""


def _way(row: GuardRow) -> str:
    if row.part and not row.partner:
        return "oracle of a part"
    return row.way or (NOT_TRIED if row.said == NOT_TRIED else "not found")


def _reached(row: GuardRow) -> str:
    if row.reached is None:
        return "runs of parts" if row.decided else "no run"
    return f"{', '.join(row.faults) or 'no faults'} (run {row.reached})"


def _decided(row: GuardRow) -> str:
    return f"{row.decided:,} in {row.runs:,}"


def _found(row: GuardRow) -> str:
    if not row.finder:
        return _way(row)
    message = row.said if len(row.said) <= LONGEST else f"{row.said[:LONGEST]}…"
    said = f"{row.by}: {message}" if row.by else message
    if row.partner:
        return f"**redundant**: {row.partner} decides instead; without both, {row.finder} {said}"
    return f"**{row.finder}** {said}"


def _run(row: GuardRow) -> str:
    """The command that shows the removal; of a walk, its model and its seed."""
    if row.file:
        named = f"scenario run {row.file} --without {row.label}" if row.finder == "scenario" else f"simulate {row.file}"
        return f"`holdfast {named}`"
    if row.run is None:
        return ""
    removed = (row.label, *([row.partner] if row.partner else []))
    if row.part:
        return f"`{part_command(PartRun(row.part, row.run), removed)}`"
    if row.finder == "machine":
        return f"`{row.by}` beside the controller, seed {row.run}"
    said = command(question(row.run, removed))
    return f"`{said}`" if row.finder != "conform" else f"`{said} --log e.ndjson`, then {_judged_by(row.by)}"


def _judged_by(model: str) -> str:
    """The command by which a model judges the logs that belong to e.ndjson."""
    match model:
        case "route_epoch":
            return "`holdfast conform route_epoch e.routes.ndjson`"
        case "snapshot_read":
            return "`holdfast conform snapshot_read` with each file of `e.reads`"
        case _ if model in OF_PARTITIONS:
            return f"`holdfast conform {model} --map {model}` with each `e.N.ndjson`"
    return f"`holdfast conform {model} e.ndjson --map {model}`"


def _in_models(
    label: str, tables: Sequence[GuardTable], results: Mapping[str, Any], link: Callable[[str], str]
) -> Iterator[str]:
    """The guards that stand for a rule, each with the results of its mutants without the rule, then other models."""
    for guard in (guard for table in tables for guard in table.guards):
        mutants = [name for name in guard.mutants if _is_of(name.partition(":")[2], label)]
        shown = [f"`{name.partition(':')[0]}` {because(row)}" for name in mutants if (row := _row(name, results))]
        if shown:
            yield f"{link(guard.id)} {'; '.join(shown)}"
        elif not guard.mutants and _cites(guard, label):
            yield f"{link(guard.id)} not modelled yet"
    listed = {name for table in tables for guard in table.guards for name in guard.mutants}
    for model, result in results.items():
        rows = [row for row in result.get("mutants", ()) if "@" not in row["mutant"] and _is_of(row["mutant"], label)]
        others = [because(row) for row in rows if f"{model}:{row['mutant']}" not in listed]
        if others:
            yield f"`{model}` {'; '.join(others)}"


def _is_of(mutant: str, label: str) -> bool:
    """Whether a mutant removes the rule with a label: the same label, or one of both is the whole rule."""
    plain, rule = mutant.partition("@")[0], label.partition(".")[0]
    return plain in (label, rule) or (label == rule and plain.partition(".")[0] == rule)


def _cites(guard: Guard, label: str) -> bool:
    return label.partition(".")[0] in guard.guard.replace("/", " ").split()


def _row(name: str, results: Mapping[str, Any]) -> Mapping[str, Any] | None:
    model, _, mutant = name.partition(":")
    return next((row for row in results.get(model, {}).get("mutants", ()) if row["mutant"] == mutant), None)
