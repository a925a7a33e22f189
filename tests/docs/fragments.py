"""Compiling the code of the language reference.

The page's first ``python`` block is a whole model. Every other block stands beside it or in it, by what it holds:

- classes: in its file; a class that extends a model is compiled itself;
- fields, methods and scopes: in a class that extends the page's model, with an ``@init`` for fields that have none;
- statements: in an action of such a class, with the parameters ``PARAMETERS``.

A block compiles as a whole, unless it holds lines ``# refused: ...``: then each run of lines above such a comment is
refused, with just the message in the comment.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from holdfast.ir.compile import compile_model
from holdfast.ir.errors import ModelError
from holdfast.ir.load import load_model
from holdfast.ir.system import System
from tests.docs.fences import Block, blocks, with_lines

PARAMETERS = "n: Node, m: Node, s: Stream, t: Stream, e: Epoch, up: bool"
REFUSED = "# refused: "
WIDTH = 118
FILES = re.compile(r"\S*page\d+\.py")
"""The blocks' file names, which must not show in a message, since the reader does not know them."""
CODE = re.compile(r"`[^`]*`")
"""Code in a message, which stays on one line."""


class Compiler:
    """Compiles the blocks of one page, each in a file of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.model = ""
        self.accepted: dict[Path, System] = {}
        """The systems of the blocks that compiled as a whole, by file."""
        self._numbers = count()

    def follow(self, page: str) -> str:
        """The page with the compiler's current messages."""
        changed: dict[Block, tuple[str, ...]] = {}
        for block in blocks(page):
            if block.language == "python":
                changed[block] = tuple(self._block(block))
        return with_lines(page, changed)

    def _block(self, block: Block) -> Iterator[str]:
        if not self.model:
            self.model = block.text
        if not any(line.startswith(REFUSED) for line in block.lines):
            self._accept(block)
            yield from block.lines
            return
        for code in refused_parts(block):
            yield from code
            yield from shown(self.message("\n".join(code).strip("\n") + "\n"))

    def _accept(self, block: Block) -> None:
        path, name = self._write(block.text)
        try:
            self.accepted[path] = compile_model(load_model(f"{path}:{name}"))
        except ModelError as error:
            raise AssertionError(f"the block that begins in line {block.first + 1} is refused: {error}") from error

    def message(self, code: str) -> str:
        """The compiler's message about the code, without its place: a line for each error."""
        path, name = self._write(code)
        try:
            compile_model(load_model(f"{path}:{name}"))
        except ModelError as error:
            told = [f"{each.construct}: {each.problem}; {each.remedy}" for each in error.errors]
            return FILES.sub("table.py", "\n".join(told))
        return "nothing; it compiles"

    def _write(self, code: str) -> tuple[Path, str]:
        """The file with the code in its surroundings, and the class to compile."""
        path = self.folder / f"page{next(self._numbers)}.py"
        text, name = surrounded(code, self.model)
        path.write_text(text)
        return path, name


def refused_parts(block: Block) -> Iterator[list[str]]:
    """The groups of lines that are refused, each without the comment below it."""
    code: list[str] = []
    in_comment = False
    for line in block.lines:
        in_comment = line.startswith(REFUSED) or (in_comment and line.startswith("# "))
        if line.startswith(REFUSED):
            yield code
            code = []
        elif not in_comment:
            code.append(line)
    assert not code, f"the block that begins in line {block.first + 1} does not end with a refusal"


def shown(message: str) -> list[str]:
    """A message as the comment that shows it."""
    whole = CODE.sub(lambda code: code[0].replace(" ", "\0"), message)
    further = f"# {' ' * (len(REFUSED) - 2)}"
    lines = textwrap.wrap(whole, WIDTH, initial_indent=REFUSED, subsequent_indent=further, break_on_hyphens=False)
    return [line.replace("\0", " ") for line in lines]


def surrounded(code: str, model: str) -> tuple[str, str]:
    """The text of a file that holds the code in the surroundings it needs, and the class to compile."""
    body = ast.parse(code).body
    base = next(stmt.name for stmt in reversed(ast.parse(model).body) if isinstance(stmt, ast.ClassDef))
    if code == model:
        return code, base
    models = [base, "Model"]
    for stmt in body:
        if isinstance(stmt, ast.ClassDef) and any(getattr(each, "id", "") in models for each in stmt.bases):
            models.append(stmt.name)
    if len(models) > 2:
        return f"{model}\n\n{code}", models[-1]
    head = f"class Fragment({base}):\n"
    if isinstance(body[0], ast.ClassDef) and not isinstance(body[-1], ast.ClassDef):
        # The types come first, and the rest stands in the model.
        types = [stmt for stmt in body if isinstance(stmt, ast.ClassDef)]
        body = body[len(types) :]
        lines = code.splitlines(keepends=True)
        first = min(each.lineno for each in [body[0], *getattr(body[0], "decorator_list", [])]) - 1
        model, code = model + "\n\n" + "".join(lines[:first]), "".join(lines[first:])
    if all(isinstance(stmt, ast.ClassDef) for stmt in body):
        return f"{model}\n\n{code}\n\n{head}    pass\n", "Fragment"
    if any(isinstance(stmt, ast.FunctionDef | ast.AnnAssign) or _is_attribute(stmt) for stmt in body):
        return f"{model}\n\n{head}{_indented(code, 1)}{_indented(_start(body), 1)}", "Fragment"
    action = f"    @action\n    def fragment(self, {PARAMETERS}) -> None:\n{_indented(code, 2)}"
    return f"{model}\n\n{head}{action}", "Fragment"


def _is_attribute(stmt: ast.stmt) -> bool:
    """Whether this is a scope or a declaration of mutants."""
    match stmt:
        case ast.Assign(value=ast.Call(func=ast.Name(id="Scope" | "outcomes"))):
            return True
    return False


def _indented(code: str, levels: int) -> str:
    return textwrap.indent(code, "    " * levels)


def _start(body: list[ast.stmt]) -> str:
    """An initial condition for the fields that the code declares, if it has none itself."""
    fields = {
        stmt.target.id: ast.unparse(stmt.annotation)
        for stmt in body
        if isinstance(stmt, ast.AnnAssign) and isinstance(stmt.target, ast.Name)
    }
    if not fields or any("@init" in ast.unparse(stmt) for stmt in body):
        return ""
    lines = []
    for name, annotation in fields.items():
        kind = re.sub(r"^Ghost\[(.*)\]$", r"\1", annotation)
        if kind == "Flag":
            continue
        if "Seq[" in kind or kind.startswith("Bag["):
            lines.append(f"    self.{name}.clear()\n")
        elif kind.startswith(("Map[", "Pool[", "Rel[")):
            value = "bool" if kind.startswith(("Pool[", "Rel[")) else kind[:-1].rpartition(", ")[2]
            lines.append(f"    self.{name}.fill({_first(value)})\n")
        else:
            lines.append(f"    self.{name} = {_first(kind)}\n")
    return f"\n@init\ndef start_fragment(self) -> None:\n{''.join(lines)}" if lines else ""


def _first(kind: str) -> str:
    """A value of a type."""
    if kind.endswith("| None"):
        return "None"
    return {"bool": "False", "Phase": "Phase.IDLE"}.get(kind, f"{kind}(0)")
