"""``impl.zone``: what zone maps and order hints promise for any brokers and any texts."""

from __future__ import annotations

import ctypes
import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.zone.balance import CONTROLLERS, RingMember, spare_controllers
from impl.zone.map_facts import is_covered, is_mutual, spread
from impl.zone.order import order_hint
from impl.zone.zone_map import ZoneMap, dual_map, single_map

racks = st.dictionaries(st.integers(0, 400), st.sampled_from(["a", "b", "c", "d"]), max_size=24)


@given(racks)
def test_each_main_has_proxies(found: dict[int, str]) -> None:
    """In both modes each broker has one proxy in each other rack, and none in its own."""
    for zones in (single_map(found), dual_map(found)):
        assert is_covered(zones)
        assert all(found[proxy] == rack for rack, proxies in zones.proxies.items() for proxy in proxies.values())
        assert all(found[main] != rack for rack, proxies in zones.proxies.items() for main in proxies)


@given(racks)
def test_proxies_in_a_largest_rack_are_mutual(found: dict[int, str]) -> None:
    """Each slot has one broker of a rack at most, and one of each largest rack: with these, proxies are mutual."""
    zones = dual_map(found)
    sizes = Counter(found.values())
    for main, rack in found.items():
        for other in [each for each in sizes if each != rack and sizes[each] == max(sizes.values())]:
            proxy = zones.proxy(main, other)
            assert proxy is not None
            assert zones.proxy(proxy, rack) == main
    assert sorted(broker for slot in zones.slots.values() for broker in slot) == sorted(found)
    for slot in zones.slots.values():
        assert len({found[broker] for broker in slot}) == len(slot)


def test_other_proxies_may_not_be_mutual() -> None:
    """ZR-07 names more than holds: where neither rack is a largest one, two brokers may lie in different slots."""
    brokers = {0: "b", 1: "b", 5: "b", 3: "a", 4: "a", 2: "c", 127: "c"}
    assert not is_mutual(dual_map(brokers))


@pytest.mark.parametrize("sizes", [(3, 3, 3), (10, 9, 10), (4, 5, 6)])
def test_dual_maps_are_even(sizes: tuple[int, ...]) -> None:
    """The load of the proxies of a rack differs by one at most, and they are mutual (ZR-07 names these sizes)."""
    names = [rack for rack, size in zip("abc", sizes, strict=True) for _ in range(size)]
    zones = dual_map(dict(enumerate(names)))
    assert spread(zones) <= 1
    assert is_mutual(zones)


@given(racks)
def test_the_order_of_the_brokers_is_not_seen(found: dict[int, str]) -> None:
    """Brokers that learn of each other in another order compute the same map."""
    backwards = dict(reversed(found.items()))
    assert single_map(found).proxies == single_map(backwards).proxies
    assert dual_map(found).proxies == dual_map(backwards).proxies


def test_the_facts_notice_a_bad_map() -> None:
    """A map that lacks a proxy, that is uneven, or whose proxies are not mutual."""
    brokers = {1: "a", 2: "a", 3: "b", 4: "b"}
    assert not is_covered(ZoneMap(brokers, {"a": {3: 1, 4: 1}, "b": {1: 3}}))
    assert spread(ZoneMap(brokers, {"a": {3: 1, 4: 2}, "b": {1: 3, 2: 3, 9: 4}})) == 1
    assert not is_mutual(ZoneMap(brokers, {"a": {3: 1, 4: 2}, "b": {1: 4, 2: 3}}))
    assert is_mutual(ZoneMap(brokers, {"a": {3: 1, 4: 2}, "b": {1: 3, 2: 4}}))


members = st.lists(st.lists(st.integers(0, 200), max_size=4), max_size=5)


@given(members, st.integers(0, 4), st.lists(st.integers(-3, 200), min_size=5, max_size=5, unique=True))
def test_controllers_are_spared(lists: list[list[int]], average: int, ids: list[int]) -> None:
    """No main is lost. A controller keeps a main only if no other has room, or a controller's main to swap."""
    found = [RingMember(number, list(mains)) for number, mains in zip(ids, lists, strict=False)]
    spare_controllers(found, average)
    assert sorted(main for each in found for main in each.mains) == sorted(main for mains in lists for main in mains)
    others = [each for each in found if each.id not in CONTROLLERS]
    if any(each.id in CONTROLLERS and set(each.mains) - set(CONTROLLERS) for each in found):
        assert all(len(each.mains) >= average and not set(each.mains) & set(CONTROLLERS) for each in others)


def java_hash(text: str) -> int:
    """The hash of a Java string, by its definition: a sum over UTF-16 units, in 32 bits."""
    units = text.encode("utf-16-be", "surrogatepass")
    values = [256 * units[at] + units[at + 1] for at in range(0, len(units), 2)]
    return ctypes.c_int32(sum(unit * 31 ** (len(values) - 1 - at) for at, unit in enumerate(values))).value


@given(st.text(max_size=40), st.integers(0, 2**31 - 1), st.none() | st.text(max_size=40))
def test_order_hints_are_those_of_java(topic: str, partition: int, connection: str | None) -> None:
    """ZR-15, computed as a polynomial, and its remainder by the rule of C, which is that of Java."""
    last = 0 if connection is None else java_hash(connection)
    whole = ctypes.c_int32(31**3 + 31**2 * java_hash(topic) + 31 * partition + last).value
    assert order_hint(topic, partition, connection) == math.fmod(whole, 32_767)
    short = ctypes.c_int32(31**2 + 31 * java_hash(topic) + partition).value
    assert order_hint(topic, partition, connection, direct=True) == math.fmod(short, 32_767)
