"""The errors of controllers and brokers, by the names and codes of AutoMQ and Kafka.

Sources: streams.md 16, reassignment.md 11.
"""

from __future__ import annotations

from enum import Enum


class E(Enum):
    """An error; its value is the code on the wire. One below -100 has no code there."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    UNKNOWN_TOPIC_OR_PARTITION = 3
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    CLUSTER_AUTHORIZATION_FAILED = 31
    UNSUPPORTED_VERSION = 35
    TOPIC_ALREADY_EXISTS = 36
    INVALID_REPLICA_ASSIGNMENT = 39
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    INVALID_PRODUCER_EPOCH = 47
    OPERATION_NOT_ATTEMPTED = 55
    REASSIGNMENT_IN_PROGRESS = 60
    FENCED_LEADER_EPOCH = 74
    PREFERRED_LEADER_NOT_AVAILABLE = 80
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83
    ELECTION_NOT_NEEDED = 84
    NO_REASSIGNMENT_IN_PROGRESS = 85
    INVALID_UPDATE_VERSION = 95
    UNKNOWN_TOPIC_ID = 100
    INELIGIBLE_REPLICA = 107
    NEW_LEADER_ELECTED = 108
    STREAM_EXIST = 501
    STREAM_NOT_EXIST = 502
    STREAM_FENCED = 503
    OBJECT_NOT_EXIST = 504
    STREAM_NOT_OPENED = 505
    STREAM_NOT_CLOSED = 506
    REDUNDANT_OPERATION = 507
    COMPACTED_OBJECTS_NOT_FOUND = 508
    OFFSET_NOT_MATCHED = 509
    NODE_EPOCH_EXPIRED = 510
    NODE_EPOCH_NOT_EXIST = 511
    NODE_FENCED = 514
    NODE_LOCKED = 515
    OBJECT_NOT_COMMITED = 516
    STREAM_INNER_ERROR = 599
    # AutoMQ has no code for these two refusals, and answers with the name of the exception.
    UnregisterNodeWithOpenStreamsException = -101
    NodeLockedException = -102
    # Errors that a broker answers to its clients.
    STREAM_ALREADY_CLOSED = -103
    OFFSET_OUT_OF_RANGE_BOUNDS = -104
