"""The draws of random runs, in machine code. A template, as ``driver.py`` is; ``walk_driver.py`` calls it.

``random_runs/plan.py`` defines the order of the draws, and ``walk_source.py`` the places in the blocks ``work`` and
``seen``.
"""

import numpy as np

from holdfast.lower.kernel.injected import (
    ACTIONS, CHANCE, LEFT, LISTED_FOR_A_TRY, MOST_TRIES, ORDER, POINTS, PRIORITISED, PROCESSES, SAMPLED, STRIDES, SWARM,
    WEIGHTS, attempt, choices, inlined, jit, list_step, number_of, offers, peek, poke, state_of,
)  # fmt: skip

# The template begins here.

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


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


@inlined
def noted_for(seen, place, mask):
    """Note that the rule at a place was decisive for each bit of a mask."""
    if SAMPLED:
        poke(seen, place, peek(seen, place) + np.int64(ones(np.uint64(mask))))
    elif mask:
        poke(seen, place, 1)


@inlined
def lowest(mask):
    """The number of the lowest bit that is set."""
    # Only the bits below it are set in the number less one, and not in the number itself.
    return np.int64(ones(np.uint64(~mask & (mask - 1))))


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
def below(work, wanted):
    """Draw one of ``wanted`` numbers, from 0 on; at most 2^31."""
    # The addition wraps around at 2^64, as it should. The upper 32 bits of the mixed number are a fraction of 2^32;
    # ``wanted`` times that fraction is the number, without a remainder.
    bump(work, CHANCE, peek(work, CHANCE + 1))
    return np.int64(((mixed(np.uint64(peek(work, CHANCE))) >> np.uint64(32)) * np.uint64(wanted)) >> np.uint64(32))


# The draws at the beginning of a run ------------------------------------------------------------------------------


@jit
def draw_swarm(work):
    """Draw the weights of the actions; those of omitted actions below 0. Without the swarm all are 1."""
    if peek(work, SWARM) == 0:
        for a in range(ACTIONS):
            poke(work, WEIGHTS + a, 1)
        return
    share = below(work, 100)
    kept = 0
    for a in range(ACTIONS):
        stays = -1 if below(work, 100) < share else 1
        poke(work, WEIGHTS + a, stays)
        kept += stays > 0
    if kept == 0 and ACTIONS > 0:
        poke(work, WEIGHTS + below(work, ACTIONS), 1)
    # Each action draws a weight, also an omitted one, which may come back.
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


@jit
def only_moving(s, count, seen):
    """Reduce the list of steps to those that change the state; returns their number."""
    kept = 0
    for i in range(count):
        if state_of(seen, i) != s:
            list_step(seen, kept, number_of(seen, i), state_of(seen, i))
            kept += 1
    return kept


@inlined
def ranked(seen, count, rank):
    """The place of the listed step that has exactly ``rank`` others before it in the order of the arguments.

    The list is in the order of the generated loops, which open where a parameter is first needed. The interpreter
    draws from sorted steps, so a drawn rank has to mean the same step here.
    """
    # Mostly the list is in order already, and the first look succeeds.
    less = 0
    last = 0
    for i in range(count):
        less += number_of(seen, i) < number_of(seen, rank)
        last = max(last, number_of(seen, i))
    if less == rank:
        return rank
    # No number is in the list twice, so the wanted one is the least that more than ``rank`` numbers do not exceed.
    first = 0
    while first < last:
        middle = (first + last) // 2
        within = 0
        for i in range(count):
            within += number_of(seen, i) <= middle
        if within > rank:
            last = middle
        else:
            first = middle + 1
    place = 0
    while number_of(seen, place) != first:
        place += 1
    return place


@jit
def reset_weights(work):
    """Let all actions be drawn again."""
    for a in range(ACTIONS):
        poke(work, LEFT + a, max(peek(work, WEIGHTS + a), 0))


@jit
def reset_weights_of(process, work):
    """Let all actions be drawn again that ``process`` takes part in, and no others."""
    environment = process == peek(work, PROCESSES) - 1
    for a in range(ACTIONS):
        # An action without a stride belongs to the environment, the last process. All others are drawn for elements.
        mine = (peek(work, STRIDES + a) == 0) == environment
        poke(work, LEFT + a, max(peek(work, WEIGHTS + a), 0) if mine else 0)


@inlined
def try_some(a, s, process, moving, work, seen):
    """Try some instances of an action, as ``plan.tries`` says; returns whether one is a step, which is then listed.

    If ``moving``, only a step that changes the state counts.
    """
    count, stride = choices(a), peek(work, STRIDES + a)
    shared = process >= 0 and stride > 0
    elements = peek(work, PROCESSES) - 1
    if shared:
        count = count // elements
    for _ in range(min(count // LISTED_FOR_A_TRY, MOST_TRIES)):
        number = below(work, count)
        if shared:
            number = (number // stride * elements + process) * stride + number % stride
        if attempt(a, s, number, seen) and not (moving and state_of(seen, 0) == s):
            return True
    return False


@jit
def draw_step(s, process, moving, work, seen):
    """Draw an action by weight among those left, and one of its steps: action and place, or -1 if none has a step.

    If ``moving``, only steps that change the state count.
    """
    total = 0
    for a in range(ACTIONS):
        total += peek(work, LEFT + a)
    while total > 0:
        x = below(work, total)
        a = 0
        while x >= peek(work, LEFT + a):
            x -= peek(work, LEFT + a)
            a += 1
        if try_some(a, s, process, moving, work, seen):
            return a, 0
        count = offers(a, s, seen)
        if process >= 0 and peek(work, STRIDES + a) > 0:
            count = only(process, peek(work, STRIDES + a), count, work, seen)
        if moving:
            count = only_moving(s, count, seen)
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
        reset_weights_of(process, work)
        a, j = draw_step(s, process, False, work, seen)
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
