"""The error message about an unknown word, with the nearest known one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def unknown(what: str, word: str, known: Iterable[str]) -> str:
    """A message about a word that is not among the known ones."""
    words = list(known)
    near = get_close_matches(word, words, n=1)
    if near:
        return f"unknown {what} {word}; did you mean {near[0]}?"
    return f"unknown {what} {word}; known: {', '.join(words) or 'none'}"
