"""The figures of runs as text for people: their faults, their steps, and the work of the oracles."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence

from impl.sim.awaits import awaits_of_brokers
from impl.sim.check import Question
from impl.sim.faults import KINDS, NAMED
from impl.sim.outcome import Totals
from impl.tasks import Place

WIDTH = 100
INDENT = 16


def title(question: Question, seeds: str) -> str:
    """The title of a summary: the cluster, the seeds, and the changes of the rules."""
    changes = [*(f"without {each}" for each in question.without), *(f"with {each}" for each in question.switches)]
    generation = [question.generation] if question.options.partitions else []
    return ", ".join([f"cluster {question.version}", *generation, seeds, *changes])


def summary(question: Question, totals: Totals) -> list[str]:
    """The figures of one run, or of many runs together."""
    options, counts, many = question.options, totals.counts, totals.runs > 1
    used = f"{options.partitions} partitions" if options.partitions else f"{options.streams} streams"
    made = [f"{options.brokers} brokers", f"{options.controllers} controllers", used]
    made += [f"{options.zones} zones"] if options.zones else []
    names = {name.partition(" ")[2]: count for name, count in counts.items() if name.startswith("operations ")}
    lines = [
        *_field("cluster", [*made, f"{options.clients} clients"] if options.operations_of is None else made),
        *_field("operations", [f"{counts['operations']:,}", *_each(names)]),
        *_field("happened", _happened(totals, many, partitions=options.partitions > 0)),
        *(_field("traffic", _traffic(counts)) if options.zones else []),
        *_field("looked at", _each(totals.looked)),
    ]
    lines += _kinds(totals) if many else _field("faults", _drawn(totals))
    known = awaits_of_brokers(partitions=options.partitions > 0, zones=options.zones > 0)
    return lines + _crashes(totals.crashed, known, all_awaits=many)


def _happened(totals: Totals, many: bool, *, partitions: bool) -> list[str]:
    counts = totals.counts

    def at_least(name: str) -> str:
        return f" (at least {totals.least[name]} in each run)" if many else ""

    moves = [f"{counts['handovers']:,} hand-overs{at_least('handovers')}"]
    if partitions:
        moves = [
            f"{counts['handovers']:,} changes of a leader{at_least('handovers')}",
            f"{counts['moves']:,} moves accepted{at_least('moves')}",
            f"{counts['cancels']:,} cancels accepted{at_least('cancels')}",
            f"{counts['elections asked for']:,} elections accepted",
        ]
    return [
        f"{counts['acks']:,} appends acknowledged",
        *moves,
        f"{counts['processes']:,} processes",
        f"{counts['elections']:,} elections of a controller",
        f"{counts['lost batches']:,} batches of the metadata lost",
        f"{counts['store operations']:,} operations of the store",
        f"{counts['steps']:,} steps of nodes",
        f"{counts['virtual ms'] / 1000:,.1f} s of virtual time",
        f"{totals.most['healing ms'] / 1000:,.1f} s of it to heal{' at most' if many else ''}",
    ]


def _traffic(counts: Mapping[str, int]) -> list[str]:
    """The bytes of messages of brokers and clients, without those to and from the object store."""
    return [f"{counts[name]:,} {name}" for name in counts if name.startswith("bytes of ")]


def _drawn(totals: Totals) -> list[str]:
    """The kinds of faults of one run."""
    kinds = [kind for kind in NAMED if totals.drew[kind] or totals.happened[kind]]
    return [f"{kind} {totals.happened[kind]:,}" for kind in kinds] or ["none"]


def _kinds(totals: Totals) -> list[str]:
    """A table of the kinds of faults."""
    lines = ["", f"  {'fault':22}{'runs that drew it':>18}{'runs in which it happened':>25}{'times':>10}"]
    for kind in [kind for kind in NAMED if kind in KINDS or totals.drew[kind]]:
        drew, had = totals.drew[kind], totals.had[kind]
        share = f"{had:,} ({100 * had / drew:.0f} %)" if drew else "-"
        lines.append(f"  {kind:22}{drew:>18,}{share:>25}{totals.happened[kind]:>10,}")
    return lines


def _crashes(crashed: Mapping[Place, int], known: Sequence[Place], *, all_awaits: bool) -> list[str]:
    """How often tasks waited at each await of the broker when their process crashed: by function, with the lines.

    ``known``: the awaits that crashes can find.
    """
    places = known if all_awaits else [place for place in known if crashed.get(place)]
    if not places:
        return _field("crashed at", ["no await"])
    never = sum(not crashed.get(place) for place in known)
    lines = ["", f"  crashed at {len(known) - never} of the {len(known)} awaits of a broker (line:tasks)"]
    by_function: dict[tuple[str, str], list[str]] = {}
    for place in places:
        file, line, function = place
        by_function.setdefault((file, function), []).append(f"{line}:{crashed.get(place, 0):,}")
    for (file, function), found in by_function.items():
        lines += _wrapped(f"    {f'{file} {function}':56}  ", ", ".join(found))
    return lines


def _each(counts: Mapping[str, int]) -> list[str]:
    return [f"{name} {count:,}" for name, count in sorted(counts.items())]


def _field(name: str, parts: Iterable[str]) -> list[str]:
    return _wrapped(f"  {name:{INDENT - 2}}", ", ".join(parts) or "nothing")


def _wrapped(first: str, text: str) -> list[str]:
    return textwrap.wrap(text, max(WIDTH, len(first) + 30), initial_indent=first, subsequent_indent=" " * len(first))
