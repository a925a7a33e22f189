"""The kernel's loops, the same for every model: expand states, insert and check them, look back. A template.

``build.py`` puts this text behind a model's own functions (``source.py``) and compiles both as one module, so that LLVM
optimises them together. ``injected.pyi`` has the names that the model's text defines.

- A state is a tuple of ``WORDS`` words. A row is a state in memory, in ``ROW_WORDS`` words. No word is negative
  (``packing.py``), so the first word of a row can also say: -1, the row is empty.
- A table is open-addressing with linear probing. Its caller keeps it from getting full, so every probe ends.
- ``notes`` is one block of words for each core; ``notes.py`` defines the places in it. An address counts bytes; a
  place or an index counts words of 8 bytes.
- ``directory`` has a row for each partition, with the addresses and sizes of its states and its table (columns
  ``STATES_AT`` to ``MORE_SIZE``). So one call of machine code does the whole work of a core in one part of a round.
- A *rank* is a tuple of words that orders states, steps or repetitions; ``note_least`` keeps the least.
"""

import numpy as np

from holdfast.lower.kernel.injected import (
    BOUNDS, COUNTS, CUTS, ENDS, FAN, HAS_FINALS, HAS_WITNESSES, PENDING, REACHED, REDUCED, REPEATED, REPEATS,
    ROW_WORDS, STATES, STEPS, Blocks, Line, Rows, State, address, canonical, entry, finals, hashed, holds, invariants,
    invariants_failing, jit, load, peek, poke, prefetch, premises, put, state_rank, successors, witnesses,
)  # fmt: skip

# The template begins here.

# The cache of a core has 2^15 rows: 256 KiB for each word of a state, little enough for the processor's own cache.
CACHE_BITS = 15
PARTITION_BITS = 8
# How many rows ahead a table's cache line is fetched, so that the waits for memory overlap.
LOOKAHEAD = 12
# The columns of the directory. MORE_* name larger memory that ``move`` is to use from now on; an address of 0 is none.
STATES_AT, COUNT, TABLE_AT, SIZE, MORE_STATES_AT, MORE_TABLE_AT, MORE_SIZE = range(7)


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
def note_least(best, which, rank):
    """Replace the stored rank of each property in the bit mask ``which`` if ``rank`` is less, or if none is stored.

    ``best`` is the address of one row for each property: a flag (1: a rank is stored), then the words of the rank.
    """
    row = 0
    while which:
        if which & 1:
            less = peek(best, row) == 0
            # Compares word by word, and stops at the first word that differs. Equal ranks leave ``less`` False.
            for place in range(len(rank)):
                known = peek(best, row + place + 1)
                if less or rank[place] > known:
                    break
                less = rank[place] < known
            if less:
                poke(best, row, 1)
                for place in range(len(rank)):
                    poke(best, row + place + 1, rank[place])
        which >>= 1
        row += 1 + len(rank)


@jit
def note_steps(notes, bad, new, old):
    """Note a step that violates the step properties in the bit mask ``bad``.

    The rank begins with the canonical states, so that steps are ranked by their orbits. The states themselves follow:
    they break ties, and the search reads them back.
    """
    note_least(notes + 8 * STEPS, bad, canonical(new) + canonical(old) + old + new)


@jit
def note_premises(notes, said):
    """Drop the step properties in the bit mask ``said`` from those whose premise has never been true."""
    poke(notes, PENDING, peek(notes, PENDING) & ~said)


@jit
def note_repeat(notes, action, outcome, new, old):
    """Count the repetition of an idempotent action's step; note the step if the repetition differs from it.

    ``outcome`` is FINE, DIFFERS or CUT of ``instance_ends.py``.
    """
    bump(notes, REPEATS + action, 1)
    if outcome == 2:
        # Cut by a bound, so the scope does not show what the repetition does.
        bump(notes, COUNTS, 1)
    elif outcome == 1:
        rank = canonical(new) + canonical(old) + old + new
        note_least(notes + 8 * (REPEATED + action * (1 + len(rank))), 1, rank)


@jit
def total_cuts(notes):
    """The number of steps that bounds have cut so far."""
    found = 0
    for bound in range(BOUNDS):
        found += peek(notes, CUTS + bound)
    return found


@jit
def note_end(notes, s, cuts_before):
    """Note a state without a step: it is a deadlock unless it is final, or a bound cut one of its steps.

    ``cuts_before`` is the number of cuts before the state was expanded.
    """
    # -1 has all bits set: all properties are wanted.
    if finals(s, -1) == 0:
        if total_cuts(notes) != cuts_before:
            bump(notes, COUNTS + 1, 1)
        else:
            note_least(notes + 8 * ENDS, 1, state_rank(s))


