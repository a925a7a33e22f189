"""The files of the repository: sources and small data, nothing downloaded or built."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LARGEST = 400_000
"""Limit in bytes. The lock file, the stored results and the TLA+ module of `balancer` are the largest.

The module is nearly all indentation. A wheel or an archive is larger by far.
"""


IMAGES = "tests/reports/golden/images/"
"""The folder of the only files that are no text: what pages looked like."""
PNG = b"\x89PNG\r\n\x1a\n"


def misfits(root: Path, names: list[str]) -> list[str]:
    """The files that are too large, or not text; an image only in its folder."""
    contents = {name: (root / name).read_bytes() for name in names}
    return [
        name for name, data in contents.items() if len(data) > LARGEST or (b"\0" in data and not _is_image(name, data))
    ]


def _is_image(name: str, data: bytes) -> bool:
    return name.startswith(IMAGES) and data.startswith(PNG)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="only a clone says which files belong to the repository")
def test_files_are_small_and_text() -> None:
    """Every tracked file is text, and none is larger than the largest that people maintain."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S607
    names = [name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]
    assert len(names) > 100
    assert misfits(ROOT, names) == []


def test_misfits_are_seen(tmp_path: Path) -> None:
    """The test finds an archive and a long text, and not a short text."""
    (tmp_path / "a.whl").write_bytes(b"PK\0")
    (tmp_path / "b.txt").write_text("x" * (LARGEST + 1))
    (tmp_path / "c.txt").write_text("x" * LARGEST)
    assert misfits(tmp_path, ["a.whl", "b.txt", "c.txt"]) == ["a.whl", "b.txt"]


def test_images_have_a_folder(tmp_path: Path) -> None:
    """An image elsewhere, and another file among the images, are found."""
    names = [f"{IMAGES}a.png", f"{IMAGES}b.png", "c.png"]
    for name, data in zip(names, (PNG + b"\0", b"PK\0", PNG + b"\0"), strict=True):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    assert misfits(tmp_path, names) == names[1:]
