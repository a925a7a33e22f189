"""Random runs of any model, in machine code. A template, as ``driver.py`` is.

``lower/walking.py`` says what a run is, and ``check/walker.py`` says the same over the interpreter; the two must draw
in the same order. Names that are not defined here (``offers``, ``judge``, ``invariants``, ``ACTIONS``, …) are the
model's. ``work`` is what a run works with; ``seen`` has the numbers of the steps that were listed last, which rules
decided something and what was cut; ``notes`` is all else that is counted: see ``walks.py``.
"""
# ruff: noqa: F821 - the model's functions are defined by the text that this one follows
# mypy: ignore-errors

# Small arrays cost a call as much as large ones, so functions that every step calls get one array each, and others are
# made part of their callers.
inlined = numba.njit(
    nogil=True, _nrt=False, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True
)

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
DEPTH, STILL, FINAL, CUT, STUCK, MASKED, VIOLATED = range(7)


# Chance: chance[0] is where the stream of a run is, chance[1] its stride ------------------------------------------


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
def begin(chance, seed, run):
    """The stream of a run."""
    base = mixed(seed)
    twice = np.uint64(run) + np.uint64(run)
    chance[0] = mixed(base + (twice + np.uint64(1)) * GOLDEN)
    stride = mixed(base + (twice + np.uint64(2)) * GOLDEN) | np.uint64(1)
    if ones(stride ^ (stride >> np.uint64(1))) < np.uint64(24):
        stride ^= np.uint64(0xAAAAAAAAAAAAAAAA)
    chance[1] = stride


@inlined
def below(chance, choices):
    """A number from 0 to one less than ``choices``."""
    chance[0] += chance[1]
    return np.int64(((mixed(chance[0]) >> np.uint64(32)) * np.uint64(choices)) >> np.uint64(32))


# What a run draws at its beginning --------------------------------------------------------------------------------


@jit
def draw_swarm(work):
    """Which actions stay, and their weights; 0 for those that are omitted."""
    share = below(work.chance, 100)
    kept = 0
    for a in range(ACTIONS):
        work.weights[a] = 0 if below(work.chance, 100) < share else 1
        kept += work.weights[a]
    if kept == 0 and ACTIONS > 0:
        work.weights[below(work.chance, ACTIONS)] = 1
    for a in range(ACTIONS):
        work.weights[a] *= 1 + below(work.chance, 100)


@jit
def draw_priorities(work, schedule):
    """Who comes first, and at which steps that changes."""
    for place in range(schedule.processes):
        work.order[place] = place
    for last in range(schedule.processes - 1, 0, -1):
        other = below(work.chance, last + 1)
        work.order[last], work.order[other] = work.order[other], work.order[last]
    for point in range(schedule.points):
        work.changes[point] = below(work.chance, schedule.prioritised)


@inlined
def demote(work, schedule, place):
    """Give the process at that place the lowest priority."""
    process = work.order[place]
    for after in range(place + 1, schedule.processes):
        work.order[after - 1] = work.order[after]
    work.order[schedule.processes - 1] = process


# Drawing a step ---------------------------------------------------------------------------------------------------


@jit
def only(process, schedule, stride, count, seen):
    """Keep the steps of one process among those listed; returns how many there are."""
    kept = 0
    for i in range(count):
        number = number_of(seen, i)
        if number // stride % (schedule.processes - 1) == process:
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
def refill(process, schedule, work):
    """Let every action be drawn again, of those that a process takes part in; process -1 is any."""
    for a in range(ACTIONS):
        mine = process < 0 or (schedule.strides[a] == 0) == (process == schedule.processes - 1)
        work.left[a] = work.weights[a] if mine else 0


@inlined
def draw_step(s, process, schedule, work, seen):
    """An action by weight, among those that are left, and the place of one of its steps; action -1 if none has one."""
    total = 0
    for a in range(ACTIONS):
        total += work.left[a]
    while total > 0:
        x = below(work.chance, total)
        a = 0
        while x >= work.left[a]:
            x -= work.left[a]
            a += 1
        count = offers(a, s, seen)
        if process >= 0 and schedule.strides[a] > 0:
            count = only(process, schedule, schedule.strides[a], count, seen)
        if count > 0:
            return a, ranked(seen, count, below(work.chance, count))
        total -= work.left[a]
        work.left[a] = 0
    return -1, 0


