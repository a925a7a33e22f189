"""The error codes of the controller (streams.md 16)."""

from __future__ import annotations

from enum import Enum


class E(Enum):
    """The error codes of refused requests. Success (NONE) has no code here: the action takes its step."""

    STREAM_NOT_EXIST = 502
    STREAM_FENCED = 503
    STREAM_NOT_OPENED = 505
    STREAM_NOT_CLOSED = 506
    OFFSET_NOT_MATCHED = 509
    NODE_EPOCH_EXPIRED = 510
    NODE_EPOCH_NOT_EXIST = 511
    NODE_FENCED = 514
    STREAM_INNER_ERROR = 599
