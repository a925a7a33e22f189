"""Compiles a model as the command line asks: with its variants chosen, and without some of its rules."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System


def compile_variant(model: type, variants: Sequence[str] = (), removed: Sequence[str] = ()) -> System:
    """The system of a model in these variants, without these rules (``ST-14``, or ``ST-14@open`` in one action).

    Raises ModelError for a model outside the language, and UsageError for an unknown variant or rule.
    """
    return remove_rules(compile_model(model, variants=variants), removed)


def load_variant(
    target: str, variants: Sequence[str] = (), removed: Sequence[str] = (), *, alone: bool = False
) -> System:
    """As ``compile_variant``, for the model with the name ``target`` on the command line: a name or FILE.py:CLASS.

    ``alone``: execute only the model's file, see ``load_model``. Raises UsageError also for an unknown model.
    """
    return compile_variant(load_model(target, alone=alone), variants, removed)
