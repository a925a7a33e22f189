"""The kernel's loops that draw the state graph of any model: number states, list edges. A template, as ``driver.py``.

A state's number is its place in the order in which a breadth-first search finds it. The table holds numbers, -1 in an
empty slot. It is at most half full, so every probe ends. Edges are stored in the order of the states that they leave.
"""

import numpy as np

from holdfast.lower.kernel.injected import (
    CUT_FLAGS, FAN, FLAGS, FLAG_WORDS, FREE, LABELS, Line, Line16, Line32, Rows, address, entry, hashed, holds, jit,
    load, peek, poke, put, successors,
)  # fmt: skip

# The template begins here.


@jit
def bump(notes, place, by):
    """Add ``by`` to the count at a place."""
    poke(notes, place, peek(notes, place) + by)


@jit
def noted(notes, place):
    """Note that the rule at a place was decisive. Returns True, so that a condition can have the call as a conjunct."""
    poke(notes, place, 1)
    return True


@jit
def slot_of(s, size):
    """The slot at which the search for a state begins, in a table of ``size`` numbers, a power of two."""
    # Without its lowest bit the hash fits a signed word and is not negative.
    return np.int64(hashed(s) >> np.uint64(1)) & (size - 1)


@jit
def number_of(s, states_at, table, n):
    """The number of a state. A state that is not known yet gets the number ``n``, and is stored."""
    slot = slot_of(s, table.shape[0])
    while table[slot] >= 0:
        if holds(states_at, table[slot], s):
            return table[slot]
        slot += 1
        if slot == table.shape[0]:
            slot = 0
    table[slot] = n
    put(states_at, n, s)
    return n


@entry
def begin(starts: Rows, states: Rows, table: Line32):
    """Number the initial states, which are distinct."""
    starts_at, states_at = address(starts), address(states)
    for i in range(starts.shape[0]):
        number_of(load(starts_at, i), states_at, table, i)


@entry
def rehash(states: Rows, n, table: Line32):
    """Put the numbers of the first ``n`` states, which are distinct, into an empty table."""
    states_at = address(states)
    for i in range(n):
        slot = slot_of(load(states_at, i), table.shape[0])
        while table[slot] >= 0:
            slot += 1
            if slot == table.shape[0]:
                slot = 0
        table[slot] = i


@entry
def explore(
    first, last, n,
    states: Rows, table: Line32, ends: Line, targets: Line32, labels: Line16, possible: Rows, cut: Rows,
    rows: Rows, notes: Line,
):  # fmt: skip
    """Expand the states from ``first`` to one before ``last``, as far as the arrays have room; ``n`` states are known.

    Returns the first state that was not expanded, and the number of states that are known then. ``ends`` has for each
    state the index behind its last edge. ``possible`` and ``cut`` have a row of flags for each state: the demands that
    one of its edges serves, and the demands of which a bound cut a step.
    """
    states_at, rows_at, notes_at = address(states), address(rows), address(notes)
    edges = ends[first - 1] if first else 0
    room = min(states.shape[0], table.shape[0] // 2)
    for i in range(first, last):
        if n + FAN > room or edges + FAN > targets.shape[0]:
            return i, n
        # ``successors`` sets the flags of this state, and writes the labels of its steps behind LABELS.
        for word in range(FLAG_WORDS):
            poke(notes_at, CUT_FLAGS + word, 0)
        start = edges
        k = successors(load(states_at, i), rows_at, notes_at)
        for j in range(k):
            label = peek(notes_at, LABELS + j)
            target = number_of(load(rows_at, j), states_at, table, n)
            # Only a new state gets the number n.
            if target == n:
                n += 1
            if label != FREE:
                possible[i, label // FLAGS] |= 1 << (label % FLAGS)
            # An edge counts once for a target and label. A state has few edges, so it is enough to compare them all.
            known = False
            for other in range(start, edges):
                known |= targets[other] == target and labels[other] == label
            if not known:
                targets[edges], labels[edges] = target, label
                edges += 1
        for word in range(FLAG_WORDS):
            cut[i, word] = peek(notes_at, CUT_FLAGS + word)
        ends[i] = edges
    return last, n
