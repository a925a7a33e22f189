"""Drawing faults by a seed: the same tree and seed give the same faults on every machine."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from mutants.faults import PlantedFault, faults_of

Folder = Literal["lower", "ir", "check", "runs"]
FOLDERS: tuple[Folder, ...] = ("lower", "ir", "check", "runs")
"""The folders of ``holdfast/`` that faults are planted in; each gets an equal share."""


def draw(root: Path, seed: int, count: int, folders: Sequence[str] = FOLDERS) -> list[PlantedFault]:
    """``count`` faults, at most one on a line, an equal share from each folder. The folders take turns in the list."""
    share, rest = divmod(count, len(folders))
    drawn = [
        draw_from(faults_of(root, f"holdfast/{folder}"), f"{seed} {folder}", share + (index < rest))
        for index, folder in enumerate(folders)
    ]
    longest = max(map(len, drawn), default=0)
    return [faults[place] for place in range(longest) for faults in drawn if place < len(faults)]


def draw_from(faults: Sequence[PlantedFault], seed: str, count: int) -> list[PlantedFault]:
    """``count`` of these faults, at most one on a line; fewer if there are fewer lines."""
    order = list(faults)
    random.Random(seed).shuffle(order)  # noqa: S311 - a sample that everybody can draw again
    found: dict[tuple[str, int], PlantedFault] = {}
    for fault in order:
        if len(found) < count:
            found.setdefault((fault.file, fault.lines[0]), fault)
    return list(found.values())
