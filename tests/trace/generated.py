"""Random ITF files: every encoding, nested, in the shapes that other tools write."""

from __future__ import annotations

import json
from random import Random
from typing import Any

DEPTH = 3


def itf_file(chance: Random) -> dict[str, Any]:
    """A file with one to four states and variables. A variable has values of one shape, or of any."""
    names = [f"v{number}" for number in range(chance.randint(1, 4))]
    params = ["p0"] if chance.random() < 0.3 else []
    shapes = {
        name: chance.choice([*SHAPES, _unserializable]) if chance.random() < 0.7 else _any for name in (*names, *params)
    }
    states = []
    for index in range(chance.randint(1, 4)):
        given = [*params, *names] if index == 0 else names
        meta = {"#meta": {"index": index}} if chance.random() < 0.8 else {}
        states.append(meta | {name: shapes[name](chance, DEPTH) for name in given})
    file: dict[str, Any] = {"#meta": {"format": "ITF", "timestamp": chance.randrange(10**12)}} if states else {}
    file |= {"params": params} if params else {}
    file |= {"vars": names, "states": states}
    return file | ({"loop": chance.randrange(len(states))} if chance.random() < 0.3 else {})


def canonical(value: Any) -> Any:
    """The value in a canonical encoding: sets and maps sorted, and integers in one form."""
    if isinstance(value, dict):
        if "#set" in value:
            members = {json.dumps(item, sort_keys=True): item for item in map(canonical, value["#set"])}
            return {"#set": [members[text] for text in sorted(members)]}
        if "#map" in value:
            return {"#map": sorted(map(canonical, value["#map"]), key=lambda pair: json.dumps(pair, sort_keys=True))}
        return {name: canonical(item) for name, item in value.items()}
    if isinstance(value, list):
        return [canonical(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return {"#bigint": str(value)}
    return value


def _scalar(chance: Random, _depth: int) -> Any:
    match chance.randrange(6):
        case 0:
            return chance.random() < 0.5
        case 1:
            return {"#bigint": str(_small(chance))}
        case 2:
            return {"#bigint": str(chance.randint(-(10**40), 10**40))}
        case 3:
            return _small(chance)
        case 4:
            return chance.choice(["n1_OF_NODE", "n2_OF_NODE", "s10_OF_LOG_STREAM"])
        case _:
            return chance.choice(["", "idle", "two words", "é\u2028\t", "None", "_OF_", "n_OF_", '"', "TRUE"])


def _small(chance: Random) -> int:
    """Neither 0 nor 1, which itf-py confuses with False and True among members and keys."""
    return chance.choice([-3, -2, -1, 2, 3])


def _sequence(chance: Random, depth: int) -> Any:
    return [_any(chance, depth - 1) for _ in range(chance.randrange(4))]


def _tuple(chance: Random, depth: int) -> Any:
    return {"#tup": _sequence(chance, depth)}


def _set(chance: Random, depth: int) -> Any:
    return {"#set": _distinct(_sequence(chance, depth))}


def _map(chance: Random, depth: int) -> Any:
    return {"#map": [[key, _any(chance, depth - 1)] for key in _distinct(_sequence(chance, depth))]}


def _function(chance: Random, depth: int) -> Any:
    """A map of plain keys, or tuples of them, to values of one shape, as protocols have."""
    shape = chance.choice(SHAPES)
    keys = ["n1_OF_NODE", "n2_OF_NODE", "n10_OF_NODE"][: chance.randint(1, 3)]
    pairs = chance.random() < 0.4
    return {
        "#map": [
            [{"#tup": [key, {"#bigint": "1"}]} if pairs else key, shape(chance, min(depth - 1, 1))] for key in keys
        ]
    }


def _record(chance: Random, depth: int) -> Any:
    names = ["head", "tag", "blocks", "at"][: chance.randint(1, 4)]
    return {name: _any(chance, depth - 1) for name in names}


def _variant(chance: Random, depth: int) -> Any:
    # Only values that itf-py can read as well: it takes every object for a record, and its marks for fields.
    of = _record(chance, depth) if chance.random() < 0.3 else chance.choice([True, "n1_OF_NODE", "idle"])
    return {"tag": chance.choice(["Some", "Idle", "Sent"]), "value": of}


def _unserializable(_chance: Random, _depth: int) -> Any:
    return {"#unserializable": "Int"}


def _any(chance: Random, depth: int) -> Any:
    return chance.choice(SHAPES if depth > 0 else [_scalar])(chance, depth)


SHAPES = [_scalar, _scalar, _sequence, _tuple, _set, _map, _function, _function, _record, _variant]


def _distinct(items: list[Any]) -> list[Any]:
    """The items without repetitions, compared without regard to their encoding."""
    return list({json.dumps(canonical(item), sort_keys=True): item for item in items}.values())