@entry
def expand(directory: Rows, chunks: Rows, row, buffers: Blocks, filled: Line, rows: Rows, cache: Rows, notes: Line):
    """Expand the states of ``chunks``, from chunk ``row`` on; write successors into the buffers of their partitions.

    A row of ``chunks`` is a partition, the index of the first state to expand, and the index behind the last. Stops
    early when a buffer might not hold the successors of one more state. Returns the chunk with which to go on, and
    leaves in its first index the state with which to go on. ``buffers`` has ``filled[part]`` rows in use for each
    partition. ``rows`` has room for the ``FAN`` successors of one state.

    ``cache`` holds rows that this core wrote lately, one for each value of the hash's lowest bits. It keeps most known
    successors out of the buffers. It is never wrong: every row in it went into a buffer, so the state is stored or will
    be.
    """
    length = buffers.shape[1]
    # A state has at most FAN successors, and all of them may belong to one partition.
    room = length - FAN
    fullest = 0
    for part in range(filled.shape[0]):
        fullest = max(fullest, filled[part])
    buffers_at, filled_at = address(buffers), address(filled)
    rows_at, cache_at, notes_at = address(rows), address(cache), address(notes)
    cuts_before = 0
    while row < chunks.shape[0]:
        states_at = directory[chunks[row, 0], STATES_AT]
        for i in range(chunks[row, 1], chunks[row, 2]):
            if fullest > room:
                chunks[row, 1] = i
                return row
            s = load(states_at, i)
            if HAS_FINALS:
                cuts_before = total_cuts(notes_at)
            k = successors(s, rows_at, notes_at)
            if HAS_FINALS and k == 0:
                note_end(notes_at, s, cuts_before)
            for j in range(k):
                t = load(rows_at, j)
                # Self-loops would soon fill the buffer of the state's own partition.
                if t == s:
                    continue
                h = hashed(t)
                slot = np.int64(h & np.uint64((1 << CACHE_BITS) - 1))
                if holds(cache_at, slot, t):
                    continue
                put(cache_at, slot, t)
                # The cache holds states as they are reached: a hit saves the canonical state, the costly part.
                if REDUCED:
                    t = canonical(t)
                    h = hashed(t)
                part = np.int64(h >> np.uint64(64 - PARTITION_BITS))
                found = peek(filled_at, part)
                put(buffers_at, part * length + found, t)
                poke(filled_at, part, found + 1)
                fullest = max(fullest, found + 1)
        chunks[row, 1] = chunks[row, 2]
        row += 1
    return row


@jit
def slot_of(s, size):
    """The slot at which the search for a state begins, in a table of ``size`` rows (any size below 2^32)."""
    # The highest bits of the hash choose the partition, so all states of a partition agree in them. The 32 bits below
    # are taken as a fraction of 2^32 and multiplied by the size (Lemire 2019): cheaper than a remainder.
    low = (hashed(s) >> np.uint64(64 - PARTITION_BITS - 32)) & np.uint64(0xFFFFFFFF)
    return np.int64((low * np.uint64(size)) >> np.uint64(32))


@jit
def rehash(states_at, count, table_at, size):
    """Clear a table, and put the first ``count`` states of a partition into it. The states are distinct."""
    for slot in range(size):
        poke(table_at, slot * ROW_WORDS, -1)
    for i in range(count):
        s = load(states_at, i)
        slot = slot_of(s, size)
        # No state is there twice, so it is enough to find an empty row.
        while peek(table_at, slot * ROW_WORDS) != -1:
            slot += 1
            if slot == size:
                slot = 0
        put(table_at, slot, s)


@entry
def move(directory: Rows, first, step):
    """Move the states and tables of partitions to the larger memory that the directory names for them.

    Serves each ``step``-th partition, from ``first`` on. A table is built anew: the slots depend on its size.
    """
    for part in range(first, directory.shape[0], step):
        count = directory[part, COUNT]
        if directory[part, MORE_STATES_AT]:
            for i in range(count):
                put(directory[part, MORE_STATES_AT], i, load(directory[part, STATES_AT], i))
            directory[part, STATES_AT] = directory[part, MORE_STATES_AT]
            directory[part, MORE_STATES_AT] = 0
        if directory[part, MORE_TABLE_AT]:
            rehash(directory[part, STATES_AT], count, directory[part, MORE_TABLE_AT], directory[part, MORE_SIZE])
            directory[part, TABLE_AT] = directory[part, MORE_TABLE_AT]
            directory[part, SIZE] = directory[part, MORE_SIZE]
            directory[part, MORE_TABLE_AT] = 0


@jit
def insert_rows(buffer_at, count, table_at, size, states_at, n):
    """Add the rows of a buffer that a table lacks: to the table, and to the states from row ``n`` on.

    Returns the number of states then. The caller has made room for ``count`` more.
    """
    # The slots are random places in memory. Fetching LOOKAHEAD of them ahead lets the waits overlap.
    for i in range(min(LOOKAHEAD, count)):
        prefetch(table_at, slot_of(load(buffer_at, i), size) * ROW_WORDS)
    for i in range(count):
        if i + LOOKAHEAD < count:
            prefetch(table_at, slot_of(load(buffer_at, i + LOOKAHEAD), size) * ROW_WORDS)
        s = load(buffer_at, i)
        slot = slot_of(s, size)
        while peek(table_at, slot * ROW_WORDS) != -1 and not holds(table_at, slot, s):
            slot += 1
            if slot == size:
                slot = 0
        if peek(table_at, slot * ROW_WORDS) == -1:
            put(table_at, slot, s)
            put(states_at, n, s)
            n += 1
    return n


