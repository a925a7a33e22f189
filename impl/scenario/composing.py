"""Turns the text of a YAML file into nodes with lines. PyYAML has two parsers: one in Python, and libyaml's in C.

Python's is the one that decides. The two disagree about tabs, byte order marks, ``?`` and some more, and libyaml is
missing on some machines: a file must not mean something else there. But libyaml takes a quarter of the time, and a
suite that is made from a model has megabytes. So it reads the texts on which both agree, and no text that it refuses.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

import yaml
from yaml.composer import Composer

PLAIN = re.compile(r"""[\n -~]*""")
UNEQUAL = re.compile(r"""[?!|>%&*@`]|:\s(\s|#[^\n]*\n)*[\]},]""")
"""Signs that the parsers understand differently in some places, or that are rare; and an empty value in a list or map,
of which they give different lines.
"""


def compose(text: str, file: str) -> list[yaml.Node]:
    """The nodes of all documents. Raises the errors of PyYAML's parser in Python."""
    if yaml.__with_libyaml__ and PLAIN.fullmatch(text) and not UNEQUAL.search(text):
        try:
            return list(_nodes(_FastLoader(text, file)))
        except yaml.YAMLError:
            pass  # The other parser says in plainer words what is wrong, and where.
    loader = yaml.SafeLoader(text)
    loader.name = file
    return list(_nodes(loader))


def _nodes(loader: yaml.SafeLoader | _FastLoader) -> Iterator[yaml.Node]:
    try:
        while loader.check_node():
            node = loader.get_node()
            if node is not None:
                yield node
    finally:
        loader.dispose()


class _File(io.StringIO):
    """A text with the name that the marks of its nodes have."""

    name = ""


if yaml.__with_libyaml__:

    class _FastLoader(Composer, yaml.CSafeLoader):
        """Composes in Python what libyaml parses. libyaml's own loader would crash where lists nest too deeply."""

        def __init__(self, text: str, file: str) -> None:
            source = _File(text)
            source.name = file
            yaml.CSafeLoader.__init__(self, source)
            Composer.__init__(self)
