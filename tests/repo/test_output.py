"""One module writes to standard output and standard error, so that one filter sees all text that leaves."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("holdfast", "impl", "models", "reports", "spark")

PLACE = "holdfast/cli/output.py"
"""The module that writes."""

OTHERS = {
    "holdfast/cli/streams.py": "opens streams that were closed before the command began",
    "holdfast/ir/load.py": "puts back the streams that a model's file has replaced",
    "impl/real/child.py": "standard output is a pipe to its driver, standard error a file that the driver reads",
    "spark/cluster/standalone.py": "a command of its own, whose answer is the address of a master",
    "spark/cluster/keeper.py": "standard output is a pipe to the process that started it",
}
"""Further modules that write, each with the reason."""

ASKED = ("isatty",)
"""The methods of a stream that write nothing."""

WRITERS = {
    "print", "rich.print", "Console", "print_exc", "print_exception", "print_stack", "print_tb", "print_last",
    "StreamHandler", "basicConfig", "dup2", "pprint",
}  # fmt: skip
"""The functions and classes that write to standard output or standard error by themselves."""

STREAMS = {"stdout", "stderr", "__stdout__", "__stderr__"}


def writes(source: str) -> Iterator[str]:
    """The places in a source that may write to standard output or standard error."""
    tree = ast.parse(source)
    asked = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in ASKED and isinstance(node.value, ast.Attribute)
    }
    # A loop over both streams that only asks them is allowed as well.
    loops = {
        each
        for node in ast.walk(tree)
        if isinstance(node, ast.For) and not any(_writes_in(part) for part in node.body)
        for each in ast.walk(node.iter)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in WRITERS:
                yield f"{node.lineno}: {name}"
            case ast.Attribute(value=ast.Name(id="sys"), attr=name) if name in STREAMS:
                if node not in asked and node not in loops:
                    yield f"{node.lineno}: sys.{name}"
            case ast.ImportFrom(module="sys", names=names) if STREAMS & {each.name for each in names}:
                yield f"{node.lineno}: from sys import"


def _writes_in(node: ast.AST) -> bool:
    """Whether a statement writes to something."""
    return any(isinstance(each, ast.Attribute) and each.attr in ("write", "writelines") for each in ast.walk(node))


def test_one_module_writes() -> None:
    """All other code hands its text to ``holdfast/cli/output.py``."""
    found = {
        str(path.relative_to(ROOT)): places
        for folder in PACKAGES
        for path in sorted((ROOT / folder).rglob("*.py"))
        if (places := list(writes(path.read_text(encoding="utf-8"))))
    }
    assert set(found) == {PLACE, *OTHERS}, found


@pytest.mark.parametrize(
    "source",
    [
        "print('x')",
        "import sys\nsys.stdout.write('x')",
        "import sys\nout = sys.stderr",
        "import sys\nfor stream in (sys.stdout, sys.stderr):\n    stream.write('x')",
        "from sys import stdout",
        "import traceback\ntraceback.print_exc()",
        "from rich.console import Console\nConsole().print('x')",
        "import logging\nlogging.basicConfig()",
    ],
)
def test_another_writer_is_found(source: str) -> None:
    """Each way to write is noticed."""
    assert list(writes(source))


@pytest.mark.parametrize(
    "source",
    [
        "import sys\nsys.stdout.isatty()",
        "import sys\nsys.stdin.read()",
        "import sys\nfor stream, name in ((sys.stdin, 'a'), (sys.stdout, 'b')):\n    stream.isatty()",
        "from holdfast.cli.output import say\nsay('x')",
    ],
)
def test_others_are_not(source: str) -> None:
    """A stream may be asked whether it is a terminal."""
    assert not list(writes(source))