@entry
def insert(directory: Rows, first, step, buffers: Blocks, filled: Line):
    """Insert the rows of one core's buffers into each ``step``-th partition, from ``first`` on."""
    buffers_at, stride = address(buffers), 8 * ROW_WORDS * buffers.shape[1]
    for part in range(first, directory.shape[0], step):
        directory[part, COUNT] = insert_rows(
            buffers_at + part * stride,
            filled[part],
            directory[part, TABLE_AT],
            directory[part, SIZE],
            directory[part, STATES_AT],
            directory[part, COUNT],
        )


@entry
def check(directory: Rows, first, step, seen: Line, notes: Line):
    """Check the new states of each ``step``-th partition, from ``first`` on: those behind the first ``seen[part]``.

    Notes the least state for each invariant that fails and each witness that is reached, and which properties have had
    a true premise.
    """
    notes_at = address(notes)
    for part in range(first, directory.shape[0], step):
        states_at = directory[part, STATES_AT]
        for i in range(seen[part], directory[part, COUNT]):
            s = load(states_at, i)
            # Nearly all states satisfy all invariants: the quick question comes first, the bit mask only if one fails.
            if invariants(s) >= 0:
                note_least(notes_at + 8 * STATES, invariants_failing(s, -1), state_rank(s))
            silent = peek(notes_at, PENDING + 1)
            if silent:
                poke(notes_at, PENDING + 1, silent & ~premises(s, silent))
            # A witness stays pending until the level ends: it is the least state of the level that counts.
            if HAS_WITNESSES and peek(notes_at, PENDING + 2):
                found = witnesses(s, peek(notes_at, PENDING + 2))
                if found:
                    note_least(notes_at + 8 * REACHED, found, state_rank(s))


@entry
def predecessors(states: Rows, first, last, targets: Rows, best: Rows, rows: Rows, notes: Line):
    """Note for each target the least state from which one step leads to it, or to its orbit if states are reduced.

    Looks at the states from ``first`` to one before ``last``. A row of ``best`` is a flag, the canonical state, and
    the state: see ``note_least``.
    """
    states_at, targets_at, best_at = address(states), address(targets), address(best)
    rows_at, notes_at = address(rows), address(notes)
    width = 8 * best.shape[1]
    for i in range(first, last):
        s = load(states_at, i)
        k = successors(s, rows_at, notes_at)
        for j in range(k):
            t = load(rows_at, j)
            if REDUCED:
                t = canonical(t)
            for index in range(targets.shape[0]):
                if holds(targets_at, index, t):
                    note_least(best_at + width * index, 1, canonical(s) + s)


@entry
def listed(s: State, rows: Rows, notes: Line):
    """Write the successors of one state into ``rows``; returns their number."""
    return successors(s, address(rows), address(notes))


# The first word of a row that was struck off a table: not empty, and equal to no state.
GONE = -2


@jit
def place_of(s, table_at, size):
    """The slot of a state in a table that is not full: the one that holds it, or else the empty one that would."""
    slot = slot_of(s, size)
    while peek(table_at, slot * ROW_WORDS) != -1 and not holds(table_at, slot, s):
        slot += 1
        if slot == size:
            slot = 0
    return slot


@entry
def gather(rows_at, count, table_at, size):
    """Add ``count`` rows to a table; a row that it already has changes nothing."""
    for i in range(min(LOOKAHEAD, count)):
        prefetch(table_at, slot_of(load(rows_at, i), size) * ROW_WORDS)
    for i in range(count):
        if i + LOOKAHEAD < count:
            prefetch(table_at, slot_of(load(rows_at, i + LOOKAHEAD), size) * ROW_WORDS)
        s = load(rows_at, i)
        put(table_at, place_of(s, table_at, size), s)


@entry
def strike(rows_at, count, table_at, size):
    """Remove ``count`` rows from a table, as far as it has them; no two of the rows are equal."""
    for i in range(min(LOOKAHEAD, count)):
        prefetch(table_at, slot_of(load(rows_at, i), size) * ROW_WORDS)
    for i in range(count):
        if i + LOOKAHEAD < count:
            prefetch(table_at, slot_of(load(rows_at, i + LOOKAHEAD), size) * ROW_WORDS)
        s = load(rows_at, i)
        slot = place_of(s, table_at, size)
        if peek(table_at, slot * ROW_WORDS) != -1:
            # The slot stays taken: an empty one would end the probe for rows that lie behind it.
            poke(table_at, slot * ROW_WORDS, GONE)


@entry
def remaining(table_at, size, rows_at):
    """Write the states of a table into rows, in the order of their slots; returns their number."""
    n = 0
    for slot in range(size):
        # Neither empty (-1) nor struck off (GONE).
        if peek(table_at, slot * ROW_WORDS) >= 0:
            put(rows_at, n, load(table_at, slot))
            n += 1
    return n
