"""What the kernel does to draw the state graph of any model: number states, list edges. A template, as ``driver.py``.

A state's number is its place in the order in which a breadth-first search finds it. The table holds numbers, -1 for
none; edges stand in the order of the states that they leave.
"""
# ruff: noqa: F821 - the model's functions are defined by the text that this one follows
# mypy: ignore-errors


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
def slot_of(s, size):
    """Where the search for a state begins in a table of ``size`` numbers, a power of two."""
    return np.int64(hashed(s) >> np.uint64(1)) & (size - 1)


@jit
def number_of(s, states_at, table, n):
    """The number of a state; a new one is stored and becomes ``n``."""
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
def begin(starts, states, table):
    """Number the initial states, which are all different."""
    starts_at, states_at = address(starts), address(states)
    for i in range(starts.shape[0]):
        number_of(load(starts_at, i), states_at, table, i)


@entry
def rehash(states, n, table):
    """Put the numbers of ``n`` states into an empty table."""
    states_at = address(states)
    for i in range(n):
        slot = slot_of(load(states_at, i), table.shape[0])
        while table[slot] >= 0:
            slot += 1
            if slot == table.shape[0]:
                slot = 0
        table[slot] = i


@entry
def explore(first, last, n, states, table, ends, targets, labels, possible, cut, rows, notes):
    """Expand the states ``first`` to ``last``, of ``n`` known ones, as far as there is room.

    Returns how far it came and how many states are known then. ``ends`` has for each state where its edges end;
    ``possible`` and ``cut`` have the flags of the demands of which it has a step, or of which a bound cut one.
    """
    states_at, rows_at, notes_at = address(states), address(rows), address(notes)
    edges = ends[first - 1] if first else 0
    room = min(states.shape[0], table.shape[0] // 2)
    for i in range(first, last):
        if n + FAN > room or edges + FAN > targets.shape[0]:
            return i, n
        for word in range(FLAG_WORDS):
            poke(notes_at, CUT_FLAGS + word, 0)
        start = edges
        k = successors(load(states_at, i), rows_at, notes_at)
        for j in range(k):
            label = peek(notes_at, LABELS + j)
            target = number_of(load(rows_at, j), states_at, table, n)
            if target == n:
                n += 1
            if label != FREE:
                possible[i, label // FLAGS] |= 1 << (label % FLAGS)
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
