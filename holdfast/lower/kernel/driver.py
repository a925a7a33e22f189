"""What the kernel does with any model: expand, insert, check, look back. A template.

This text is compiled after a model's own functions (``source.py``), in one module, so that the machine code of both
is optimised together. Names that are not defined here (``successors``, ``canonical``, ``WORDS``, …) are the model's.
A state is a tuple of words, a row of memory holds one, and -1 in a row's first word means that it holds none. What is
noted lies in one block of words: see ``notes.py`` for the places in it. Where the partitions' states and tables lie is
said by a directory, a row for each partition, of addresses and numbers; so one call does all that a core has to do.
"""
# ruff: noqa: F821 - the model's functions are defined by the text that this one follows
# mypy: ignore-errors

CACHE_BITS = 15
PARTITION_BITS = 8
LOOKAHEAD = 12
STATES_AT, COUNT, TABLE_AT, SIZE, MORE_STATES_AT, MORE_TABLE_AT, MORE_SIZE = range(7)


@jit
def bump(notes, place, by):
    """Add to what is counted there."""
    poke(notes, place, peek(notes, place) + by)


@jit
def noted(notes, place):
    """Note that the rule of that place was decisive; True, so that it can stand in the midst of a condition."""
    poke(notes, place, 1)
    return True


@jit
def note_least(best, which, rank):
    """Keep the least rank for each property in ``which``; a row of ``best`` is a flag and a rank."""
    row = 0
    while which:
        if which & 1:
            less = peek(best, row) == 0
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
    """Step properties that a step violates."""
    note_least(notes + 8 * STEPS, bad, canonical(new) + canonical(old) + old + new)


@jit
def note_triggers(notes, said):
    """Step properties that said something need not be asked again."""
    poke(notes, PENDING, peek(notes, PENDING) & ~said)


@jit
def note_repeat(notes, action, outcome, new, old):
    """What becomes of an idempotent action's step when it is repeated."""
    bump(notes, REPEATS + action, 1)
    if outcome == 2:
        bump(notes, COUNTS, 1)
    elif outcome == 1:
        rank = canonical(new) + canonical(old) + old + new
        note_least(notes + 8 * (REPEATED + action * (1 + len(rank))), 1, rank)


@jit
def total_cuts(notes):
    """How many steps were cut so far."""
    found = 0
    for bound in range(BOUNDS):
        found += peek(notes, CUTS + bound)
    return found


@jit
def note_end(notes, s, cuts_before):
    """A state without a step: a deadlock unless it is final, or a bound cut one."""
    if finals(s, -1) == 0:
        if total_cuts(notes) != cuts_before:
            bump(notes, COUNTS + 1, 1)
        else:
            note_least(notes + 8 * ENDS, 1, s)


@entry
def expand(directory, chunks, row, buffers, filled, rows, cache, notes):
    """Write the successors of the states in ``chunks`` into the buffers of their partitions, from that row on.

    A chunk is a partition and which of its states, the first and the one after the last; its first moves on with the
    work. Returns the row it came to: it stops when a buffer might not hold what one more state brings. A small cache of
    rows written not long ago keeps most of those out that are known anyway.
    """
    length = buffers.shape[1]
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
                # Steps that change nothing would all go to the buffer of the state's own partition, and fill it soon.
                if t == s:
                    continue
                h = hashed(t)
                slot = np.int64(h & np.uint64((1 << CACHE_BITS) - 1))
                if holds(cache_at, slot, t):
                    continue
                put(cache_at, slot, t)
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
    """Where the search for a state begins in a table of ``size`` rows."""
    low = (hashed(s) >> np.uint64(64 - PARTITION_BITS - 32)) & np.uint64(0xFFFFFFFF)
    return np.int64((low * np.uint64(size)) >> np.uint64(32))


@jit
def rehash(states_at, count, table_at, size):
    """Put the first ``count`` states, which are all different, into a table of which nothing is kept."""
    for slot in range(size):
        poke(table_at, slot * WORDS, -1)
    for i in range(count):
        s = load(states_at, i)
        slot = slot_of(s, size)
        while peek(table_at, slot * WORDS) != -1:
            slot += 1
            if slot == size:
                slot = 0
        put(table_at, slot, s)


