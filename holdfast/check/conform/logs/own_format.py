"""Holdfast's own log format: one event a line, after an optional header. ``log.schema.json`` describes it.

A line is an object with ``source``, ``seq``, ``t`` and ``action``, and optionally ``cause``, ``error``, ``span``,
``pre`` and ``post``; an optional key may also be null. Every other key is an argument of the action, by the name of its
parameter. If an argument has the name of such a key, for example ``t``, it stands in the object ``args``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import attrs

from holdfast.check.conform.logs.damage import damaged, nearest, shown
from holdfast.check.conform.logs.events import STATE, Json, LogEvent
from holdfast.check.conform.logs.fields import (
    LARGEST,
    event_cause,
    event_number,
    interval,
    missing,
    offsets,
    source_name,
)
from holdfast.check.conform.logs.strict_json import Raw
from holdfast.ir.errors import Place

SCHEMA = Path(__file__).with_name("log.schema.json")
"""The JSON schema of a line, for editors and for authors of log writers."""

HEADER = "holdfast"
VERSION = 1
HEADER_KEYS = ("holdfast", "version", "model", "variants", "literals")
KEYS = frozenset(("source", "seq", "t", "cause", "action", "error", "span", "pre", "post", "args"))
"""The keys of a line that are not arguments."""

_LITERAL = re.compile(r"0|[1-9][0-9]*")


@attrs.frozen
class Header:
    """The part of a log or of a mapping that describes its model.

    ``literals``: by the name of a Nat, the log's number for each literal of the model. For example, the model has node
    epoch 1 where the log has 1000.
    """

    at: Place
    model: str | None = None
    variants: tuple[str, ...] = ()
    literals: Mapping[str, Mapping[int, int]] = attrs.field(factory=dict)


class OwnFormat:
    """Reads the lines of the own format."""

    def header(self, raw: Raw, at: Place) -> Header | None:
        """The header in a file's first line, None if the line is an event; raises UsageError if the header is wrong."""
        return read_header(raw, at) if HEADER in raw else None

    def position(self, raw: Raw, at: Place) -> None:
        """None: this format ignores no line, so there is no ignored line to count."""

    def event(self, raw: Raw, at: Place) -> LogEvent:
        """The event of a line; raises UsageError if a key is missing or has a wrong value."""
        if HEADER in raw:
            damaged(at, "a header stands behind other lines", "it is the first line of a log")
        get = raw.get
        source, number, time, action = get("source"), get("seq"), get("t"), get("action")
        if source is None or number is None or time is None or action is None:
            name = next(name for name in ("source", "seq", "t", "action") if get(name) is None)
            missing(name, raw.keys() - KEYS, at)
        begin, end = interval(time, at)
        args, error = {key: value for key, value in raw.items() if key not in KEYS}, get("error")
        if not isinstance(action, str) or not action or action == STATE:
            damaged(at, f"action is {shown(action)}", "it is the name of an action of the model")
        if error is not None and (not isinstance(error, str) or not error):
            damaged(at, f"error is {shown(error)}", 'it is the name of the error, "?" if unknown; no error: no key')
        return LogEvent(
            at,
            source_name(source, at),
            event_number(number, at),
            begin,
            end,
            event_cause(get("cause"), at),
            action,
            args | _object("args", raw["args"], at) if "args" in raw else args,
            error,
            offsets(get("span"), at),
            _object("pre", get("pre"), at),
            _object("post", get("post"), at),
        )


def read_header(raw: Raw, at: Place) -> Header:
    """The header of a log; raises UsageError if the header is wrong."""
    for key in raw:
        if key not in HEADER_KEYS:
            damaged(at, f"the header has the unknown key {shown(key)}", nearest(key, HEADER_KEYS))
    if raw[HEADER] != "log":
        damaged(at, f"holdfast is {shown(raw[HEADER])} in the header", 'the header of a log has "holdfast": "log"')
    version = raw.get("version")
    if type(version) is not int or version != VERSION:
        damaged(at, f"version is {shown(version)} in the header", f"this holdfast reads version {VERSION}")
    model, variants = raw.get("model"), raw.get("variants")
    if model is not None and (not isinstance(model, str) or not model):
        damaged(at, f"model is {shown(model)} in the header", "it is the name or the file of a model")
    if variants is not None and not (isinstance(variants, list) and all(isinstance(each, str) for each in variants)):
        damaged(at, f"variants is {shown(variants)} in the header", "it is a list of names of variants")
    return Header(at, model, tuple(variants or ()), _literals(raw.get("literals"), at))


def _literals(value: Json, at: Place) -> dict[str, dict[int, int]]:
    remedy = 'it has the form {"NodeEpoch": {"1": 1000}}'
    if value is None:
        return {}
    if not isinstance(value, dict):
        damaged(at, f"literals is {shown(value)} in the header", remedy)
    found: dict[str, dict[int, int]] = {}
    for nat, meanings in value.items():
        if not isinstance(meanings, dict):
            damaged(at, f"literals of {shown(nat)} is {shown(meanings)} in the header", remedy)
        for literal, meaning in meanings.items():
            if not _LITERAL.fullmatch(literal) or type(meaning) is not int or not 0 <= meaning <= LARGEST:
                damaged(at, f"literals of {shown(nat)} has {shown({literal: meaning})} in the header", remedy)
        found[nat] = {int(literal): meaning for literal, meaning in meanings.items()}
    return found


def _object(name: str, value: Json, at: Place) -> dict[str, Json]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        what = "arguments, by the names of parameters" if name == "args" else f"cells {name}, by the names of fields"
        damaged(at, f"{name} is {shown(value)}", f"it is an object: {what}")
    return value
