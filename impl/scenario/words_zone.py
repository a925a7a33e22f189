"""The operations of the zone layer on routing: their arguments, and the keys of their results."""

from __future__ import annotations

from impl.scenario.operation import BOOL, BROKERS, COUNT, INT, TEXT, ScenarioOperation, struct
from impl.scenario.types import ByNumber, Integer, ListOf, MapOf, Nullable, OneOf, Type, UnorderedList, may, need
from impl.zone.produce import WRITE_MODES

BROKER_OR_NULL = Nullable(INT)
ZONE = need(Nullable(TEXT))
RACKS = need(ByNumber(Nullable(TEXT)))
PAIR = ListOf(BROKER_OR_NULL)
MAY = may(Nullable(TEXT))
PARTITIONS = UnorderedList(TEXT)
POSITIVE = Integer(low=1)


def by_rack(each: Type) -> MapOf:
    """By rack, by main; whole, inside too."""
    return MapOf(ByNumber(each, whole=True), whole=True)


ROUTING_OPERATIONS = (
    ScenarioOperation(
        "zone_map",
        "The proxies that all brokers compute (ZR-01 to ZR-07). `covered`: each broker has a proxy in each other rack. "
        "`spread`: the largest difference, in one rack, of the mains of two brokers that have any. `mutual`: ZR-07 "
        "holds. `forced` and `collateral`: the proxies, old and new, that changed since the map before, because the "
        "old one left, and though it stayed.",
        {"brokers": RACKS, "mode": need(OneOf(("single", "dual"), "mode"))},
        {
            "mains": by_rack(INT),
            "slots": ByNumber(BROKERS, whole=True),
            "covered": BOOL,
            "spread": COUNT,
            "mutual": BOOL,
            "forced": by_rack(PAIR),
            "collateral": by_rack(PAIR),
        },
    ),
    ScenarioOperation(
        "set_zone_map",
        "A given map; later operations use the latest map.",
        {"brokers": RACKS, "mains": need(MapOf(ByNumber(INT)))},
        {},
    ),
    ScenarioOperation("ring_hash", "The place of a key on the ring (ZR-03).", {"key": need(TEXT)}, {"hash": COUNT}),
    ScenarioOperation(
        "spare_controllers",
        "Mains that are no controllers move from controllers to others (ZR-06).",
        {"members": need(ByNumber(ListOf(INT))), "average": need(COUNT)},
        {"members": ByNumber(BROKERS, whole=True)},
    ),
    ScenarioOperation(
        "client_zone",
        "The zone of a client (ZR-09), and the block of its address that says so. `blocks`: the text of the setting "
        "`automq.zone.cidr.blocks`.",
        {"blocks": need(TEXT), "address": MAY, "client_id": MAY, "consumer_rack": MAY},
        {"zone": Nullable(TEXT), "block": Nullable(TEXT)},
    ),
    ScenarioOperation(
        "route",
        "Where a broker takes a batch of a client (ZR-11).",
        {"broker": need(INT), "leader": need(BROKER_OR_NULL), "client_zone": ZONE},
        {"to": BROKER_OR_NULL, "error": TEXT},
    ),
    ScenarioOperation(
        "leader_hint",
        "The leader that NOT_LEADER_OR_FOLLOWER names to a client (ZR-10).",
        {"leader": need(INT), "client_zone": ZONE},
        {"leader": BROKER_OR_NULL},
    ),
    ScenarioOperation(
        "metadata",
        "What the metadata tells a client of a partition (ZR-10).",
        {
            "leader": need(INT),
            "replicas": need(ListOf(INT)),
            "isr": need(ListOf(INT)),
            "leader_epoch": may(INT, 0),
            "client_zone": ZONE,
        },
        {"leader": INT, "replicas": ListOf(INT), "isr": ListOf(INT), "leader_epoch": INT},
    ),
    ScenarioOperation(
        "write_mode",
        "The mode of local writes that a setting names: the default without a value, null for a refused one.",
        {"value": MAY},
        {"mode": Nullable(TEXT)},
    ),
    ScenarioOperation(
        "produce",
        "What a broker decides on the partitions of a request: those it appends to its own channel, those it appends "
        "locally with a channel offset, those for which the answer waits, and what is answered at once. "
        "`append_error`: what local appends fail with.",
        {
            "broker": need(INT),
            "client_zone": ZONE,
            "leaders": need(MapOf(BROKER_OR_NULL)),
            "mode": may(OneOf(WRITE_MODES, "mode"), WRITE_MODES[0]),
            "acks": may(INT, -1),
            "append_error": MAY,
        },
        {"channel": PARTITIONS, "linked": PARTITIONS, "waits": PARTITIONS, "answers": MapOf(TEXT, whole=True)},
    ),
    ScenarioOperation(
        "order_hint",
        "The number that orders the batches of a connection for a partition (ZR-15). `direct`: without the connection.",
        {"topic": need(TEXT), "partition": need(COUNT), "connection": MAY, "direct": may(BOOL, False)},
        {"hint": INT},
    ),
    ScenarioOperation(
        "stripe",
        "The stripe of an order hint.",
        {"hint": need(Integer(low=-(2**15), high=2**15 - 1)), "stripes": need(POSITIVE)},
        {"index": COUNT},
    ),
    ScenarioOperation(
        "stripe_read",
        "A batch comes into a stripe, and the read of its record starts.",
        {"item": need(TEXT), "stripe": need(COUNT)},
        {},
    ),
    ScenarioOperation(
        "stripe_done",
        "The read ends. `released`: the batches that the stripe hands over now. `handover_fails`: the append loop does "
        "not take them.",
        {"item": need(TEXT), "failed": may(BOOL, False), "handover_fails": may(BOOL, False)},
        {"released": ListOf(struct(item=TEXT, failed=BOOL))},
    ),
    ScenarioOperation(
        "forward_requests",
        "The requests into which a proxy cuts what one main gets (ZR-23). `epochs`: of the items, in order.",
        {"epochs": need(ListOf(INT))},
        {"requests": ListOf(struct(epoch=INT, items=COUNT))},
    ),
    ScenarioOperation(
        "forward_answers",
        "What producers are told of the answer to a request (ZR-27). `lost`: there is no answer.",
        {
            "items": need(COUNT),
            "error": may(TEXT, "NONE"),
            "answers": may(ListOf(TEXT), []),
            "lost": may(BOOL, False),
        },
        {"answers": ListOf(TEXT)},
    ),
)
