"""A model as the command line asks for it: with its variants chosen, and without some of its rules."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System


def compile_variant(model: type, variants: Sequence[str] = (), removed: Sequence[str] = ()) -> System:
    """The system of a model with these variants, without these rules (``ST-14``, or ``ST-14@open`` in one action).

    Raises ModelError for a model outside the language, and UsageError for an unknown variant or rule.
    """
    return remove_rules(compile_model(model, variants=variants), removed)


def load_variant(target: str, variants: Sequence[str] = (), removed: Sequence[str] = ()) -> System:
    """As ``compile_variant``, of the model that the command line calls ``target``: a name, or FILE.py:CLASS."""
    return compile_variant(load_model(target), variants, removed)
