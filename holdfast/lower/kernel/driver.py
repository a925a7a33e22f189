"""What the kernel does with any model: expand, insert, check, look back. A template.

This text is compiled after a model's own functions (``source.py``), in one module, so that the machine code of both
is optimised together. Names that are not defined here (``successors``, ``canonical``, ``WORDS``, …) are the model's.
A state is a tuple of words, a row of an array holds one, and -1 in a row's first word means that it holds none.
"""
# ruff: noqa: F821 - the model's functions are defined by the text that this one follows
# mypy: ignore-errors

CACHE_BITS = 15
PARTITION_BITS = 6
LOOKAHEAD = 12


@jit
def noted(notes, place):
    """Note that the rule at that place was decisive; True, so that it can stand in the midst of a condition."""
    notes.hits[place] = 1
    return True


@jit
def note_least(best, which, rank):
    """Keep the least rank for each property in ``which``; a row of ``best`` is a flag and a rank."""
    for index in range(best.shape[0]):
        if which >> index & 1:
            less = best[index, 0] == 0
            for place in range(len(rank)):
                if less or rank[place] > best[index, place + 1]:
                    break
                less = rank[place] < best[index, place + 1]
            if less:
                best[index, 0] = 1
                for place in range(len(rank)):
                    best[index, place + 1] = rank[place]


@jit
def note_steps(notes, bad, new, old):
    """Step properties that a step violates."""
    note_least(notes.steps, bad, canonical(new) + canonical(old) + old + new)


@jit
def note_repeat(notes, action, outcome, new, old):
    """What becomes of an idempotent action's step when it is repeated."""
    notes.repeats[action] += 1
    if outcome == 2:
        notes.counts[0] += 1
    elif outcome == 1:
        note_least(notes.repeated[action : action + 1], 1, canonical(new) + canonical(old) + old + new)


@jit
def total(counts):
    """The sum."""
    found = 0
    for count in counts:
        found += count
    return found


@jit
def note_end(notes, s, cuts_before):
    """A state without a step: a deadlock unless it is final, or a bound cut one."""
    if finals(s, -1) == 0:
        if total(notes.cuts) != cuts_before:
            notes.counts[1] += 1
        else:
            note_least(notes.ends, 1, s)


@entry
def expand(states, first, last, buffers, filled, rows, cache, notes):
    """Write the successors of the states ``first`` to ``last`` into the buffers of their partitions.

    Returns how far it came: it stops when a buffer might not hold what one more state brings. A small cache of rows
    written not long ago keeps most of those out that are known anyway.
    """
    room = buffers.shape[1] - FAN
    fullest = 0
    for part in range(filled.shape[0]):
        fullest = max(fullest, filled[part])
    cuts_before = 0
    for i in range(first, last):
        if fullest > room:
            return i
        s = load(states, i)
        if HAS_FINALS:
            cuts_before = total(notes.cuts)
        k = successors(s, rows, notes)
        if HAS_FINALS and k == 0:
            note_end(notes, s, cuts_before)
        for j in range(k):
            t = load(rows, j)
            # Steps that change nothing would all go to the buffer of the state's own partition, and fill it too soon.
            if t == s:
                continue
            h = hashed(t)
            slot = np.int64(h & np.uint64((1 << CACHE_BITS) - 1))
            if holds(cache, slot, t):
                continue
            put(cache, slot, t)
            if REDUCED:
                t = canonical(t)
                h = hashed(t)
            part = np.int64(h >> np.uint64(64 - PARTITION_BITS))
            put(buffers[part], filled[part], t)
            filled[part] += 1
            fullest = max(fullest, filled[part])
    return last


@jit
def slot_of(s, size):
    """Where the search for a state begins in a table of ``size`` rows."""
    low = (hashed(s) >> np.uint64(64 - PARTITION_BITS - 32)) & np.uint64(0xFFFFFFFF)
    return np.int64((low * np.uint64(size)) >> np.uint64(32))


@entry
def insert(buffer, count, table, states, n):
    """Add the rows that the table lacks to it, and to ``states`` from row ``n`` on; returns the new ``n``."""
    size = table.shape[0]
    for i in range(min(LOOKAHEAD, count)):
        prefetch(table, slot_of(load(buffer, i), size) * WORDS)
    for i in range(count):
        if i + LOOKAHEAD < count:
            prefetch(table, slot_of(load(buffer, i + LOOKAHEAD), size) * WORDS)
        s = load(buffer, i)
        slot = slot_of(s, size)
        while table[slot, 0] != -1 and not holds(table, slot, s):
            slot += 1
            if slot == size:
                slot = 0
        if table[slot, 0] == -1:
            put(table, slot, s)
            put(states, n, s)
            n += 1
    return n


@entry
def refill(states, count, table):
    """Put the first ``count`` states, which are all different, into an empty table."""
    size = table.shape[0]
    for i in range(count):
        s = load(states, i)
        slot = slot_of(s, size)
        while table[slot, 0] != -1:
            slot += 1
            if slot == size:
                slot = 0
        put(table, slot, s)


@entry
def check(states, first, last, notes):
    """Look at new states: invariants that fail, witnesses reached, properties that say something."""
    for i in range(first, last):
        s = load(states, i)
        if invariants(s) >= 0:
            note_least(notes.states, invariants_failing(s, -1), s)
        if notes.pending[1]:
            notes.pending[1] &= ~triggers(s, notes.pending[1])
        if HAS_WITNESSES and notes.pending[2]:
            found = witnesses(s, notes.pending[2])
            if found:
                note_least(notes.reached, found, s)


@entry
def predecessors(states, first, last, targets, best, rows, notes):
    """For each target, the least state from which one step leads to it (to its orbit under symmetry)."""
    for i in range(first, last):
        s = load(states, i)
        k = successors(s, rows, notes)
        for j in range(k):
            t = load(rows, j)
            if REDUCED:
                t = canonical(t)
            for index in range(targets.shape[0]):
                if holds(targets, index, t):
                    note_least(best[index : index + 1], 1, canonical(s) + s)
