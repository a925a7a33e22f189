"""Canonical states without a look at every renaming: compared with all renamings, one by one."""

from __future__ import annotations

import inspect
import random
import sys
from functools import cache
from itertools import permutations, product
from math import factorial
from types import ModuleType

import pytest

from holdfast.ir.errors import UsageError
from holdfast.lower import canonical_form, renaming_group, symmetry
from holdfast.lower.layout import Layout
from holdfast.lower.renaming_group import Renaming
from holdfast.lower.symmetry import Symmetry
from tests.lower.crowds import SCOPES, cycles, layout, random_states


def every_renaming(of: Layout) -> list[Renaming]:
    """All renamings that change no given constant, by a plain look at all permutations of all Sorts."""
    sizes = {sort.name: of.scope.sizes[sort.name] for sort in of.system.sorts}
    found: list[Renaming] = []
    for images in product(*(permutations(range(size)) for size in sizes.values())):
        renaming = dict(zip(sizes, images, strict=True))
        given = of.given.get("site_of", ())
        renamed = {renaming["Member"][member]: renaming["Site"][site] for member, site in enumerate(given)}
        if renamed == dict(enumerate(given)):
            found.append(renaming)
    return found


@cache
def orbits(name: str) -> list[tuple[bytes, list[bytes]]]:
    """States of a model to look at, each with its orbit, by a look at all renamings."""
    of = layout(name)
    looked_at = random_states(of, 12, random.Random(22))
    if name == "Pairs":
        looked_at += [cycles(5), cycles(2, 3), cycles(5, both_ways=True), cycles(2, 3, both_ways=True)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(symmetry, "MOST_LISTED", 10**6)
        group = Symmetry(of)
    return [(state, sorted({group.permute(state, g) for g in range(group.order)})) for state in looked_at]


def complaint(name: str) -> str | None:
    """What is wrong with the canonical states of a model's group, if anything is."""
    group = Symmetry(layout(name))
    known: dict[bytes, bytes] = {}
    for state, orbit in orbits(name):
        canonical = group.canonical(state)
        if canonical not in orbit:
            return "another orbit"
        if {group.canonical(image) for image in orbit[:: max(1, len(orbit) // 12)]} != {canonical}:
            return "two canonical states of one orbit"
        if known.setdefault(canonical, orbit[0]) != orbit[0]:
            return "one canonical state of two orbits"
        if group.orbit_size(state) != len(orbit):
            return "the size of the orbit"
        if group.renamed(orbit[-1], group.renaming(orbit[-1], state)) != state:
            return "the renaming between two states"
    return None


def torn_apart() -> str | None:
    """What is wrong with a state whose branches differ on every level, renamed at random."""
    group, state, chance = Symmetry(layout("Pairs", Member=9)), cycles(2, 3, 4), random.Random(22)
    images = [group.renamed(state, {"Member": chance.sample(range(9), 9)}) for _ in range(12)]
    if len({group.canonical(image) for image in images}) != 1:
        return "two canonical states of one orbit"
    # Each cycle can be turned, and nothing else leaves the state unchanged.
    return None if {*map(group.orbit_size, images)} == {factorial(9) // (2 * 3 * 4)} else "the size of the orbit"


@pytest.fixture
def unlisted(monkeypatch: pytest.MonkeyPatch) -> None:
    """No group is small enough to try all renamings."""
    monkeypatch.setattr(symmetry, "MOST_LISTED", 0)


@pytest.mark.usefixtures("unlisted")
@pytest.mark.parametrize("name", SCOPES)
def test_canonical_states_agree_with_all_renamings(name: str) -> None:
    """Two states have one canonical state if and only if one of all renamings, tried one by one, makes them equal."""
    assert complaint(name) is None


def test_different_branches_give_one_canonical_state() -> None:
    """If members look alike and no branch leads to the same leaves as another, all renamings still have one form."""
    assert torn_apart() is None


@pytest.mark.usefixtures("unlisted")
def test_every_state_of_a_small_scope() -> None:
    """All 512 graphs of three members have as many canonical states as there are graphs up to names: 104."""
    of = layout("Pairs", Member=3)
    group = Symmetry(of)
    every = [bytes(codes) for codes in product((0, 1), repeat=of.width)]
    orbits = {group.canonical(state) for state in every}
    # Directed graphs of three nodes, with loops allowed, up to names: OEIS A000595.
    assert len(orbits) == 104
    assert sum(map(group.orbit_size, orbits)) == 512


def test_a_group_of_any_size_is_known_by_its_classes() -> None:
    """The order of a large group is right, and a state with many twins needs few leaves."""
    group = Symmetry(layout("Crowd", Member=30, Box=20, Slot=1))
    assert group.order == factorial(30) * factorial(20)
    assert group.form is not None
    state = bytes(group.layout.width)
    # The first member speaks, all else is blank.
    assert group.orbit_size(state) == 30
    assert group.form.leaves == 1


def test_pairs_of_two_sorts_need_few_leaves() -> None:
    """If each member holds one box, nobody has a twin, and all are alike: known leaves cut all branches but a few."""
    group = Symmetry(layout("Crowd", Member=7, Box=7, Slot=1))
    assert group.form is not None
    state = group.layout.encode(
        group.layout.decode(bytes(group.layout.width))
        | {f"holder[b{n}]": f"m{n}" for n in range(1, 8)}
        | {"speaker": "m4"}
    )
    assert group.orbit_size(state) == factorial(7) * 7
    # One path to the first leaf, and one for each branch beside it; not 6! = 720.
    assert group.form.leaves == 1 + 5 + 4 + 3 + 2 + 1


def test_a_small_group_keeps_the_least_state() -> None:
    """Up to 120 renamings the canonical state is the least of the orbit; beyond, the form decides."""
    small, large = (Symmetry(layout("Pairs", Member=count)) for count in (5, 6))
    assert (small.order, large.order) == (120, 720)
    assert small.form is None
    assert large.form is not None
    for state in random_states(small.layout, 5, random.Random(1)):
        assert small.canonical(state) == min(small.renamed(state, renaming) for renaming in small.renamings)


def test_renamings_are_listed_in_a_fixed_order() -> None:
    """The renamings of a small group come in the order of their images, the identity first."""
    group = Symmetry(layout("Sites"))
    assert group.order == 2 * 6 * 6
    assert list(group.renamings) == sorted(every_renaming(group.layout), key=lambda each: list(each.values()))
    assert group.renamings[0] == group.group.identity


def test_cosets_that_are_too_many_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Given constants that leave too many renamings beside the classes are refused, with a remedy."""
    of = layout("Sites")
    assert len(every_renaming(of)) == Symmetry(of).order
    for name in ("MOST_COSETS", "MOST_TRIES"):
        with monkeypatch.context() as patch:
            patch.setattr(renaming_group, name, 1)
            with pytest.raises(UsageError, match=r"scope tiny: its given .*6 of Member.*without symmetry"):
                Symmetry(of)


def test_refinement_tells_apart_what_a_chain_tells_apart() -> None:
    """In a chain of six, only the distance from the ends tells members apart: rounds of refinement find it."""
    group = Symmetry(layout("Pairs", Member=6))
    assert group.form is not None
    chain = bytes(int(two == one + 1) for one, two in product(range(6), repeat=2))
    assert group.orbit_size(chain) == factorial(6)
    assert group.form.leaves == 1


# Planted faults -------------------------------------------------------------------------------------------------------

FAULTS = {
    "Twins are assumed, and not tested.": ("for each in known\n", "for each in []\n"),
    "The names of elements count.": ("= [0] * self.elements.count, self", "= [*range(self.elements.count)], self"),
    "The first leaf is taken, not the least.": ("elif leaf.state < best.state:", "elif False:"),
    "A known leaf skips all branches.": ("del nodes[_common(leaf.path, best.path) + 1 :]", "del nodes[1:]"),
    "A known leaf skips the branches of its parent, too.": (
        "del nodes[_common(leaf.path, first.path) + 1 :]", "del nodes[max(_common(leaf.path, first.path), 1) :]"
    ),
    "Orders of twins are not counted.": ("unchanged *= 1 if first else place + 1", "pass"),
    "Branches are not counted.": ("nodes[-1].alike += ", "nodes[-1].alike += 0 * "),
    "Only the first branch is followed.": ("taken, *left = twins", "taken, left = next(iter(twins)), []"),
    "Values keep their names.": ("code = names[each.first + code - each.none] - each.first + each.none", "pass"),
    "Keys keep their names.": ("renamed[self.elements.place(each, names)] = code", "renamed[each.cell] = code"),
    "Classes are mixed.": ("start += len(each.members)", "start += 0"),
}  # fmt: skip
"""Faults of the answers: a sentence for each, and what it replaces in ``canonical_form.py``."""

SLOW = {
    "A colour is refined once.": ("            if len(places) == known:\n", "            if True:\n"),
    "No colour is refined.": ("while known < count:", "while False:"),
}
"""Faults that change no answer, and cost leaves."""


def planted(monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    """Let ``Symmetry`` use the text of ``canonical_form.py`` with a fault."""
    text = inspect.getsource(canonical_form)
    assert text.count(old) == 1, old
    module = ModuleType("planted")
    monkeypatch.setitem(sys.modules, "planted", module)
    exec(text.replace(old, new), module.__dict__)  # noqa: S102 - our own text, with a fault
    monkeypatch.setattr(symmetry, "CanonicalForm", module.CanonicalForm)


def noticed(name: str) -> bool:
    """Whether the canonical states of a model are wrong, or cannot be found."""
    try:
        return complaint(name) is not None
    except (IndexError, ValueError, AssertionError, StopIteration):
        return True


@pytest.mark.usefixtures("unlisted")
@pytest.mark.parametrize("sentence", FAULTS)
def test_a_planted_fault_is_noticed(sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a planted fault, the canonical states of some model are wrong."""
    planted(monkeypatch, *FAULTS[sentence])
    assert any(noticed(name) for name in SCOPES) or torn_apart()


@pytest.mark.parametrize("sentence", SLOW)
def test_a_fault_that_only_costs_time_is_noticed(sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without refinement the chain needs more leaves."""
    planted(monkeypatch, *SLOW[sentence])
    with pytest.raises(AssertionError):
        test_refinement_tells_apart_what_a_chain_tells_apart()
