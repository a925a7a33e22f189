"""``holdfast simulate --part NAME``: runs of one part of a node, judged by a second statement of the facts."""

from __future__ import annotations

import json as json_text

from holdfast.check.budget import Budget, Meter, interruptible
from holdfast.cli.output import Ticker, say
from holdfast.ir.errors import UsageError
from impl.cli.question import checked_labels
from impl.rules import guards, missed, without
from impl.sim.part_cases.registry import PARTS, judged_run

ALLOWED = ("--seed", "--seeds", "--without", "--budget")
"""The options of ``holdfast simulate`` that such runs have."""
HOLDS, VIOLATED, OUT_OF_BUDGET = 0, 12, 20


def run(part: str, seeds: range, labels: tuple[str, ...], limits: Budget, *, json: bool) -> int:
    """Make the runs of a part with these seeds, up to the first one that violates something. Returns the exit code.

    ``labels``: the rules that are switched off. Raises UsageError for an unknown part or rule.
    """
    if part not in PARTS:
        raise UsageError(f"--part {part}: there is no such part; choose from {', '.join(PARTS)}")
    labels = checked_labels(labels, list(guards()) if labels else [])
    meter, made, lacking, found = Meter(limits), 0, 0, None
    with interruptible(meter), Ticker() as ticker, without(*labels):
        for seed in seeds:
            meter.look(0, 0, 0, 0)
            if meter.spent is not None:
                break
            ticker.show(f"{made:,} of {len(seeds):,} runs")
            found = judged_run(part, seed)
            made += 1
            lacking += bool(missed)
            missed.clear()
            if found is not None:
                break
    code = VIOLATED if found is not None else HOLDS if made == len(seeds) else OUT_OF_BUDGET
    limit = meter.spent or ""
    if json:
        violation = None if found is None else {"seed": seed, "rule": found.label, "message": found.message}
        answer = {
            "part": part,
            "without": list(labels),
            "runs": made,
            "would_have_decided": lacking,
            "ended_by": limit if code == OUT_OF_BUDGET else None,
            "violation": violation,
            "exit_code": code,
        }
        say(json_text.dumps(answer))
        return code
    name = f"{part} without {', '.join(labels)}" if labels else part
    # A run in which the rule decides nothing does not show whether the rule is needed.
    lack = f"; a rule that is switched off would have decided something in {lacking:,} of them" if labels else ""
    if found is not None:
        say(f"{name}: violated with seed {seed}: {found.label}: {found.message}")
    elif code == HOLDS:
        say(f"{name}: {made:,} run{'' if made == 1 else 's'}, nothing is violated, which is no proof{lack}")
    else:
        say(f"{name}: ended early ({limit}) after {made:,} of {len(seeds):,} runs; nothing is violated so far{lack}")
    return code
