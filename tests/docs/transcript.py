"""Following a page of the documentation as its reader would: writing its files, making its edits, running its commands.

- A ``python`` block whose first line is ``# file: NAME`` is written to that file. Any other must stand, as it is, in a
  file written so far: it quotes.
- A ``diff`` block edits a file: ``--- NAME``, ``+++ NAME``, then hunks that begin with ``@@``. The lines of a hunk with
  a blank or a ``-`` in front must stand in the file exactly once; those with a blank or a ``+`` take their place.
- In a ``console`` block each line ``$ COMMAND`` is run by the shell, and what stands below is what it prints. A line
  ``…`` stands for lines that are left out, once in an output.

The models of ``docs/examples`` are in the reader's folder from the start, under that name. What a command prints is its
standard output and then its standard error, but for the line about its time.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

from tests.docs.fences import ROOT, Block, blocks, with_lines

EXAMPLES = "docs/examples"
FILE = "# file: "
PROMPT = "$ "
CUT = "…"
HUNK = re.compile(r"^@@.*$", re.MULTILINE)
TIMING = re.compile(
    r"\w+: (?:[\d,]+ states in .* a second, [\d,]+ MB|[\d.]+ s, of which Z3 [\d.]+ s)"
    r"|[\d,]+ (?:of [\d,]+ )?runs? in .* a second"
)


class Reader:
    """Follows pages in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "work"
        self.folder.mkdir()
        shutil.copytree(ROOT / EXAMPLES, self.folder / EXAMPLES, ignore=shutil.ignore_patterns("__pycache__"))
        self.code = 0
        tools = folder / "bin"
        tools.mkdir()
        for name, command in (("holdfast", "-m holdfast "), ("python", "")):
            tool = tools / name
            tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" {command}"$@"\n')
            tool.chmod(0o755)
        path = os.pathsep.join([str(tools), os.environ.get("PATH", os.defpath)])
        self.environment = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}

    def follow(self, page: str) -> str:
        """The page with the current output of its commands."""
        changed: dict[Block, tuple[str, ...]] = {}
        for block in blocks(page):
            match block.language:
                case "python":
                    self._python(block)
                case "diff":
                    self._edit(block)
                case "console":
                    changed[block] = self._console(block)
        return with_lines(page, changed)

    def _python(self, block: Block) -> None:
        first = block.lines[0]
        if first.startswith(FILE):
            (self.folder / first.removeprefix(FILE)).write_text(block.text)
        elif not any(block.text in path.read_text() for path in self.folder.glob("*.py")):
            _fail(block, "no file holds these lines; quote them as they are, or begin with `# file: NAME`")

    def _edit(self, block: Block) -> None:
        old_name, new_name, *lines = block.lines
        name = new_name.removeprefix("+++ ")
        if old_name != f"--- {name}" or not lines[0].startswith("@@"):
            _fail(block, "a diff begins with --- NAME, +++ NAME and @@")
        path = self.folder / name
        text = path.read_text()
        for hunk in HUNK.split("\n".join(lines))[1:]:
            body = hunk.splitlines()[1:]
            old = "".join(f"{line[1:]}\n" for line in body if line[:1] != "+")
            new = "".join(f"{line[1:]}\n" for line in body if line[:1] != "-")
            if text.count(old) != 1:
                _fail(block, f"{name} holds the lines to replace {text.count(old)} times:\n{old}")
            text = text.replace(old, new)
        path.write_text(text)

    def _console(self, block: Block) -> tuple[str, ...]:
        starts = [index for index, line in enumerate(block.lines) if line.startswith(PROMPT)]
        if not starts or starts[0] != 0:
            _fail(block, f"a console block begins with {PROMPT!r}")
        made: list[str] = []
        for start, end in zip(starts, [*starts[1:], len(block.lines)], strict=True):
            command = block.lines[start]
            printed = self._run(command.removeprefix(PROMPT))
            if any(line.startswith("Traceback") for line in printed):
                _fail(block, f"{command} prints a traceback:\n" + "\n".join(printed))
            made += [command, *cut(printed, block.lines[start + 1 : end])]
        return tuple(made)

    def _run(self, command: str) -> list[str]:
        """The lines that a command prints; the command finds the previous exit code in ``$?``."""
        ran = subprocess.run(
            ["/bin/sh", "-c", f"(exit {self.code}); {command}"],
            cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        self.code = ran.returncode
        return [
            *ran.stdout.rstrip("\n").splitlines(),
            *(line for line in ran.stderr.splitlines() if not TIMING.fullmatch(line)),
        ]


def cut(lines: list[str], shown: tuple[str, ...]) -> list[str]:
    """The lines, shortened like the shown ones: the same numbers of lines at the head and at the tail."""
    if CUT not in shown:
        return lines
    head = shown.index(CUT)
    tail = len(shown) - head - 1
    if head + tail + 1 >= len(lines):
        return lines
    return [*lines[:head], CUT, *lines[len(lines) - tail :]]


def _fail(block: Block, problem: str) -> NoReturn:
    raise AssertionError(f"the block that begins in line {block.first + 1}: {problem}")
