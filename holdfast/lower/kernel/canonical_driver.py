"""Canonical states of large groups of renamings, in the language of kernels: ``lower/canonical_form.py``. A template.

``canonical_source.py`` puts this text behind the functions of a model that it needs. The methods, and the words colour,
signature, twin, branch and leaf, are explained in ``lower/canonical_form.py``. Both give the same states, to the byte.

- An array of elements has a word for each of the ``ELEMENTS`` elements.
- A path has a word for each depth of the tree: the element that was put first there, or -1 behind its end.
- ``work`` is scratch memory of one call: three arrays of elements, then a word for each cell of a state. The first
  array has the names that ``renamed`` gives, the second one signatures, the third one colours while they are computed.
"""

import numpy as np

from holdfast.lower.kernel.injected import (
    CELLS, ELEMENTS, add_signatures, begin_colours, jit, name_by_colour, peek, poke, renamed, reserve,
)  # fmt: skip

# The template begins here.


@jit
def mixed(number):
    """A hash of 62 bits of a number of 63 bits."""
    h = np.uint64(number)
    h = (h ^ (h >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return np.int64((h ^ (h >> np.uint64(29))) >> np.uint64(2))


@jit
def add_hash(signatures, element, hashed_cell, role):
    """Add what a cell says of the element that it mentions in this role."""
    poke(signatures, element, (peek(signatures, element) + mixed(hashed_cell + role)) & ((1 << 62) - 1))


@jit
def copy_words(source, target, count):
    """Copy words."""
    for i in range(count):
        poke(target, i, peek(source, i))


@jit
def refine(s, colours, work):
    """Refine colours, round after round, until none splits any more."""
    signatures, fresh = work + 8 * ELEMENTS, work + 16 * ELEMENTS
    split = True
    while split:
        for e in range(ELEMENTS):
            poke(signatures, e, 0)
        add_signatures(s, colours, signatures)
        split, tied = False, False
        for e in range(ELEMENTS):
            colour, mine = peek(colours, e), peek(signatures, e)
            place = colour
            for other in range(ELEMENTS):
                if peek(colours, other) == colour and other != e:
                    if peek(signatures, other) < mine:
                        place += 1
                    elif peek(signatures, other) == mine:
                        tied = True
            poke(fresh, e, place)
            if place != colour:
                split = True
        copy_words(fresh, colours, ELEMENTS)
        if not tied:
            return


@jit
def are_twins(s, one, other, work):
    """Whether exchanging two elements leaves the state unchanged."""
    for e in range(ELEMENTS):
        poke(work, e, e)
    poke(work, one, other)
    poke(work, other, one)
    return renamed(s, work, work + 24 * ELEMENTS) == s


@jit
def first_tie(s, colours, work):
    """The first colour of several elements that are not all twins; -1 if there is none.

    On the way, elements of one colour that are all twins get colours of their own, in their order.
    """
    colour = 0
    while colour < ELEMENTS:
        first, size, alike = -1, 0, True
        for e in range(ELEMENTS):
            if peek(colours, e) == colour:
                if size == 0:
                    first = e
                elif alike:
                    alike = are_twins(s, first, e, work)
                size += 1
        if not alike:
            return colour
        place = colour
        for e in range(first + 1, ELEMENTS):
            if peek(colours, e) == colour:
                place += 1
                poke(colours, e, place)
        colour += size
    return -1


@jit
def next_branch(s, colours, tie, last, work):
    """The next element behind ``last`` of the colour ``tie`` that is no twin of an earlier one; -1 if there is none."""
    for e in range(last + 1, ELEMENTS):
        if peek(colours, e) == tie:
            fresh = True
            for other in range(e):
                if fresh and peek(colours, other) == tie and are_twins(s, other, e, work):
                    fresh = False
            if fresh:
                return e
    return -1


@jit
def put_first(s, colours, element, target, work):
    """Write the refined colours after an element was put before the others of its colour."""
    colour = peek(colours, element)
    for e in range(ELEMENTS):
        here = peek(colours, e)
        poke(target, e, here + 1 if here == colour and e != element else here)
    refine(s, target, work)


@jit
def parting(one, other):
    """The depth at which two paths part."""
    depth = 0
    while peek(one, depth) == peek(other, depth):
        depth += 1
    return depth


@jit
def canonical_form(s):
    """The canonical state under the permutations within the classes of elements."""
    work = reserve(3 * ELEMENTS + CELLS)
    # The colours of the nodes on the path, one depth after the other, and those of the leaf.
    levels = reserve(ELEMENTS * ELEMENTS)
    # Each path has at most ELEMENTS - 1 branches, so a -1 fits behind its end.
    path, first_path, best_path = reserve(ELEMENTS), reserve(ELEMENTS), reserve(ELEMENTS)
    ties = reserve(ELEMENTS)
    first, best, leaves = s, s, 0
    depth, colours = 0, levels
    begin_colours(colours)
    refine(s, colours, work)
    while True:
        tie = first_tie(s, colours, work)
        while tie >= 0:
            e = next_branch(s, colours, tie, -1, work)
            poke(ties, depth, tie)
            poke(path, depth, e)
            depth += 1
            put_first(s, colours, e, colours + 8 * ELEMENTS, work)
            colours += 8 * ELEMENTS
            tie = first_tie(s, colours, work)
        poke(path, depth, -1)
        name_by_colour(colours, work)
        t = renamed(s, work, work + 24 * ELEMENTS)
        # Back to the node at which the path parts from that of a leaf with the same state; else by one node.
        depth -= 1
        if leaves == 0:
            first, best = t, t
            copy_words(path, first_path, ELEMENTS)
            copy_words(path, best_path, ELEMENTS)
        elif t == first:
            depth = parting(path, first_path)
        elif t == best:
            depth = parting(path, best_path)
        elif t < best:
            best = t
            copy_words(path, best_path, ELEMENTS)
        leaves = 1
        e = -1
        while depth >= 0:
            colours = levels + 8 * ELEMENTS * depth
            e = next_branch(s, colours, peek(ties, depth), peek(path, depth), work)
            if e >= 0:
                break
            depth -= 1
        if depth < 0:
            return best
        poke(path, depth, e)
        depth += 1
        put_first(s, colours, e, colours + 8 * ELEMENTS, work)
        colours += 8 * ELEMENTS
