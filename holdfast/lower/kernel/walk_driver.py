"""Random runs of any model, in machine code. A template, as ``driver.py`` is.

``random_runs/plan.py`` defines a run. ``check/walk/walker.py`` makes the same runs on the interpreter, so both must
draw the same numbers in the same order. ``injected.pyi`` has the names that the model's text defines.

The functions share three blocks of words, by their addresses. ``walk_source.py`` defines the places in them:
- ``work`` is the scratch memory of a run: its stream of random numbers, the schedule, the weights of the actions.
- ``seen`` counts cuts, notes decisive rules, and holds the list of steps that ``offers`` wrote last.
- ``counts`` holds all other counts, and the properties and witnesses that are still waited for.
``SAMPLED`` is a constant, so the compiler drops the code that only a sample needs.
"""

import numpy as np

from holdfast.lower.kernel.injected import (
    ACTIONS, CUTS, HAS_FINALS, HAS_WITNESSES, HITS, LEFT, MET, PAIRS, PRIORITISED, SAMPLED, SILENT, STATE_BITS, TAKEN,
    UNREACHED, WEIGHTS, Line, Rows, Unsigned, address, entry, finals, inlined, invariants, jit, judge, load, number_of,
    offers, outline, peek, poke, premises, spread, state_of, witnesses,
)  # fmt: skip
from holdfast.lower.kernel.walk_draws import (
    GOLDEN, begin, below, bump, demote, draw_by_priority, draw_priorities, draw_step, draw_swarm, mixed, reset_weights,
)  # fmt: skip

# The template begins here.

DEPTH, STILL, FINAL, CUT, STUCK, VIOLATED = range(6)


# Runs -------------------------------------------------------------------------------------------------------------


@jit
def note_state(s, counts):
    """Note the signature of a state, a hash of ``STATE_BITS`` bits of the state without its numbers, in a bit set."""
    h = np.uint64(0)
    for word in outline(s):
        h = mixed(h + np.uint64(word) + GOLDEN)
    # Bit ``place % 64`` of word ``place // 64``.
    place = np.int64(h >> np.uint64(64 - STATE_BITS))
    known = peek(counts, MET + (place >> 6))
    poke(counts, MET + (place >> 6), known | np.int64(np.uint64(1) << np.uint64(place & 63)))


@jit
def note_violation(found, run, step, a, s, t, bad):
    """Write the row of ``found`` for a run that violates something: the fields of ``Violating`` in ``walks.py``."""
    poke(found, 0, run)
    poke(found, 1, step)
    poke(found, 2, a)
    poke(found, 3, invariants(t))
    poke(found, 4, bad)
    poke(found, 5, witnesses(s, -1))
    poke(found, 6, premises(s, -1))


@jit
def look(s, run, step, counts, reached):
    """Note which premises of invariants and which witnesses hold in a state, of those still waited for."""
    if SAMPLED:
        note_state(s, counts)
    silent, unreached = peek(counts, SILENT), peek(counts, UNREACHED)
    if silent:
        poke(counts, SILENT, silent & ~premises(s, silent))
    if HAS_WITNESSES and unreached:
        found = witnesses(s, unreached)
        if found:
            poke(counts, UNREACHED, unreached & ~found)
            index = 0
            while found:
                if found & 1:
                    poke(reached, 2 * index, run)
                    poke(reached, 2 * index + 1, step)
                found >>= 1
                index += 1


@jit
def leads_on(a, s, seen):
    """Whether an action has a step to another state."""
    other = False
    for i in range(offers(a, s, seen)):
        other |= state_of(seen, i) != s
    return other


@jit
def brings_back(s, work, seen):
    """Bring one omitted action back that has a step to another state. Returns False if none has one."""
    able = 0
    for a in range(ACTIONS):
        # LEFT is free to use: no action is left when this is called.
        poke(work, LEFT + a, 1 if peek(work, WEIGHTS + a) < 0 and leads_on(a, s, seen) else 0)
        able += peek(work, LEFT + a)
    if able == 0:
        return False
    place = below(work, able)
    for a in range(ACTIONS):
        if peek(work, LEFT + a) > 0:
            if place == 0:
                poke(work, WEIGHTS + a, -peek(work, WEIGHTS + a))
            place -= 1
    return True


