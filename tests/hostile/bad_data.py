"""Bad data: JSON, text and bytes in which something was changed."""

from __future__ import annotations

import json
import random
from typing import Any

VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(2**63), 10**30, 0.5, 1e300, "", "a", "n1", "\x1b[31m", "\u202e",
    "\0", "é" * 40, "a" * 3000, [], {}, [[]], {"a": 1}, {"#bigint": "7"}, {"#bigint": "9" * 5000}, {"#bigint": "x"},
    {"#map": [[1, 2], [1, 3]]}, {"#set": [1, 1]}, {"#tup": None}, {"#unserializable": 7},
    {"tag": "Some", "value": None},
)  # fmt: skip
"""Values that stand in the place of another one."""

TEXTS = (
    "",
    "\x00",
    "\x1b[2J",
    "\r\n::error::x",
    "9" * 5000,
    "1e400",
    "NaN",
    "-",
    "{",
    "[",
    '"',
    "(",
    ")",
    "'",
    "\\",
    "%00",
)


def bad_json(text: str, chance: random.Random) -> bytes:
    """JSON, or lines of JSON, with one to three values replaced, removed, doubled or nested."""
    lines = text.splitlines() if text.count("\n") > 1 and _is_json(text.splitlines()[0]) else [text]
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(lines))
        try:
            lines[at] = json.dumps(_changed(json.loads(lines[at]), chance), ensure_ascii=chance.random() < 0.5)
        except ValueError:
            lines[at] = bad_text(lines[at], chance)
    return "\n".join(lines).encode(errors="replace") + b"\n"


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _changed(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict) and value and chance.random() < 0.85:
        name = chance.choice(list(value))
        match chance.randrange(6):
            case 0:
                return {key: of for key, of in value.items() if key != name}
            case 1:
                return value | {chance.choice(TEXTS): value[name]}
            case _:
                return value | {name: _changed(value[name], chance)}
    if isinstance(value, list) and value and chance.random() < 0.85:
        at = chance.randrange(len(value))
        match chance.randrange(6):
            case 0:
                return value[:at] + value[at + 1 :]
            case 1:
                return [*value, value[at]]
            case _:
                return [*value[:at], _changed(value[at], chance), *value[at + 1 :]]
    if chance.random() < 0.1:
        for _ in range(chance.choice((40, 400))):
            value = [value]
        return value
    return chance.choice(VALUES)


def bad_text(text: str, chance: random.Random) -> str:
    """A text with a piece cut out, doubled, moved or replaced."""
    if not text:
        return chance.choice(TEXTS)
    at, end = sorted((chance.randrange(len(text) + 1), chance.randrange(len(text) + 1)))
    end = min(end, at + chance.choice((1, 5, 60)))
    match chance.randrange(5):
        case 0:
            return text[:at] + text[end:]
        case 1:
            return text[:at] + text[at:end] * chance.choice((2, 50)) + text[end:]
        case 2:
            return text[:at]
        case _:
            return text[:at] + chance.choice(TEXTS) + text[end:]


def bad_bytes(data: bytes, chance: random.Random) -> bytes:
    """Bytes of which some are flipped, cut off or added."""
    raw = bytearray(data)
    match chance.randrange(5):
        case 0:
            del raw[chance.randrange(len(raw) + 1) :]
        case 1:
            raw += chance.randbytes(chance.choice((1, 100)))
        case 2:
            return chance.randbytes(chance.choice((0, 1, 50, 5000)))
        case _:
            for _ in range(chance.choice((1, 1, 3, 20))):
                if raw:
                    raw[chance.randrange(len(raw))] ^= 1 << chance.randrange(8)
    return bytes(raw)
