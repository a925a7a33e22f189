"""The records about brokers, topics and partitions in Kafka's own form: written, and read back.

A record names a topic by its id, which here is a hash of the name. One record registers a broker, and later ones change
the registration. Kafka has no field for ``elastic`` of a topic, and for ``originalReplicas`` (CA-27) and ``marker``
(CA-41) of a partition. These are fields of ours, which a record has only if they are set.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from hashlib import blake2b
from typing import Any

import msgspec

from impl.records import BrokerRegistration, MetadataRecord, Partition, PartitionChange, Topic

Data = dict[str, Any]
REGISTER, CHANGE, UNREGISTER = (
    "REGISTER_BROKER_RECORD",
    "BROKER_REGISTRATION_CHANGE_RECORD",
    "UNREGISTER_BROKER_RECORD",
)
TYPES = frozenset({REGISTER, CHANGE, UNREGISTER, Topic.TYPE, Partition.TYPE, PartitionChange.TYPE})
"""The types of Kafka's own records that an image knows."""


def uuid(name: str) -> str:
    """The id of a topic or a process, from its name: 16 bytes in base64, as Kafka prints an id."""
    return urlsafe_b64encode(blake2b(name.encode(), digest_size=16).digest()).decode().rstrip("=")


class _Registration(msgspec.Struct):
    """The registration of a broker in Kafka's records. Only a new registration ends a controlled shutdown."""

    epoch: int
    fenced: bool
    leaving: bool

    @property
    def state(self) -> str:
        if self.fenced:
            return "fenced"
        return "shutting_down" if self.leaving else "active"


class KafkaRecords:
    """Writes or reads the records of one log in order, since the meaning of a record depends on earlier ones."""

    def __init__(self) -> None:
        self._brokers: dict[int, _Registration] = {}
        self._names: dict[str, str] = {}

    # Writing --------------------------------------------------------------------------------------------------

    def write(self, record: MetadataRecord, offset: int) -> tuple[str, int, Data] | None:
        """The type, version and fields of a record at an offset; None for a record that is not one of Kafka's."""
        match record:
            case BrokerRegistration(broker, state):
                return self._write_broker(broker, state, offset)
            case Topic(name, elastic):
                ours = {"elastic": True} if elastic else {}
                return record.TYPE, 0, {"name": name, "topicId": uuid(name), **ours}
            case Partition() | PartitionChange():
                fields = msgspec.to_builtins(record)
                kept = {name: value for name, value in fields.items() if value is not None}
                data = {"partitionId": kept.pop("partition"), "topicId": uuid(kept.pop("topic"))}
                if "original" in kept:
                    kept["originalReplicas"] = kept.pop("original")
                del kept["type"]
                return record.TYPE, 0, data | kept
        return None

    def _write_broker(self, broker: int, state: str, offset: int) -> tuple[str, int, Data]:
        known = self._brokers.get(broker)
        data = {"brokerId": broker, "brokerEpoch": -1 if known is None else known.epoch}
        if state == "gone":
            self._brokers.pop(broker, None)
            return UNREGISTER, 0, data
        fenced, leaving = state == "fenced", state == "shutting_down"
        # No change record can end a controlled shutdown, so an active broker needs a new registration then.
        if known is None or (known.leaving and state == "active"):
            self._brokers[broker] = _Registration(offset, fenced, leaving)
            registration: Data = {"endPoints": [], "features": [], "rack": None}
            flags = {"fenced": fenced, "inControlledShutdown": leaving}
            incarnation = {"incarnationId": uuid(f"{broker}/{offset}"), "brokerEpoch": offset}
            return REGISTER, 1, {"brokerId": broker, **incarnation, **registration, **flags}
        # In a change record 1 sets a flag, -1 clears it, and a missing one leaves it.
        if fenced != known.fenced:
            data["fenced"] = 1 if fenced else -1
        if leaving and not known.leaving:
            data["inControlledShutdown"] = 1
        known.fenced, known.leaving = fenced, known.leaving or leaving
        return CHANGE, 1, data

    # Reading --------------------------------------------------------------------------------------------------

    def read(self, kind: str, data: Data) -> MetadataRecord | None:
        """The record of one of ``TYPES``; None if no earlier record has named its topic or broker.

        Raises ValueError, KeyError or msgspec.ValidationError for wrong fields.
        """
        if kind == Topic.TYPE:
            self._names[data["topicId"]] = data["name"]
            return msgspec.convert({"name": data["name"], "elastic": data.get("elastic", False)}, Topic)
        if kind in (Partition.TYPE, PartitionChange.TYPE):
            if data["topicId"] not in self._names:
                return None
            fields = {**data, "topic": self._names[data["topicId"]], "partition": data["partitionId"]}
            if "originalReplicas" in data:
                fields["original"] = data["originalReplicas"]
            return msgspec.convert(fields, Partition if kind == Partition.TYPE else PartitionChange)
        return self._read_broker(kind, data)

    def _read_broker(self, kind: str, data: Data) -> MetadataRecord | None:
        broker = data["brokerId"]
        if kind == UNREGISTER:
            self._brokers.pop(broker, None)
            return msgspec.convert({"brokerId": broker, "state": "gone"}, BrokerRegistration)
        if kind == REGISTER:
            leaving = data.get("inControlledShutdown", False)
            self._brokers[broker] = _Registration(data["brokerEpoch"], data["fenced"], leaving)
        elif broker in self._brokers:
            known = self._brokers[broker]
            known.fenced = {1: True, 0: known.fenced, -1: False}[data.get("fenced", 0)]
            known.leaving = known.leaving or data.get("inControlledShutdown", 0) == 1
        else:
            return None
        return msgspec.convert({"brokerId": broker, "state": self._brokers[broker].state}, BrokerRegistration)
