"""The fast and the slow reader of JSON agree on every text that the fast one reads."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.check.conform.logs.strict_json import STRICT, quick

ATOMS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.sampled_from(["a:b", "\ud800", "{"])
)
KEYS = st.sampled_from(["a", "b", "a:", "é"])
VALUES = st.recursive(ATOMS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3))
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=3)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """JSON in many forms, mostly with a small edit."""
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", "\t: ")]))
    text = json.dumps(draw(OBJECTS), ensure_ascii=draw(st.booleans()), separators=separators)
    at = draw(st.integers(0, len(text)))
    put = draw(st.sampled_from(["", "", ",", ":", '"', "0", "-", ".", "}", '"a":1,', '"a" :1,', "\x01", "\u2028"]))
    return text[:at] + put + text[at + draw(st.integers(0, 1)) :]


def strictly(text: str) -> object:
    """The slow reader's value with its types; None if it refuses the text."""
    try:
        return repr(STRICT.decode(text))
    except ValueError:
        return None


@given(texts())
@example('{"a":1,"a":2}')
@example('{"a" :1,"a":2}')
@example('{"a":{"b" :1,"b":2}}')
@example('{"a":[{"b":1,"b":2}]}')
@example('{"a":[[{"b" :1,"b":2}]]}')
@example('{"a":"x:y","b" :1,"b":2}')
@example('{"a":1e999}')
@example('{"a":-0,"b":-0.0,"c":1E5,"d":18446744073709551616}')
def test_the_readers_agree(text: str) -> None:
    """The fast reader may leave any text to the slow one, but never reads a text that the slow one refuses."""
    raw = quick(text.encode("utf-8", "surrogatepass"))
    assert raw is None or repr(raw) == strictly(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"source": "n1", "seq": 6, "t": [1, 2], "action": "open", "post": {"end": {"[\\"n1\\",5]": {"s3": 18}}}}\n',
        '{"type":"X","version":0,"data":{"entries":[{"streamId":1},{"streamId":2}],"ranges":"AQ=="}}\r\n',
    ],
)
def test_usual_lines_are_read_quickly(text: str) -> None:
    """The fast reader reads a log's lines and a dump's payloads."""
    assert quick(text.encode()) == json.loads(text)


def test_what_is_nested_is_left_to_the_slow_reader() -> None:
    """Nested text is left to the slow reader, which counts levels and names the limit."""
    assert quick(b'{"a":' + b"[" * 40 + b"]" * 40 + b"}") is None
    assert quick(b"[1]") is None
