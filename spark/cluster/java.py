"""Finds the Java that Spark runs on. A Java without the vector module gets a launcher that hides this from Spark."""

from __future__ import annotations

import re
import shlex
import subprocess
from functools import cache
from pathlib import Path

import attrs

from holdfast.check.java import find_java, packaged_java
from holdfast.ir.errors import UsageError

EXTRA = "pip install 'holdfast[spark]'"

OLDEST = 17
"""The first version of Java that Spark 4 runs on."""

VECTOR = "jdk.incubator.vector"
"""The vector module. Spark always passes ``--add-modules`` with it, and a Java without this module does not start."""

_LAUNCHER = """\
#!/bin/sh
for argument do
    shift
    [ "$argument" = {flag} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""

_ASKING = 60
"""Seconds that ``java --list-modules`` may take."""


@attrs.frozen
class Java:
    """A Java that Spark can run on. ``program`` is the path of its executable."""

    program: str
    has_vector: bool

    def home(self, folder: Path) -> Path | None:
        """The JAVA_HOME for this Java; None to leave JAVA_HOME as it is.

        A Java without the vector module gets a launcher, written below ``folder``, which drops Spark's flag.
        """
        if self.has_vector:
            program = Path(self.program)
            return program.parents[1] if self.program == packaged_java() else None
        launcher = folder / "java" / "bin" / "java"
        launcher.parent.mkdir(parents=True)
        flag, java = shlex.quote(f"--add-modules={VECTOR}"), shlex.quote(self.program)
        launcher.write_text(_LAUNCHER.format(flag=flag, java=java), encoding="utf-8")
        launcher.chmod(0o755)
        return launcher.parents[1]


def spark_java() -> Java:
    """The Java to use, found in the same way as for TLC.

    Raises UsageError, with a remedy, if Java is missing, broken or too old.
    """
    return _asked(find_java("Spark", EXTRA))


@cache
def _asked(program: str) -> Java:
    """Ask a Java for its version and modules. Raises UsageError as ``spark_java`` does."""
    packaged = packaged_java()
    remedy = "set JAVA_HOME to another one" if packaged else f"install a newer one, or unset JAVA_HOME and {EXTRA}"
    if packaged and packaged != program:
        remedy += f", such as {Path(packaged).parents[1]}"
    try:
        said = subprocess.run(
            [program, "--list-modules"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="backslashreplace",
            timeout=_ASKING,
            check=False,
        )
    except OSError as error:
        raise UsageError(f"{program} cannot be run: {error.strerror}; {remedy}") from error
    except subprocess.TimeoutExpired as error:
        raise UsageError(f"{program} did not say its version within {_ASKING} s; {remedy}") from error
    base = re.search(r"^java\.base@(\d+)", said.stdout, re.MULTILINE)
    if base is None and "--list-modules" in said.stdout:
        raise UsageError(f"{program} is older than Java 9, and Spark needs {OLDEST} or newer; {remedy}")
    if base is None:
        first = next(
            (line.strip() for line in said.stdout.splitlines() if line.strip()), f"exit code {said.returncode}"
        )
        raise UsageError(f"{program} does not run as a Java: it says {first!r}; {remedy}")
    if int(base[1]) < OLDEST:
        raise UsageError(f"{program} is Java {base[1]}, and Spark needs {OLDEST} or newer; {remedy}")
    return Java(program, has_vector=re.search(rf"^{re.escape(VECTOR)}@", said.stdout, re.MULTILINE) is not None)