@jit
def draw_by_priority(s, step, schedule, work, seen):
    """As ``draw_step``, among the steps of the first process that has one; with that process's place."""
    change = False
    for point in range(schedule.points):
        change |= work.changes[point] == step
    place = 0
    while place < schedule.processes:
        refill(work.order[place], schedule, work)
        a, j = draw_step(s, work.order[place], schedule, work, seen)
        if a < 0:
            place += 1
        elif change:
            # Those before it have no step. If it is the last already, it is drawn once more.
            demote(work, schedule, place)
            change = False
        else:
            return a, j, place
    return -1, 0, 0


# Runs -------------------------------------------------------------------------------------------------------------


@jit
def look(s, run, step, counts, reached):
    """Note which invariants say something in a state, and which witnesses it is."""
    if counts[SILENT]:
        counts[SILENT] &= ~triggers(s, counts[SILENT])
    if HAS_WITNESSES and counts[UNREACHED]:
        found = witnesses(s, counts[UNREACHED])
        if found:
            counts[UNREACHED] &= ~found
            for index in range(reached.shape[0]):
                if found >> index & 1:
                    reached[index, 0] = run
                    reached[index, 1] = step


@jit
def moves(s, weights, seen):
    """Whether a step of an action that was not omitted leads to another state."""
    for a in range(ACTIONS):
        if weights[a] > 0:
            for i in range(offers(a, s, seen)):
                if state_of(seen, i) != s:
                    return True
    return False


@jit
def why_no_step(s, cuts, seen):
    """The reason why a run ends in a state in which none of its actions has a step. It counts no cuts again."""
    for bound in range(HITS):
        cuts[bound] = seen[bound]
    enabled = False
    for a in range(ACTIONS):
        enabled = enabled or offers(a, s, seen) > 0
    cut = False
    for bound in range(HITS):
        cut |= seen[bound] != cuts[bound]
        seen[bound] = cuts[bound]
    if enabled:
        return MASKED
    if HAS_FINALS and finals(s, -1) != 0:
        return FINAL
    if cut:
        return CUT
    return VIOLATED if HAS_FINALS else STUCK


@jit
def follow(s, run, depth, schedule, work, counts, reached, seen):
    """One run from a state: how many steps it took, and why it ended."""
    look(s, run, 0, counts, reached)
    if invariants(s) >= 0:
        return 0, VIOLATED
    refill(-1, schedule, work)
    stayed = False
    for step in range(depth):
        prioritised = step < schedule.prioritised
        place = 0
        if prioritised:
            a, j, place = draw_by_priority(s, step, schedule, work, seen)
        else:
            a, j = draw_step(s, -1, schedule, work, seen)
            if a < 0 and stayed:
                if not moves(s, work.weights, seen):
                    return step, STILL
                refill(-1, schedule, work)
                a, j = draw_step(s, -1, schedule, work, seen)
        if a < 0:
            return step, why_no_step(s, work.cuts, seen)
        t = state_of(seen, j)
        counts[TAKEN + a] += 1
        bad = judge(a, t, s, number_of(seen, j), counts)
        stayed = t == s
        if stayed:
            work.left[a] = 0
            if prioritised:
                demote(work, schedule, place)
        else:
            if counts[SILENT] or counts[UNREACHED]:
                look(t, run, step + 1, counts, reached)
            bad = bad or invariants(t) >= 0
        if bad:
            return step + 1, VIOLATED
        if prioritised or not stayed:
            refill(-1, schedule, work)
        s = t
    return depth, DEPTH


@entry
def walk(first, last, seed, depth, starts, schedule, work, counts, reached, stops, seen):
    """The runs from ``first`` to one before ``last``, up to the first that violates something; returns it, or -1."""
    for run in range(first, last):
        begin(work.chance, seed, run)
        draw_swarm(work)
        if schedule.prioritised > 0:
            draw_priorities(work, schedule)
        s = load(starts, below(work.chance, starts.shape[0]))
        steps, stop = follow(s, run, depth, schedule, work, counts, reached, seen)
        if stops[stop, 0] == 0 or steps < stops[stop, 2]:
            stops[stop, 2] = steps
        stops[stop, 0] += 1
        stops[stop, 1] += steps
        stops[stop, 3] = max(stops[stop, 3], steps)
        if stop == VIOLATED:
            return run
    return -1