@jit
def why_no_step(s, work, seen):
    """Why a run ends in a state in which no action has a step to another state: STILL, FINAL, CUT, VIOLATED, STUCK."""
    # ``offers`` counts each cut once more. The counts from before are kept, to see what is new, and put back.
    for bound in range(HITS):
        poke(work, CUTS + bound, peek(seen, bound))
    # The omitted actions too: if one of them has a step, the state is no deadlock of the model.
    enabled = False
    for a in range(ACTIONS):
        enabled = enabled or offers(a, s, seen) > 0
    cut = False
    for bound in range(HITS):
        before = peek(work, CUTS + bound)
        cut |= peek(seen, bound) != before
        poke(seen, bound, before)
    if enabled:
        return STILL
    if HAS_FINALS and finals(s, -1) != 0:
        return FINAL
    if cut:
        return CUT
    # A deadlock is a violation only where @final properties say which ends are wanted.
    return VIOLATED if HAS_FINALS else STUCK


@inlined
def draw(s, step, stayed, work, seen):
    """Draw the next step: its action, its place in the list, and the place of its process in the order.

    The action is -1 if no action has a step, and -2 if no step changes the state.
    """
    prioritised = step < peek(work, PRIORITISED)
    waits = stayed and not prioritised
    moving = False
    # The draw is repeated at most twice: among the steps that change the state, and after an action came back.
    while True:
        if prioritised:
            a, j, place = draw_by_priority(s, step, work, seen)
        else:
            a, j = draw_step(s, -1, moving, work, seen)
            place = 0
        if a >= 0:
            return a, j, place
        # After a step that changed nothing, actions are out of the draw although they may have steps.
        if (moving or not waits) and not brings_back(s, work, seen):
            return -2 if waits else -1, 0, 0
        moving = True
        reset_weights(work)


@jit
def follow(s, run, depth, work, counts, reached, seen, found):
    """Make one run from a state; returns its number of steps and why it ended. A violation is written to ``found``."""
    look(s, run, 0, counts, reached)
    if invariants(s) >= 0:
        note_violation(found, run, 0, -1, s, s, 0)
        return 0, VIOLATED
    reset_weights(work)
    spread(s, seen)
    stayed = False
    last = -1
    for step in range(depth):
        prioritised = step < peek(work, PRIORITISED)
        a, j, place = draw(s, step, stayed, work, seen)
        if a < 0:
            stop = STILL if a == -2 else why_no_step(s, work, seen)
            if stop == VIOLATED:
                note_violation(found, run, step, last, s, s, 0)
            return step, stop
        t = state_of(seen, j)
        bump(counts, TAKEN + a, 1)
        if SAMPLED and last >= 0:
            bump(counts, PAIRS + last * ACTIONS + a, 1)
        last = a
        bad = judge(a, t, s, number_of(seen, j), counts)
        stayed = t == s
        if stayed:
            poke(work, LEFT + a, 0)
            if prioritised:
                demote(work, place)
        elif SAMPLED or peek(counts, SILENT) or peek(counts, UNREACHED):
            look(t, run, step + 1, counts, reached)
        # The invariants were checked in ``s``, so a step that stays there needs no check.
        if bad != 0 or (not stayed and invariants(t) >= 0):
            note_violation(found, run, step + 1, a, s, t, bad)
            return step + 1, VIOLATED
        # A prioritised step left the weights of one process there.
        if prioritised or not stayed:
            reset_weights(work)
        spread(t, seen)
        s = t
    return depth, DEPTH


@entry
def walk(
    first, last, seed: Unsigned, depth,
    starts: Rows, work: Line, counts: Line, reached: Rows, stops: Rows, seen: Line, found: Rows,
):  # fmt: skip
    """Make the runs from ``first`` to one before ``last``; stop early when ``found`` has no row for another violation.

    Returns the number of the first run that was not made. A row of ``stops`` has the fields of ``plan.Stops``.
    """
    starts_at, work_at, counts_at = address(starts), address(work), address(counts)
    reached_at, seen_at, found_at = address(reached), address(seen), address(found)
    violating = 0
    for run in range(first, last):
        if violating == found.shape[0]:
            return run
        begin(work_at, seed, run)
        draw_swarm(work_at)
        if peek(work_at, PRIORITISED) > 0:
            draw_priorities(work_at)
        s = load(starts_at, below(work_at, starts.shape[0]))
        # The row of the next violation: 8 bytes a word. A run without one leaves it to the next run.
        row = found_at + violating * 8 * found.shape[1]
        steps, stop = follow(s, run, depth, work_at, counts_at, reached_at, seen_at, row)
        if stops[stop, 0] == 0 or steps < stops[stop, 2]:
            stops[stop, 2] = steps
        stops[stop, 0] += 1
        stops[stop, 1] += steps
        stops[stop, 3] = max(stops[stop, 3], steps)
        violating += stop == VIOLATED
    return last
