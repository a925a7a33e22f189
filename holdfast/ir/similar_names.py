"""The remedy for an unknown name: the most similar known names, or a text of the caller if no name is similar."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str], otherwise: str, *, cutoff: float = 0.6) -> str:
    """``did you mean A, B?`` with at most three known names, or ``otherwise`` if no name is similar.

    ``cutoff``: the least similarity, from 0 (any name) to 1 (an equal name), as ``difflib`` measures it.
    """
    near = get_close_matches(name, list(known), n=3, cutoff=cutoff)
    return f"did you mean {', '.join(near)}?" if near else otherwise
