"""The two parsers of YAML: what libyaml reads, Python's parser reads as the same nodes."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from impl.scenario import composing
from impl.scenario.reading import MalformedError, documents

FILES = sorted((Path(__file__).parents[1] / "scenarios").glob("**/*.yaml"))
INSERTED = [
    *" \n\t:-{}[],#&*!|>'\"%@`?a1~.\\é\ufeff\u2028",
    *("'it''s'", '"\\n"', "&a x", "*a", "!!int 3", "{a, b: }", "---\n", "# c\n", "<<: *a", "|+\n a\n"),
]


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """Some lines of some scenario file, with a few characters and pieces of YAML put in."""
    chance = random.Random(5)
    wholes = [path.read_text(encoding="utf-8").splitlines() for path in FILES]
    found = []
    for _ in range(1_000):
        whole = chance.choice(wholes)
        first = chance.randrange(len(whole))
        text = "\n".join(whole[first : first + chance.randrange(1, 12)])
        for _ in range(chance.randrange(3)):
            place = chance.randrange(len(text) + 1)
            text = text[:place] + chance.choice(INSERTED) + text[place + chance.randrange(2) :]
        found.append(text)
    return found


def shape(node: yaml.Node) -> Any:
    """All that the language reads of a node: its line, its tag, its value, and its quotes."""
    head = node.start_mark.name, node.start_mark.line, node.tag
    if isinstance(node, yaml.ScalarNode):
        return *head, node.value, node.style or None
    if isinstance(node, yaml.SequenceNode):
        return *head, [shape(each) for each in node.value]
    return *head, [(shape(key), shape(value)) for key, value in node.value]


def read(text: str) -> Any:
    """The shapes of a text's documents; the message if it is refused."""
    try:
        return [shape(node) for node in documents(text, "file.yaml")]
    except MalformedError as error:
        return str(error)


def different(texts: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The texts that are read as something else if libyaml is missing."""
    for text in texts:
        found = read(text)
        with monkeypatch.context() as patched:
            patched.setattr(yaml, "__with_libyaml__", False)
            if read(text) != found:
                yield text


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="this PyYAML was built without libyaml")
def test_libyaml_changes_nothing(texts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """With libyaml and without, every text is the same nodes at the same lines, or is refused in the same words."""
    with monkeypatch.context() as patched:
        kept = []
        patched.setattr(composing, "_FastLoader", lambda *given: kept.append(given) or yaml.SafeLoader(given[0]))
        refused = sum(isinstance(read(text), str) for text in texts)
    assert len(kept) > 200
    assert 200 < refused < 800
    assert list(different(texts, monkeypatch)) == []


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="this PyYAML was built without libyaml")
def test_libyaml_would_change_something(texts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """If libyaml read all texts of ASCII, some would be something else: the comparison sees that."""
    monkeypatch.setattr(composing, "UNEQUAL", re.compile("(?!)"))
    assert any("?" in text for text in different(texts, monkeypatch))