@entry
def move(directory, first, step):
    """Move what partitions hold to where they have more room now: each ``step``-th one, from ``first`` on."""
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
    """Add the rows that a table lacks to it, and to its states from row ``n`` on; returns the new ``n``."""
    for i in range(min(LOOKAHEAD, count)):
        prefetch(table_at, slot_of(load(buffer_at, i), size) * WORDS)
    for i in range(count):
        if i + LOOKAHEAD < count:
            prefetch(table_at, slot_of(load(buffer_at, i + LOOKAHEAD), size) * WORDS)
        s = load(buffer_at, i)
        slot = slot_of(s, size)
        while peek(table_at, slot * WORDS) != -1 and not holds(table_at, slot, s):
            slot += 1
            if slot == size:
                slot = 0
        if peek(table_at, slot * WORDS) == -1:
            put(table_at, slot, s)
            put(states_at, n, s)
            n += 1
    return n


@entry
def insert(directory, first, step, buffers, filled):
    """Insert what a core gathered, for each ``step``-th partition from ``first`` on."""
    buffers_at, stride = address(buffers), 8 * WORDS * buffers.shape[1]
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
def check(directory, first, step, seen, notes):
    """Look at the states after those ``seen`` of each ``step``-th partition: invariants that fail, witnesses reached,
    properties that say something.
    """
    notes_at = address(notes)
    for part in range(first, directory.shape[0], step):
        states_at = directory[part, STATES_AT]
        for i in range(seen[part], directory[part, COUNT]):
            s = load(states_at, i)
            if invariants(s) >= 0:
                note_least(notes_at + 8 * STATES, invariants_failing(s, -1), s)
            silent = peek(notes_at, PENDING + 1)
            if silent:
                poke(notes_at, PENDING + 1, silent & ~triggers(s, silent))
            if HAS_WITNESSES and peek(notes_at, PENDING + 2):
                found = witnesses(s, peek(notes_at, PENDING + 2))
                if found:
                    note_least(notes_at + 8 * REACHED, found, s)


@entry
def predecessors(states, first, last, targets, best, rows, notes):
    """For each target, the least state from which one step leads to it (to its orbit under symmetry)."""
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
def listed(s, rows, notes):
    """Write the successors of one state into ``rows``; returns how many there are."""
    return successors(s, address(rows), address(notes))


GONE = -2


@jit
def place_of(s, table_at, size):
    """Where a table that is not full holds a state, or else would."""
    slot = slot_of(s, size)
    while peek(table_at, slot * WORDS) != -1 and not holds(table_at, slot, s):
        slot += 1
        if slot == size:
            slot = 0
    return slot


@entry
def gather(rows_at, count, table_at, size):
    """Put the rows at one address into the table at another, unless it holds them."""
    for i in range(min(LOOKAHEAD, count)):
        prefetch(table_at, slot_of(load(rows_at, i), size) * WORDS)
    for i in range(count):
        if i + LOOKAHEAD < count:
            prefetch(table_at, slot_of(load(rows_at, i + LOOKAHEAD), size) * WORDS)
        s = load(rows_at, i)
        put(table_at, place_of(s, table_at, size), s)


@entry
def strike(rows_at, count, table_at, size):
    """Strike the rows at one address off the table at another; no two of them are equal."""
    for i in range(min(LOOKAHEAD, count)):
        prefetch(table_at, slot_of(load(rows_at, i), size) * WORDS)
    for i in range(count):
        if i + LOOKAHEAD < count:
            prefetch(table_at, slot_of(load(rows_at, i + LOOKAHEAD), size) * WORDS)
        s = load(rows_at, i)
        slot = place_of(s, table_at, size)
        if peek(table_at, slot * WORDS) != -1:
            # The slot stays taken, so that what lies behind it is still found.
            poke(table_at, slot * WORDS, GONE)


@entry
def remaining(table_at, size, rows_at):
    """Write what a table holds into rows; returns how many there are."""
    n = 0
    for slot in range(size):
        if peek(table_at, slot * WORDS) >= 0:
            put(rows_at, n, load(table_at, slot))
            n += 1
    return n
