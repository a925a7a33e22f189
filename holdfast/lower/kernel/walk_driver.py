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
    ACTIONS, CHANCE, CUTS, HAS_FINALS, HAS_WITNESSES, HITS, LEFT, MET, ORDER, PAIRS, POINTS, PRIORITISED, PROCESSES,
    SAMPLED, SILENT, STATE_BITS, STRIDES, SWARM, TAKEN, UNREACHED, WEIGHTS, Line, Rows, Unsigned, address, entry,
    finals, inlined, invariants, jit, judge, list_step, load, number_of, offers, outline, peek, poke, premises,
    state_of, witnesses,
)  # fmt: skip

# The template begins here.

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
DEPTH, STILL, FINAL, CUT, STUCK, MASKED, VIOLATED = range(7)


@inlined
def bump(block, place, by):
    """Add ``by`` to the count at a place."""
    poke(block, place, peek(block, place) + by)


@inlined
def noted(seen, place):
    """Note that the rule at a place was decisive. Returns True, so that a condition can have the call as a conjunct."""
    poke(seen, place, peek(seen, place) + 1 if SAMPLED else 1)
    return True


# Chance: CHANCE is the place of the stream's state, CHANCE + 1 of its stride ----------------------------------------


@inlined
def mixed(z):
    """The mixing function of SplitMix, as in ``chance.mixed``."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@jit
def ones(z):
    """The number of bits that are set."""
    # Counts side by side in fields of 2, 4 and 8 bits. The product adds up all bytes in the highest one.
    z -= (z >> np.uint64(1)) & np.uint64(0x5555555555555555)
    z = (z & np.uint64(0x3333333333333333)) + ((z >> np.uint64(2)) & np.uint64(0x3333333333333333))
    z = (z + (z >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (z * np.uint64(0x0101010101010101)) >> np.uint64(56)


@jit
def begin(work, seed, run):
    """Start the stream of a run, as ``Chance`` does."""
    base = mixed(seed)
    twice = np.uint64(run) + np.uint64(run)
    poke(work, CHANCE, mixed(base + (twice + np.uint64(1)) * GOLDEN))
    # An odd stride visits every number. One with few changes between neighbouring bits gives similar numbers.
    stride = mixed(base + (twice + np.uint64(2)) * GOLDEN) | np.uint64(1)
    if ones(stride ^ (stride >> np.uint64(1))) < np.uint64(24):
        stride ^= np.uint64(0xAAAAAAAAAAAAAAAA)
    poke(work, CHANCE + 1, stride)


@inlined
def below(work, choices):
    """Draw a number from 0 to ``choices`` - 1, at most 2^31 choices."""
    # The addition wraps around at 2^64, as it should. The upper 32 bits of the mixed number are a fraction of 2^32;
    # ``choices`` times that fraction is the number, without a remainder.
    bump(work, CHANCE, peek(work, CHANCE + 1))
    return np.int64(((mixed(np.uint64(peek(work, CHANCE))) >> np.uint64(32)) * np.uint64(choices)) >> np.uint64(32))


# The draws at the beginning of a run ------------------------------------------------------------------------------


@jit
def draw_swarm(work):
    """Draw the weights of the actions; an omitted action has weight 0. Without the swarm every weight is 1."""
    if peek(work, SWARM) == 0:
        for a in range(ACTIONS):
            poke(work, WEIGHTS + a, 1)
        return
    share = below(work, 100)
    kept = 0
    for a in range(ACTIONS):
        stays = 0 if below(work, 100) < share else 1
        poke(work, WEIGHTS + a, stays)
        kept += stays
    if kept == 0 and ACTIONS > 0:
        poke(work, WEIGHTS + below(work, ACTIONS), 1)
    # Each action draws a weight, also an omitted one, as on the interpreter.
    for a in range(ACTIONS):
        drawn = 1 + below(work, 100)
        poke(work, WEIGHTS + a, drawn * peek(work, WEIGHTS + a))


@jit
def draw_priorities(work):
    """Draw the order of the processes (Fisher and Yates), and behind it the steps that are change points."""
    processes = peek(work, PROCESSES)
    for place in range(processes):
        poke(work, ORDER + place, place)
    for last in range(processes - 1, 0, -1):
        other = below(work, last + 1)
        kept = peek(work, ORDER + last)
        poke(work, ORDER + last, peek(work, ORDER + other))
        poke(work, ORDER + other, kept)
    for point in range(peek(work, POINTS)):
        poke(work, ORDER + processes + point, below(work, peek(work, PRIORITISED)))


@inlined
def demote(work, place):
    """Move the process at a place of the order to its end."""
    process = peek(work, ORDER + place)
    last = peek(work, PROCESSES) - 1
    for before in range(place, last):
        poke(work, ORDER + before, peek(work, ORDER + before + 1))
    poke(work, ORDER + last, process)


# Drawing a step ---------------------------------------------------------------------------------------------------


@jit
def only(process, stride, count, work, seen):
    """Reduce the list of steps to those of one process; returns their number. ``stride`` is that of the action."""
    kept = 0
    # In place: ``kept`` never gets ahead of ``i``.
    for i in range(count):
        number = number_of(seen, i)
        if number // stride % (peek(work, PROCESSES) - 1) == process:
            list_step(seen, kept, number, state_of(seen, i))
            kept += 1
    return kept


@inlined
def ranked(seen, count, rank):
    """The place of the listed step that has exactly ``rank`` others before it in the order of the arguments.

    The list is in the order of the generated loops, which open where a parameter is first needed. The interpreter
    draws from sorted steps, so a drawn rank has to mean the same step here.
    """
    # Mostly the list is in order already, and the first look succeeds.
    for offset in range(count):
        place = rank + offset
        if place >= count:
            place -= count
        less = 0
        for i in range(count):
            less += number_of(seen, i) < number_of(seen, place)
        if less == rank:
            return place
    return rank


@inlined
def reset_weights(process, work):
    """Let all actions be drawn again that ``process`` takes part in; -1 is all processes."""
    for a in range(ACTIONS):
        # An action without a stride belongs to the environment, the last process. All others are drawn for elements.
        mine = process < 0 or (peek(work, STRIDES + a) == 0) == (process == peek(work, PROCESSES) - 1)
        poke(work, LEFT + a, peek(work, WEIGHTS + a) if mine else 0)


@inlined
def draw_step(s, process, work, seen):
    """Draw an action by weight among those left, and one of its steps: action and place, or -1 if none has a step."""
    total = 0
    for a in range(ACTIONS):
        total += peek(work, LEFT + a)
    while total > 0:
        x = below(work, total)
        a = 0
        while x >= peek(work, LEFT + a):
            x -= peek(work, LEFT + a)
            a += 1
        count = offers(a, s, seen)
        if process >= 0 and peek(work, STRIDES + a) > 0:
            count = only(process, peek(work, STRIDES + a), count, work, seen)
        if count > 0:
            return a, ranked(seen, count, below(work, count))
        # The action has no step in this state: it is out of the draw until the state changes.
        total -= peek(work, LEFT + a)
        poke(work, LEFT + a, 0)
    return -1, 0


@jit
def draw_by_priority(s, step, work, seen):
    """As ``draw_step``, but of the first process in the order that has a step; also returns its place in the order."""
    change = False
    processes = peek(work, PROCESSES)
    for point in range(peek(work, POINTS)):
        change |= peek(work, ORDER + processes + point) == step
    place = 0
    while place < processes:
        process = peek(work, ORDER + place)
        reset_weights(process, work)
        a, j = draw_step(s, process, work, seen)
        if a < 0:
            place += 1
        elif change:
            # The search goes on at the same place, which has the next process now: all before it have no step. If the
            # demoted process was the last already, it is drawn once more.
            demote(work, place)
            change = False
        else:
            return a, j, place
    return -1, 0, 0


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
def moves(s, work, seen):
    """Whether some step of the run's actions (not the omitted ones) leads to another state."""
    for a in range(ACTIONS):
        if peek(work, WEIGHTS + a) > 0:
            for i in range(offers(a, s, seen)):
                if state_of(seen, i) != s:
                    return True
    return False


@jit
def why_no_step(s, work, seen):
    """Why a run ends in a state in which none of its actions has a step: MASKED, FINAL, CUT, VIOLATED or STUCK."""
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
        return MASKED
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
    if step < peek(work, PRIORITISED):
        return draw_by_priority(s, step, work, seen)
    a, j = draw_step(s, -1, work, seen)
    # After a step that changed nothing, actions are out of the draw although they may have steps.
    if a < 0 and stayed:
        if not moves(s, work, seen):
            return -2, 0, 0
        reset_weights(-1, work)
        a, j = draw_step(s, -1, work, seen)
    return a, j, 0


@jit
def follow(s, run, depth, work, counts, reached, seen, found):
    """Make one run from a state; returns its number of steps and why it ended. A violation is written to ``found``."""
    look(s, run, 0, counts, reached)
    if invariants(s) >= 0:
        note_violation(found, run, 0, -1, s, s, 0)
        return 0, VIOLATED
    reset_weights(-1, work)
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
            reset_weights(-1, work)
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
