"""Random runs of any model, in machine code. A template, as ``driver.py`` is.

``random_runs/plan.py`` says what a run is, and ``check/walk/walker.py`` says the same over the interpreter; the two
must draw in the same order. Names that are not defined here (``offers``, ``judge``, ``invariants``, …) are the
model's. Three blocks of words are handed from function to function: ``work`` is what a run works with, ``seen`` has
the steps that were listed last, which rules decided something and what was cut, ``counts`` all else that is counted;
``walk_source.py`` has the places in them. What only a sample counts is asked for at compile time (``SAMPLED``).
"""
# ruff: noqa: F821 - the model's functions are defined by the text that this one follows
# mypy: ignore-errors

inlined = numba.njit(
    nogil=True, _nrt=False, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True
)

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
DEPTH, STILL, FINAL, CUT, STUCK, MASKED, VIOLATED = range(7)


@inlined
def bump(block, place, by):
    """Add to what is counted there."""
    poke(block, place, peek(block, place) + by)


@inlined
def noted(seen, place):
    """Note that the rule of that place decided something; True, so that it can stand in the midst of a condition."""
    poke(seen, place, peek(seen, place) + 1 if SAMPLED else 1)
    return True


# Chance: where the stream of a run is, and its stride ---------------------------------------------------------------


@inlined
def mixed(z):
    """As ``chance.mixed``."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@jit
def ones(z):
    """How many bits are set."""
    z -= (z >> np.uint64(1)) & np.uint64(0x5555555555555555)
    z = (z & np.uint64(0x3333333333333333)) + ((z >> np.uint64(2)) & np.uint64(0x3333333333333333))
    z = (z + (z >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (z * np.uint64(0x0101010101010101)) >> np.uint64(56)


@jit
def begin(work, seed, run):
    """The stream of a run."""
    base = mixed(seed)
    twice = np.uint64(run) + np.uint64(run)
    poke(work, CHANCE, mixed(base + (twice + np.uint64(1)) * GOLDEN))
    stride = mixed(base + (twice + np.uint64(2)) * GOLDEN) | np.uint64(1)
    if ones(stride ^ (stride >> np.uint64(1))) < np.uint64(24):
        stride ^= np.uint64(0xAAAAAAAAAAAAAAAA)
    poke(work, CHANCE + 1, stride)


@inlined
def below(work, choices):
    """A number from 0 to one less than ``choices``."""
    bump(work, CHANCE, peek(work, CHANCE + 1))
    return np.int64(((mixed(np.uint64(peek(work, CHANCE))) >> np.uint64(32)) * np.uint64(choices)) >> np.uint64(32))


# What a run draws at its beginning --------------------------------------------------------------------------------


@jit
def draw_swarm(work):
    """Which actions stay, and their weights; 0 for those that are omitted. Without the swarm all are alike."""
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
    for a in range(ACTIONS):
        drawn = 1 + below(work, 100)
        poke(work, WEIGHTS + a, drawn * peek(work, WEIGHTS + a))


@jit
def draw_priorities(work):
    """Who comes first, and at which steps that changes."""
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
    """Give the process at that place the lowest priority."""
    process = peek(work, ORDER + place)
    last = peek(work, PROCESSES) - 1
    for before in range(place, last):
        poke(work, ORDER + before, peek(work, ORDER + before + 1))
    poke(work, ORDER + last, process)


# Drawing a step ---------------------------------------------------------------------------------------------------


@jit
def only(process, stride, count, work, seen):
    """Keep the steps of one process among those listed; returns how many there are."""
    kept = 0
    for i in range(count):
        number = number_of(seen, i)
        if number // stride % (peek(work, PROCESSES) - 1) == process:
            list_step(seen, kept, number, state_of(seen, i))
            kept += 1
    return kept


@inlined
def ranked(seen, count, rank):
    """Which step of those listed comes after so many others; mostly they are in order, and it is the first look."""
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
    """Let every action be drawn again, of those that a process takes part in; process -1 is any."""
    for a in range(ACTIONS):
        mine = process < 0 or (peek(work, STRIDES + a) == 0) == (process == peek(work, PROCESSES) - 1)
        poke(work, LEFT + a, peek(work, WEIGHTS + a) if mine else 0)


@inlined
def draw_step(s, process, work, seen):
    """An action by weight, among those that are left, and the place of one of its steps; action -1 if none has one."""
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
        total -= peek(work, LEFT + a)
        poke(work, LEFT + a, 0)
    return -1, 0


@jit
def draw_by_priority(s, step, work, seen):
    """As ``draw_step``, among the steps of the first process that has one; with that process's place."""
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
            # Those before it have no step. If it is the last already, it is drawn once more.
            demote(work, place)
            change = False
        else:
            return a, j, place
    return -1, 0, 0


