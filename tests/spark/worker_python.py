"""A Python for executors: a virtual environment with the packages of ``pip install 'holdfast[spark]'``, and no others.

The packages are links to those of this environment, so nothing is fetched. Holdfast itself is not among them.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement


def worker_python(folder: Path) -> Path:
    """Make the environment in a new folder. Returns the path of its Python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--symlinks", str(folder)], check=True)
    version = "python{}.{}".format(*sys.version_info[:2])
    site = folder / "lib" / version / "site-packages"
    for found in needed("holdfast", "spark").values():
        if found.name != "holdfast":
            _link(found, site)
    return folder / "bin" / "python"


def needed(name: str, extra: str) -> dict[str, Distribution]:
    """A distribution with an extra, and all that it requires on this machine, by name."""
    found: dict[str, Distribution] = {}
    todo = [(name, frozenset({extra}))]
    seen = set(todo)
    while todo:
        name, extras = todo.pop()
        found[name] = distribution(name)
        for text in found[name].requires or ():
            requirement = Requirement(text)
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": each}) for each in (*extras, "")):
                wanted = (requirement.name, frozenset(requirement.extras))
                if wanted not in seen:
                    seen.add(wanted)
                    todo.append(wanted)
    return found


def _link(found: Distribution, site: Path) -> None:
    """Link the top of each path that a distribution has installed in site-packages."""
    for name in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
        if not (site / name).exists():
            (site / name).symlink_to(Path(str(found.locate_file(name))))
