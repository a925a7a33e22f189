"""Compares a guided campaign with a blind one of the same number of runs."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from holdfast.ir.errors import UsageError
from spark.campaign.difference import check_shrunk
from spark.campaign.summary import Summary

CIRCUMSTANCES = "situations in their circumstances"


@attrs.frozen(kw_only=True)
class ReachedKinds:
    """How many things of a kind each campaign has reached, and how many only one of them has. None: not known."""

    kind: str
    guided: int
    blind: int
    only_guided: int | None = None
    only_blind: int | None = None


@attrs.frozen(kw_only=True)
class BlindComparison:
    """A guided campaign beside a blind one. ``place``: where the tables of the blind one are."""

    place: str
    rows: tuple[ReachedKinds, ...]


def compare_with_blind(guided: Summary, blind: Summary) -> BlindComparison:
    """What both campaigns have reached. Raises UsageError if they differ in more than the guide and the seed."""
    if not guided.asked.guided:
        raise UsageError(f"--blind {blind.name}: {guided.name} is no guided campaign; leave the option out")
    if blind.asked.guided:
        raise UsageError(f"--blind {blind.name}: is a guided campaign; name one that was run without --guided")
    for summary in (guided, blind):
        if summary.done < summary.asked.units:
            raise UsageError(f"{summary.name}: is not complete; resume it, to compare the same number of runs")
        check_shrunk(summary)
    for option in ("target", "traces", "depth", "removed", "cluster"):
        one, two = (getattr(each.asked, option) for each in (guided, blind))
        if one != two:
            raise UsageError(
                f"--blind {blind.name}: was run with another {NAMES.get(option, option)} than {guided.name}; name one "
                "with the same options"
            )
    if guided.fingerprint != blind.fingerprint:
        raise UsageError(f"--blind {blind.name}: was run with another implementation; run it again")
    both = guided, blind
    return BlindComparison(
        place=blind.name,
        rows=(
            _row("moments", *({each.name for each in summary.moments} for summary in both)),
            _row(CIRCUMSTANCES, *({each.name for each in summary.circumstances} for summary in both)),
            _row("pairs of events", *({(pair.first, pair.second) for pair in summary.pairs} for summary in both)),
            _row("situations", *({each.name for each in summary.situations if each.runs} for summary in both)),
            _row(
                "rules that decided",
                *({(rule.label, rule.action) for rule in summary.rules if rule.decisive} for summary in both),
            ),
            ReachedKinds(kind="kinds of image", guided=guided.states.seen, blind=blind.states.seen),
            _row("findings", *({each.signature for each in summary.findings} for summary in both)),
            ReachedKinds(kind="steps of all runs", guided=guided.steps, blind=blind.steps),
        ),
    )


NAMES = {"traces": "number of runs", "depth": "number of operations", "removed": "set of rules", "cluster": "cluster"}
"""The options in words."""


def _row(kind: str, guided: Iterable[object], blind: Iterable[object]) -> ReachedKinds:
    one, two = set(guided), set(blind)
    return ReachedKinds(
        kind=kind, guided=len(one), blind=len(two), only_guided=len(one - two), only_blind=len(two - one)
    )
