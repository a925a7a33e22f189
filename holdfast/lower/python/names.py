"""The names in generated Python text. A model's name never clashes with a generated one, or with another of the model.

A model may use any Python name for its parameters, locals, actions and properties. In generated text, a parameter is
``p_NAME`` and a local ``l_NAME_7``. A function of one action or property has a number: ``every_3``. No other name in
generated text or in a driver begins with ``p_`` or ``l_``. ``refuse_clashes`` checks that for a whole module.
"""

from __future__ import annotations

import re
from collections import Counter

from holdfast.ir.system import Param

AUTHORS = ("p_", "l_")
"""The prefixes of names that contain a name of the model."""

_DEFINED = re.compile(r"^(?:def (\w+)|(\w[\w, ]*?) = )", re.MULTILINE)
_IMPORTED = re.compile(r"^(?:from \S+ )?import ([\w, ]+)$", re.MULTILINE)


def code_name(param: Param) -> str:
    """The Python name of a parameter's code."""
    return f"p_{param.name}"


def local_name(name: str, number: int) -> str:
    """The Python name of a local; no two locals of a function have the same number."""
    return f"l_{name}_{number}"


def numbered(family: str, number: int) -> str:
    """The Python name of a generated function or of a scratch value: a fixed word and a number."""
    return f"{family}_{number}"


def defined(text: str) -> list[str]:
    """The names that a module imports and defines at its top level, with repetitions. Imports come first."""
    groups = [names for pair in _DEFINED.findall(text) for names in pair if names]
    imported = [name.split(" as ")[-1] for names in _IMPORTED.findall(text) for name in names.split(",")]
    return [name.strip() for name in (*imported, *(part for names in groups for part in names.split(",")))]


def refuse_clashes(text: str) -> str:
    """Returns the text. Raises RuntimeError if it defines a name twice, or one with a prefix of the model's names."""
    for name, times in Counter(defined(text)).items():
        if times > 1 or name.startswith(AUTHORS):
            raise RuntimeError(f"generated text defines the name {name} {times} times, or it could be one of the model")
    return text
