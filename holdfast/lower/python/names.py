"""The names in generated Python text: no name of a model can be taken for a generated one, or for another of the model.

A model may call its parameters, locals, actions and properties whatever Python allows, so its names stand in two forms
only, ``p_NAME`` and ``l_NAME_7``. A function of one action or property is named by a number: ``every_3``. No other name
in generated text, and none in a driver, begins with ``p_`` or ``l_``; ``refuse_clashes`` holds a whole module to that.
"""

from __future__ import annotations

import re
from collections import Counter

from holdfast.ir.system import Param

AUTHORS = ("p_", "l_")
"""How the names begin that contain a name of the model."""

_DEFINED = re.compile(r"^(?:def (\w+)|(\w[\w, ]*?) = )", re.MULTILINE)
_IMPORTED = re.compile(r"^(?:from \S+ )?import ([\w, ]+)$", re.MULTILINE)


def code_name(param: Param) -> str:
    """The Python name of a parameter's code."""
    return f"p_{param.name}"


def local_name(name: str, number: int) -> str:
    """The Python name of a local; no two locals of a function have the same number."""
    return f"l_{name}_{number}"


def numbered(family: str, number: int) -> str:
    """The Python name of a function, or of a value that a function keeps: a fixed word and a number."""
    return f"{family}_{number}"


def defined(text: str) -> list[str]:
    """The names that a module defines or imports at its top level, in the order of the kinds, repeated ones too."""
    groups = [names for pair in _DEFINED.findall(text) for names in pair if names]
    imported = [name.split(" as ")[-1] for names in _IMPORTED.findall(text) for name in names.split(",")]
    return [name.strip() for name in (*imported, *(part for names in groups for part in names.split(",")))]


def refuse_clashes(text: str) -> str:
    """The same text. Raises RuntimeError if it defines a name twice, or one that the model's names could be."""
    for name, times in Counter(defined(text)).items():
        if times > 1 or name.startswith(AUTHORS):
            raise RuntimeError(f"generated text defines the name {name} {times} times, or it could be one of the model")
    return text