# Runs -------------------------------------------------------------------------------------------------------------


@jit
def note_state(s, counts):
    """Note the signature of a state: one bit of many, by a hash of the state without its numbers."""
    h = np.uint64(0)
    for word in outline(s):
        h = mixed(h + np.uint64(word) + GOLDEN)
    place = np.int64(h >> np.uint64(64 - STATE_BITS))
    known = peek(counts, MET + (place >> 6))
    poke(counts, MET + (place >> 6), known | np.int64(np.uint64(1) << np.uint64(place & 63)))


@jit
def note_violation(found, run, step, a, s, t, bad):
    """What a run ends with that violates something: see ``Violating`` in ``walks.py``."""
    poke(found, 0, run)
    poke(found, 1, step)
    poke(found, 2, a)
    poke(found, 3, invariants(t))
    poke(found, 4, bad)
    poke(found, 5, witnesses(s, -1))
    poke(found, 6, triggers(s, -1))


@jit
def look(s, run, step, counts, reached):
    """Note which invariants say something in a state, and which witnesses it is."""
    if SAMPLED:
        note_state(s, counts)
    silent, unreached = peek(counts, SILENT), peek(counts, UNREACHED)
    if silent:
        poke(counts, SILENT, silent & ~triggers(s, silent))
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
    """Whether a step of an action that was not omitted leads to another state."""
    for a in range(ACTIONS):
        if peek(work, WEIGHTS + a) > 0:
            for i in range(offers(a, s, seen)):
                if state_of(seen, i) != s:
                    return True
    return False


@jit
def why_no_step(s, work, seen):
    """The reason why a run ends in a state in which none of its actions has a step. It counts no cuts again."""
    for bound in range(HITS):
        poke(work, CUTS + bound, peek(seen, bound))
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
    return VIOLATED if HAS_FINALS else STUCK


@inlined
def draw(s, step, stayed, work, seen):
    """The action of the next step, its place among those listed, and that of its process. The action is -1 if none has
    a step, and -2 if all that have one leave the state as it is.
    """
    if step < peek(work, PRIORITISED):
        return draw_by_priority(s, step, work, seen)
    a, j = draw_step(s, -1, work, seen)
    if a < 0 and stayed:
        if not moves(s, work, seen):
            return -2, 0, 0
        reset_weights(-1, work)
        a, j = draw_step(s, -1, work, seen)
    return a, j, 0


@jit
def follow(s, run, depth, work, counts, reached, seen, found):
    """One run from a state: how many steps it took, and why it ended; ``found`` has what it violates, if anything."""
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
        if bad != 0 or (not stayed and invariants(t) >= 0):
            note_violation(found, run, step + 1, a, s, t, bad)
            return step + 1, VIOLATED
        if prioritised or not stayed:
            reset_weights(-1, work)
        s = t
    return depth, DEPTH


@entry
def walk(first, last, seed, depth, starts, work, counts, reached, stops, seen, found):
    """The runs from ``first`` to one before ``last``, or up to where ``found`` has no room for one more that violates
    something. Returns the number of the first run that was not made.
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
        row = found_at + violating * 8 * found.shape[1]
        steps, stop = follow(s, run, depth, work_at, counts_at, reached_at, seen_at, row)
        if stops[stop, 0] == 0 or steps < stops[stop, 2]:
            stops[stop, 2] = steps
        stops[stop, 0] += 1
        stops[stop, 1] += steps
        stops[stop, 3] = max(stops[stop, 3], steps)
        violating += stop == VIOLATED
    return last
