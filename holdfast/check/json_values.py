"""JSON values of results and files: one converter of cattrs writes and reads them.

A value of an attrs class is an object with a key for each attribute, in their order; a tuple is a list. Marks in the
type of an attribute change that: ``Annotated[T, override(rename=...)]`` gives its key another name, and the constants
below are further marks. Reading is strict: it refuses a missing key and an unknown one, and converts no value.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar, get_args, get_origin

import attrs
from cattrs import BaseValidationError, Converter, ForbiddenExtraKeysError, override
from cattrs.cols import homogenous_tuple_structure_factory
from cattrs.errors import AttributeValidationNote, IterableValidationNote
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn

from holdfast.ir.errors import Place

T = TypeVar("T")
Hook = Callable[[Any, Any], Any]

OMITTED = override(omit=True)
"""The mark of an attribute that has no key."""

OPTIONAL = override(omit_if_default=True)
"""The mark of an attribute whose key is left out if it has its default value."""

DEFAULTED = override(omit_if_default=False)
"""The mark of an attribute whose key is always written, and may be missing. Other keys must not be missing."""


def written_by(write: Callable[[Any], Any], key: str | None = None) -> Any:
    """The mark of an attribute that a function writes; ``key`` is its key, if that is not its name."""
    return override(rename=key, unstruct_hook=lambda value: None if value is None else write(value))


PAIRS = written_by(dict)
"""The mark of a tuple of pairs that is written as an object."""

MERGED = "merged"
"""The mark of an attribute whose object is merged into that of its class."""


@attrs.frozen
class NextProperty:
    """The mark of an attribute after which a property of the class is written. Such a class is not read."""

    name: str


MAY_LACK = {MERGED, OMITTED, OPTIONAL, DEFAULTED}
"""The marks of attributes whose key may be missing."""

DIGEST = "digest"
"""The key under which an object on file has the digest of its other keys."""

ALTERED = "its digest does not fit its content, so it was altered or damaged"

SHOWN = 60
"""The most characters of a wrong value that an error shows."""

converter = Converter(unstruct_collection_overrides={tuple: list})
converter.register_unstructure_hook(Place, str)


def as_json(value: Any) -> Any:
    """The JSON values of a value: dicts, lists, texts, numbers."""
    return converter.unstructure(value)


def as_object(value: Any, cls: type | None = None) -> dict[str, Any]:
    """The JSON object of a value of an attrs class; ``cls``: only with the keys of this base class."""
    found: dict[str, Any] = converter.unstructure(value, cls)
    return found


def read_json(kind: type[T], text: str) -> T:
    """The value in a JSON text. Raises ValueError for any other text; it names the key and the value at fault."""
    try:
        return from_json(kind, json.loads(text))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def from_json(kind: type[T], value: Any) -> T:
    """The value that JSON values stand for. Raises ValueError for other JSON values, as ``read_json``."""
    try:
        return converter.structure(value, kind)
    except BaseValidationError as error:
        raise ValueError(_fault(error)) from None


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON object with a digest of its content as the last key."""
    return {**content, DIGEST: _digest(content)}


def unsealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON object without its digest. Raises ValueError if the digest is missing, or does not fit the content.

    The digest tells damage and edits. It is no signature: who writes the file can write the digest, too.
    """
    found = {key: value for key, value in content.items() if key != DIGEST}
    if content.get(DIGEST) != _digest(found):
        raise ValueError(ALTERED)
    return found


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=16).hexdigest()


def _fault(error: BaseException) -> str:
    """The first fault that cattrs found, after the keys that lead to it: ``[3].states: "many" is no whole number``."""
    path = ""
    while isinstance(error, BaseValidationError):
        error = error.exceptions[0]
        for note in getattr(error, "__notes__", ()):
            if isinstance(note, IterableValidationNote):
                path += f"[{note.index}]"
            elif isinstance(note, AttributeValidationNote) and MERGED not in _marks(note.type):
                path += f".{_key(note)}"
    where = f"{path.removeprefix('.')}: " if path else ""
    if isinstance(error, ForbiddenExtraKeysError):
        return f"{where}unknown key {shown(min(error.extra_fields))}"
    return f"{where}{error}"


def shown(value: Any) -> str:
    """A JSON value as text, cut where it is long."""
    text = json.dumps(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def _fields(cls: type) -> Sequence[attrs.Attribute[Any]]:
    """The attributes of the class, with their types."""
    found: Sequence[attrs.Attribute[Any]] = attrs.fields(attrs.resolve_types(cls))
    return found


def _key(attribute: attrs.Attribute[Any] | AttributeValidationNote) -> str:
    """The key of an attribute."""
    return next((mark.rename for mark in _marks(attribute.type) if getattr(mark, "rename", None)), attribute.name)


def _marks(kind: Any) -> tuple[Any, ...]:
    return getattr(kind, "__metadata__", ())


# How values are written and read ----------------------------------------------------------------------------------


@converter.register_unstructure_hook_factory(attrs.has)
def _writer(cls: type) -> Callable[[Any], Any]:
    write: Callable[[Any], dict[str, Any]] = make_dict_unstructure_fn(cls, converter)
    marks = {_key(each): _marks(each.type) for each in _fields(cls)}

    def hook(value: Any) -> dict[str, Any]:
        written = write(value)
        found: dict[str, Any] = {}
        # In the order of the attributes: cattrs writes optional keys last.
        for key, of_key in marks.items():
            if key in written:
                found |= written[key] if MERGED in of_key else {key: written[key]}
            found |= {
                mark.name: as_json(getattr(value, mark.name)) for mark in of_key if isinstance(mark, NextProperty)
            }
        return found

    return hook


@converter.register_structure_hook_factory(attrs.has)
def _object_reader(cls: type) -> Hook:
    read: Hook = make_dict_structure_fn(cls, converter, _cattrs_forbid_extra_keys=True)
    wanted = [_key(each) for each in _fields(cls) if not MAY_LACK & {*_marks(each.type)}]
    merged = {
        each.name: [_key(inner) for inner in _fields(_class_in(get_args(each.type)[0]))]
        for each in _fields(cls)
        if MERGED in _marks(each.type)
    }

    def hook(value: dict[str, Any], _: Any) -> Any:
        if missing := [key for key in wanted if key not in value]:
            raise ValueError(f"the key {shown(missing[0])} is missing")
        nested = dict(value)
        for name, keys in merged.items():
            nested[name] = {key: nested.pop(key) for key in keys if key in nested}
        return read(nested, cls)

    return _only(dict, "object", hook)


def _class_in(kind: Any) -> type:
    """The class in ``C`` or ``C | None``."""
    return next(each for each in (kind, *get_args(kind)) if attrs.has(each))


@converter.register_structure_hook_factory(lambda kind: _origin(kind) is tuple)
def _list_reader(kind: Any) -> Hook:
    return _only(list, "list", homogenous_tuple_structure_factory(kind, converter))


@converter.register_structure_hook_factory(lambda kind: _origin(kind) is Literal)
def _choice_reader(kind: Any) -> Hook:
    def hook(value: Any, _: Any) -> Any:
        if value not in get_args(kind):
            raise ValueError(f"{shown(value)} is none of {', '.join(get_args(kind))}")
        return value

    return hook


def _origin(kind: Any) -> Any:
    return get_origin(kind)


def _only(type_: type, noun: str, read: Hook) -> Hook:
    """The hook that refuses the JSON values of all other types."""

    def hook(value: Any, kind: Any) -> Any:
        if type(value) is not type_:
            raise ValueError(f"{shown(value)} is no {noun}")
        return read(value, kind)

    return hook


for type_, noun in ((str, "text"), (int, "whole number"), (bool, "truth value")):
    converter.register_structure_hook(type_, _only(type_, noun, lambda value, _: value))
