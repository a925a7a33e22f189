"""The declared faults: a short list of faults that change no result, each with its reason (``declared.toml``)."""

from __future__ import annotations

import tomllib
from pathlib import Path

Identity = tuple[str, str, str, str]
"""A fault's file, function, text before and text after: see ``Fault.identity``."""

LIST = Path(__file__).with_name("declared.toml")


def declared(path: Path = LIST) -> dict[Identity, str]:
    """For each declared fault: the reason why no test can notice it."""
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("fault", [])
    return {(entry["file"], entry["function"], entry["before"], entry["after"]): entry["reason"] for entry in entries}
