"""The error messages about an unknown word and an unknown id, with similar words and ids that are known."""

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


def unknown_id(what: str, name: str, known: Iterable[str]) -> str:
    """A message about an unknown id. It names the known ids that begin with it and a dot; if there are none, the ids
    with the same letters; if there are none, the letters of all ids. Ids look so alike that the nearest one would be a
    guess.
    """
    ids = sorted(known)
    near = [each for each in ids if each.startswith(f"{name}.")]
    near = near or [each for each in ids if letters(each) == letters(name)]
    near = near or sorted({f"{letters(each)}-N" for each in ids})
    return f"unknown {what} {name}; known: {', '.join(near)}"


def letters(name: str) -> str:
    """The letters that an id begins with: ``ST`` of ``ST-14``."""
    return name.partition("-")[0]
