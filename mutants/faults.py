"""The faults that can be planted in a source file, each as an edit of the text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import attrs

from mutants.operators import replacements

UNTOUCHED = (ast.Assert, ast.Raise, ast.Import, ast.ImportFrom, ast.JoinedStr)
"""Nodes without faults: internal checks, imports, and the texts of messages. For the parts of an f-string, Python 3.11
also gives wrong positions.
"""
COMPOSED = (ast.BoolOp, ast.BinOp, ast.Compare, ast.IfExp, ast.Lambda, ast.NamedExpr, ast.UnaryOp)
SILENT_FUNCTIONS = {"__repr__", "__str__"}
SILENT_CALLS = {"cast", "TypeVar", "prefetch", "lru_cache", "Refused"}
"""Calls whose arguments are types, speed or the text of a message."""
SILENT_KEYWORDS = {"strict", "repr", "parents", "exist_ok", "slots", "encoding"}
"""Arguments that guard against mistakes of the caller, or do not affect results."""


@attrs.frozen
class PlantedFault:
    """One edit of one file: the text ``after`` replaces the text ``before``, which begins at the byte ``start``.

    ``function``: the dotted name of the innermost function or class around the edit. ``lines``: the first and the last
    line of the replaced text. ``statement``: the first and the last line of the statement around it, without the
    blocks in it.
    """

    file: str
    function: str
    operator: str
    before: str
    after: str
    start: int
    lines: tuple[int, int]
    statement: tuple[int, int]
    at_import: tuple[str, ...]
    """For a fault outside of functions: the names that its statement defines, or else the class around it."""

    @property
    def folder(self) -> str:
        """The folder in ``holdfast/`` that contains the file: ``lower``, ``ir``, ``check`` or ``runs``."""
        return self.file.split("/")[1]

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """Identifies the fault in later versions of the file, as long as neither its function nor its text changes."""
        return (self.file, self.function, _one_line(self.before), _one_line(self.after))

    @property
    def change(self) -> str:
        """The change in one line."""
        return f"{_one_line(self.before)} -> {_one_line(self.after)}"

    def planted(self, source: bytes) -> bytes:
        """The source with the fault. Raises RuntimeError if the file has changed since the fault was found."""
        before = self.before.encode()
        end = self.start + len(before)
        if source[self.start : end] != before:
            raise RuntimeError(f"{self.file}: byte {self.start}: expected {self.before!r}; the file was changed")
        changed = source[: self.start] + self.after.encode() + source[end:]
        # Fail here, and not in every test, if the edit is no valid Python.
        ast.parse(changed)
        return changed


def faults(file: str, source: str) -> list[PlantedFault]:
    """All faults of a file, in the order of its text."""
    finder = _Finder(file, source)
    finder.body(ast.parse(source).body)
    # Two operators may make the same edit, such as a dropped statement; one fault is enough.
    unique = {(fault.start, fault.before, fault.after): fault for fault in finder.found}
    return sorted(unique.values(), key=lambda fault: (fault.start, len(fault.before), fault.operator, fault.after))


def faults_of(root: Path, folder: str) -> list[PlantedFault]:
    """All faults of the files below a folder of the tree, in the order of their paths and texts."""
    paths = sorted((root / folder).rglob("*.py"), key=lambda path: path.relative_to(root).as_posix())
    return [
        fault for path in paths for fault in faults(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))
    ]


def _one_line(text: str) -> str:
    return " ".join(text.split())


class _Finder:
    """Visits the statements of one file and collects their faults."""

    def __init__(self, file: str, source: str) -> None:
        self.found: list[PlantedFault] = []
        self._file, self._source = file, source.encode()
        # The byte offset of each line: `ast` counts columns in bytes of UTF-8, so all positions here are in bytes.
        self._starts = [0]
        for line in self._source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._scopes: list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef] = []

    def body(self, statements: list[ast.stmt]) -> None:
        """Collect the faults of a block."""
        for statement in statements:
            self._statement(statement)

    def _statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, UNTOUCHED) or _is_for_types(statement, bool(self._scopes)):
            return
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if statement.name in SILENT_FUNCTIONS:
                return
            self._scopes.append(statement)
            if not isinstance(statement, ast.ClassDef):
                for default in (*statement.args.defaults, *statement.args.kw_defaults):
                    if default is not None:
                        self._expression(default, statement, None)
            self.body(statement.body)
            self._scopes.pop()
            return
        self._collect(statement, statement)
        self._parts(statement)

    def _parts(self, statement: ast.stmt) -> None:
        """Collect the faults of a statement's expressions and blocks."""
        for name, field in ast.iter_fields(statement):
            if name == "annotation":
                continue
            for part in field if isinstance(field, list) else [field]:
                if isinstance(part, ast.stmt):
                    self._statement(part)
                elif isinstance(part, ast.ExceptHandler):
                    self.body(part.body)
                elif isinstance(part, ast.match_case):
                    self._case(part, statement)
                elif isinstance(part, ast.withitem):
                    self._expression(part.context_expr, statement, statement)
                elif isinstance(part, ast.expr):
                    self._expression(part, statement, statement)

    def _case(self, case: ast.match_case, statement: ast.stmt) -> None:
        head = case.pattern
        last = case.guard or head
        start = self._byte(head.lineno, head.col_offset)
        pattern = self._source[start : self._byte(head.end_lineno or 0, head.end_col_offset or 0)].decode()
        before = self._source[start : self._byte(last.end_lineno or 0, last.end_col_offset or 0)].decode()
        lines = (head.lineno, last.end_lineno or head.lineno)
        # A case that does nothing (`case _: pass`) only documents that no value is forgotten: no fault.
        if not all(isinstance(part, ast.Pass) for part in case.body):
            self._add("case never matches", before, f"{pattern} if False", start, lines, lines)
        if case.guard is not None:
            self._expression(case.guard, statement, case.guard)
        self.body(case.body)

    def _expression(self, node: ast.AST, statement: ast.stmt, parent: ast.AST | None) -> None:
        if isinstance(node, UNTOUCHED) or (isinstance(node, ast.Call) and _called(node) in SILENT_CALLS):
            return
        if isinstance(node, ast.Call) and _called(node).endswith("Error"):
            return
        if isinstance(node, ast.keyword) and node.arg in SILENT_KEYWORDS:
            return
        if isinstance(node, ast.expr):
            asks = (ast.If, ast.IfExp)
            is_condition = isinstance(parent, asks) and parent.test is node
            if not isinstance(node, ast.Tuple) or isinstance(parent, ast.Call | ast.Compare | ast.For):
                self._collect(node, statement, is_condition=is_condition, within=isinstance(parent, ast.expr))
        for child in ast.iter_child_nodes(node):
            self._expression(child, statement, node)

    def _collect(
        self, node: ast.stmt | ast.expr, statement: ast.stmt, *, is_condition: bool = False, within: bool = False
    ) -> None:
        """Collect the faults of one node.

        ``is_condition``: the node is the condition of an ``if``. ``within``: it is part of another expression, so its
        replacement may need parentheses.
        """
        start = self._byte(node.lineno, node.col_offset)
        end = self._byte(node.end_lineno or 0, node.end_col_offset or 0)
        before = self._source[start:end].decode()
        for operator, replacement in replacements(node, is_condition=is_condition):
            after = ast.unparse(ast.fix_missing_locations(replacement))
            if within and isinstance(replacement, COMPOSED):
                after = f"({after})"
            lines = (node.lineno, node.end_lineno or node.lineno)
            self._add(operator, before, after, start, lines, _head(statement))

    def _add(
        self, operator: str, before: str, after: str, start: int, lines: tuple[int, int], statement: tuple[int, int]
    ) -> None:
        function = ".".join(scope.name for scope in self._scopes)
        within = any(not isinstance(scope, ast.ClassDef) for scope in self._scopes)
        names = () if within else tuple(self._defined(statement))
        self.found.append(PlantedFault(self._file, function, operator, before, after, start, lines, statement, names))

    def _defined(self, statement: tuple[int, int]) -> Iterator[str]:
        """The names that a statement outside of functions defines: its targets, or else the class around it."""
        lines = b"\n".join(self._source.splitlines()[statement[0] - 1 : statement[1]]).decode()
        targets = [target.strip() for target in lines.strip().split("=")[0].split(":")[0].split(",")]
        if all(map(str.isidentifier, targets)):
            yield from targets
        else:
            yield from (scope.name for scope in self._scopes[-1:])

    def _byte(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column


def _head(statement: ast.stmt) -> tuple[int, int]:
    """The first and the last line of a statement, without the blocks in it."""
    body = getattr(statement, "body", None) or getattr(statement, "cases", None)
    last = statement.end_lineno or statement.lineno
    if isinstance(body, list):
        first = body[0].pattern if isinstance(body[0], ast.match_case) else body[0]
        last = max(statement.lineno, first.lineno - 1)
    return statement.lineno, last


def _called(node: ast.Call) -> str:
    function = node.func
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def _is_for_types(statement: ast.stmt, within: bool) -> bool:
    """Whether a statement is only for type checkers, or is a bare constant such as a docstring."""
    if isinstance(statement, ast.If) and isinstance(statement.test, ast.Name):
        return statement.test.id == "TYPE_CHECKING"
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return True
    if within or not isinstance(statement, ast.Assign):
        return False
    is_union = isinstance(statement.value, ast.BinOp) and isinstance(statement.value.op, ast.BitOr)
    return isinstance(statement.value, ast.Subscript) or is_union
