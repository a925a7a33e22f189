"""A random run of a pairing: a controller beside a model, with calls that are drawn from a seed."""

from __future__ import annotations

from impl.bridge.paired_run import DisagreementError, PairedCall, PairedRun
from impl.bridge.pairing import Pairing
from impl.sim.tape import stream

STEPS = 30
"""The most calls of a run."""
REPEATS = 0.15
"""The share of calls that change nothing in the model, where there are such calls."""


def disagreement(pairing: Pairing, seed: int) -> DisagreementError | None:
    """The first difference between model and controller in the run of a seed; None if there is none.

    After each step, all requests that the model refuses are sent as well.
    """
    draw = stream(seed, f"walk of {pairing.name}")
    try:
        run = PairedRun(pairing, pairing.starts[int(draw() * len(pairing.starts))])
        run.try_refusals()
        for _ in range(STEPS):
            kinds = pairing.kinds(run.state)
            offered = kinds["repeat"] if draw() < REPEATS and kinds["repeat"] else kinds["step"]
            if not offered:
                continue
            # First the action: an action with many arguments would otherwise be most of the calls.
            actions = list(offered)
            action = actions[int(draw() * len(actions))]
            calls = list(offered[action])
            before = run.state
            run.take(PairedCall(action, calls[int(draw() * len(calls))]))
            if run.state != before:
                run.try_refusals()
    except DisagreementError as found:
        return found
    return None
