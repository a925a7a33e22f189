"""The WAL: its listings against a reader in plain Python, its findings step by step, and the guards of INV-02."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.check.search.engine import search
from holdfast.ir.compile import compile_model
from holdfast.ir.marks import ScopeMark
from holdfast.ir.removal import remove_rules
from holdfast.lang import Scope, universe
from models.parts.wal_objects import Incarnation, Slot
from models.wal import Wal

MIB = 64
"""How long an aligned object is (WL-02)."""
LISTER = 3
SLOTS = 4
WIDE = Scope({Incarnation: LISTER, Slot: SLOTS})
"""Three incarnations may have sent objects. A fourth one lists them."""

READERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "as it should be": ((), ()),
    "first object only": (("first_object_only",), ()),
    "same slot only": (("same_slot_only",), ()),
    "no skipping": ((), ("WL-07",)),
    "no overlap": ((), ("WL-08",)),
}
"""The readers to compare, each with the variants and removed rules that make the model equal to it."""


@attrs.frozen
class WalObject:
    """An object in storage: its sender's epoch, where it starts and ends in MiB, the p of its header, and its ack.

    Its one record is as long as the object, so that its offset is the start.
    """

    epoch: int
    start: int
    trimmed_to: int
    acked: bool

    @property
    def end(self) -> int:
        """Its end, which is the next aligned offset."""
        return self.start + MIB


def overlapped(objects: list[WalObject], reader: str) -> list[WalObject]:
    """The objects that this reader removes by WL-08."""
    if reader == "no overlap":
        return []
    removed = []
    for old in objects[:1] if reader == "first object only" else objects:
        newer = [new for new in objects if new.epoch > old.epoch]
        if reader == "same slot only":
            newer = [new for new in newer if new.start < old.end and old.start < new.end]
        if any(new.start < old.end for new in newer):
            removed.append(old)
    return removed


def lost(stored: Iterable[WalObject], reader: str) -> list[WalObject]:
    """The acked objects that this reader does not replay: WL-03, WL-07 and WL-08, written directly."""
    objects = sorted(stored, key=lambda each: (each.epoch, each.start))
    p = objects[-1].trimmed_to if objects else -1
    gone = overlapped(objects, reader)
    kept: list[WalObject] = []
    for each in objects:
        if each in gone or (each.end <= p and reader != "no skipping"):
            continue
        if kept and each.start != kept[-1].end:
            break
        kept.append(each)
    return [each for each in objects if each.acked and (each not in kept or each.start <= p)]


def list_objects(state: Wal, p: Incarnation, scope: ScopeMark) -> Wal:
    """The state after p has listed all objects, up to the last object of the newest epoch."""
    with universe(scope.sizes):
        newest = max(((q, k) for q in Incarnation for k in Slot if state.stored[q, k]), default=None)
        end, t = (Slot(0), Slot(0)) if newest is None else (newest[1] + 1, state.trim[newest] or Slot(0))
    return state.take("list_objects", p=p, end=end, t=t)


def listing(objects: Iterable[WalObject], reader: str) -> Wal:
    """The model's state after the last incarnation has listed these objects."""
    variants, removed = READERS[reader]
    state = Wal.at(WIDE, variants=variants, removed=removed).start().take("reserve", p=Incarnation(LISTER))
    with universe({Incarnation: LISTER, Slot: SLOTS}):
        for each in objects:
            p, k = Incarnation(each.epoch), Slot(each.start // MIB)
            state.stored[p, k] = True
            state.trim[p, k] = Slot((each.trimmed_to + 1) // MIB)
            state.acked[p, k] = each.acked
    return list_objects(state, Incarnation(LISTER), WIDE)


def misses(objects: Iterable[WalObject], reader: str) -> bool:
    """Whether the model says that this reader loses an acked object."""
    return not listing(objects, reader).holds("listings_are_complete")


PLACES = st.tuples(st.integers(0, LISTER - 1), st.integers(0, SLOTS - 1))
CONTENTS = st.tuples(st.integers(0, SLOTS), st.booleans())


@pytest.mark.parametrize("reader", READERS)
@given(contents=st.dictionaries(PLACES, CONTENTS, max_size=6))
def test_a_listing_loses_what_a_reader_loses(reader: str, contents: Mapping[tuple[int, int], tuple[int, bool]]) -> None:
    """The model finds a loss in a listing exactly where a reader that walks through the list finds one."""
    objects = [WalObject(epoch, slot * MIB, trim * MIB - 1, acked) for (epoch, slot), (trim, acked) in contents.items()]
    assert misses(objects, reader) == bool(lost(objects, reader))


CUT_SHORT = {
    "first object only": [
        WalObject(0, 64, -1, False),
        WalObject(0, 128, -1, False),
        WalObject(1, 64, 63, False),
        WalObject(1, 128, 127, True),
        WalObject(1, 192, 127, True),
    ],
    "same slot only": [WalObject(0, 64, -1, False), WalObject(1, 0, -1, True)],
    "no skipping": [WalObject(0, 0, -1, False), WalObject(0, 128, 127, True)],
    "no overlap": [WalObject(0, 0, -1, False), WalObject(1, 0, -1, True)],
}
"""Objects of which each faulty reader loses an acked one. The first row is the example of AM-03, with trim 127."""


@pytest.mark.parametrize("reader", CUT_SHORT)
def test_a_faulty_reader_cuts_the_list_short(reader: str) -> None:
    """AM-03, WL-07, WL-08. The faulty reader loses an acked object that the correct reader replays."""
    objects = CUT_SHORT[reader]
    assert misses(objects, reader)
    assert lost(objects, reader)
    assert not misses(objects, "as it should be")


def test_the_newest_object_says_where_the_list_ends() -> None:
    """WL-03. The lister continues after the last object of the newest epoch, not after the highest end."""
    state = listing([WalObject(0, 128, -1, False), WalObject(1, 0, -1, True)], "as it should be")
    assert state.next_slot[Incarnation(LISTER)] == Slot(1)


OLD, NEXT, LAST = Incarnation(0), Incarnation(1), Incarnation(2)


def written(state: Wal, p: Incarnation, k: int, t: int) -> Wal:
    """The state after p has sent an object for the slot, with this trim, and acked it."""
    return state.take("put", p=p, t=Slot(t)).take("land", p=p, k=Slot(k)).take("ack", p=p, k=Slot(k))


def listed(state: Wal, p: Incarnation) -> Wal:
    """The state after p has reserved and listed."""
    return list_objects(state.take("reserve", p=p), p, Wal.tiny)


def test_a_listing_names_the_end_and_trim_that_it_finds() -> None:
    """WL-03. Of all ends and trims that an incarnation might take, exactly one fits the list."""
    state = written(Wal.at("tiny").start(), OLD, k=0, t=0).take("put", p=OLD, t=Slot(1)).take("land", p=OLD, k=Slot(1))
    state = state.take("reserve", p=LAST)
    believed = [(end, t) for end in range(4) for t in range(4)]
    refusals = {each: state.refusal("list_objects", p=LAST, end=Slot(each[0]), t=Slot(each[1])) for each in believed}
    assert [each for each, refusal in refusals.items() if refusal is None] == [(2, 1)]
    assert {refusal for refusal in refusals.values() if refusal is not None} == {("WL-03.last", None)}


@pytest.mark.parametrize("variants", [(), ("first_object_only",)])
def test_one_late_put_is_enough(variants: tuple[str, ...]) -> None:
    """AM-03. Where a trimmed object is listed first, a single PUT that lands after the new listing cuts it short."""
    state = written(Wal.at("tiny", variants=variants).start(), OLD, k=0, t=0).take("put", p=OLD, t=Slot(0))
    state = written(listed(state, NEXT).take("replay", p=NEXT), NEXT, k=1, t=1)
    state = listed(state.take("land", p=OLD, k=Slot(1)), LAST)
    assert state.holds("listings_are_complete") == (not variants)


@pytest.mark.parametrize("variants", [(), ("trims_records",)])
@pytest.mark.parametrize("late", [True, False])
def test_a_late_put_in_a_trimmed_slot(variants: tuple[str, ...], *, late: bool) -> None:
    """WL-06. The next process has trimmed and deleted its own object in the slot of the late one.

    Nothing is lost if the object came in time: then it was listed, and the reset has trimmed its whole slot (RC-05).
    """
    state = Wal.at("tiny", variants=variants).start().take("put", p=OLD, t=Slot(0))
    if not late:
        state = state.take("land", p=OLD, k=Slot(0))
    state = listed(state, NEXT).take("replay", p=NEXT)
    if late:
        state = written(written(state, NEXT, k=0, t=0), NEXT, k=1, t=1)
        state = state.take("delete", p=NEXT, j=Slot(1), q=NEXT, k=Slot(0)).take("land", p=OLD, k=Slot(0))
    else:
        state = written(state, NEXT, k=1, t=1)
    assert listed(state, LAST).holds("listings_are_complete") == (not variants or not late)


def test_what_is_acked_between_listing_and_replay() -> None:
    """FO-06 as built: an older process reserves after the listing and acks; the newer one does not replay that."""
    before = Wal.at("tiny", variants=("verified_early",)).start()
    before = listed(listed(before, LAST), NEXT).take("replay", p=NEXT)
    before = written(before, NEXT, k=0, t=0)
    after = before.take("replay", p=LAST)
    assert not after.holds("nothing_acked_behind", old=before, p=LAST)


def test_the_reservation_verified_again_refuses_that() -> None:
    """FO-06.verify. Without the variant the newer process notices that it has lost the reservation."""
    state = listed(listed(Wal.at("tiny").start(), LAST), NEXT)
    assert state.refusal("replay", p=LAST) == ("FO-06.verify", None)


@pytest.mark.parametrize("label", ["FO-06.reserve_first", "WL-05.verify", "WL-05.in_order", "WL-05.stored", "WL-08"])
def test_acked_records_are_lost_without(label: str) -> None:
    """INV-02. G-35, 36, 37 and 55 protect the records themselves; INV-01 and INV-16 speak of the acks."""
    system = remove_rules(compile_model(Wal), (label,))
    assert search(system, system.scopes["tiny"], properties=("INV-02",), engine="interpreter").verdict == "violated"
