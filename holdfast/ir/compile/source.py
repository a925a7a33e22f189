"""Reads the class of a model: the syntax trees of its members.

CPython has already run the decorators, so the mark of a method gives its role, and the source gives its body.
"""

from __future__ import annotations

import ast
import inspect
import os
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, NoReturn

import attrs

from holdfast.ir.compile.match_cases import without_match
from holdfast.ir.compile.refusals import Refusals
from holdfast.ir.errors import ModelError, Place
from holdfast.ir.marks import MARK

OUTCOMES = "mutants"
"""The name of the class attribute that declares the outcomes of mutants."""


@attrs.frozen
class Module:
    """A source file. ``file``: its path as messages show it. ``names``: the module's names and their values."""

    file: str
    names: Mapping[str, Any] = attrs.field(eq=False, repr=False)

    def place(self, node: ast.AST) -> Place:
        """The position of a node."""
        return Place(self.file, getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1)

    def refuse(self, node: ast.AST, problem: str, remedy: str, construct: str | None = None) -> NoReturn:
        """Raise the ModelError for a node. ``construct``: the construct to show, by default the source of the node."""
        raise ModelError(self.place(node), construct or excerpt(node), problem, remedy)


@attrs.frozen
class Member:
    """A method of a model: its tree, its module, and the mark of its decorator (None for a helper)."""

    name: str
    node: ast.FunctionDef
    module: Module
    mark: object

    @property
    def doc(self) -> str:
        """Its docstring, or nothing."""
        return ast.get_docstring(self.node) or ""


@attrs.frozen
class SourceField:
    """An annotated field of a model. ``doc``: the string literal below the field."""

    name: str
    node: ast.AnnAssign
    module: Module
    doc: str


@attrs.frozen
class ClassSource:
    """The members of a model and its parts, those of the parts first.

    An overriding member has the position of the overridden one.
    """

    module: Module
    node: ast.ClassDef
    classes: Sequence[ast.ClassDef]
    """The class statements of the model and its parts, those of the parts first."""
    fields: Mapping[str, SourceField]
    members: Mapping[str, Member]
    scopes: Mapping[str, tuple[Module, ast.Assign]]
    outcomes: tuple[Module, ast.Assign] | None
    """The assignment of the class attribute ``mutants``; with several, the one that Python takes."""
    definitions: Mapping[str, Sequence[tuple[type, Member]]]
    """All definitions of each method with their classes, the parts' first. The last one is the member."""


def excerpt(node: ast.AST) -> str:
    """The source text of a node, on one line and cut to a readable length."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 60 else text[:57] + "..."


def read_class(cls: type, refusals: Refusals) -> ClassSource:
    """The syntax trees of a model and of the models that it extends.

    A statement that is no part of a model goes to ``refusals``, with the names that it defines. Raises ModelError if
    there is no class to read.
    """
    body = _Body(refusals)
    classes: list[ast.ClassDef] = []
    module, node = _definition(cls)
    for base in reversed(cls.__mro__):
        if getattr(base, MARK, None) != "model" and base is not object:
            module.refuse(node, f"{base.__name__} is not a model", "extend models only", f"class {cls.__name__}")
        if MARK not in vars(base) and base is not object:
            where, statement = _definition(base)
            classes.append(statement)
            body.read(base, where, statement)
    fields, scopes = body.fields, body.scopes
    members = {name: found[-1][1] for name, found in body.definitions.items()}
    for name, member in members.items():
        if name in fields or name in scopes:
            other = "a field" if name in fields else "a scope"
            with refusals.collect(name):
                member.module.refuse(
                    member.node, f"{other} has this name too", "give one of them another name", f"method {name}"
                )
    declared = next((body.outcomes[base] for base in cls.__mro__ if base in body.outcomes), None)
    if declared is not None and OUTCOMES in fields.keys() | members.keys():
        with refusals.collect(OUTCOMES):
            declared[0].refuse(declared[1], "a field or method has this name too", "give that another name", OUTCOMES)
    for name in fields.keys() & scopes.keys():
        with refusals.collect(name):
            fields[name].module.refuse(
                fields[name].node, "a scope has this name too", "give one of them another name", name
            )
    return ClassSource(module, node, classes, fields, members, scopes, declared, body.definitions)


class _Body:
    """The members of the classes read so far."""

    def __init__(self, refusals: Refusals) -> None:
        self.refusals = refusals
        self.fields: dict[str, SourceField] = {}
        self.definitions: dict[str, list[tuple[type, Member]]] = {}
        self.scopes: dict[str, tuple[Module, ast.Assign]] = {}
        self.outcomes: dict[type, tuple[Module, ast.Assign]] = {}

    def read(self, cls: type, module: Module, node: ast.ClassDef) -> None:
        """Add the members of one class, and refuse other statements in the class."""
        self._check_single(module, node)
        written: set[str] = set()  # the attributes of the class that its own text sets
        for stmt, following in zip(node.body, [*node.body[1:], None], strict=True):
            with self.refusals.collect(*_defined(stmt)):
                self._add(cls, module, stmt, following, written)
        # An attribute that other code sets would exist for CPython only, not for the engines.
        for name in vars(cls):
            if not name.startswith("_") and name not in written | self.refusals.names:
                with self.refusals.collect(name):
                    module.refuse(
                        node, f"{name} is given to the class elsewhere", "write it in the class", f"class {node.name}"
                    )

    def _add(self, cls: type, module: Module, stmt: ast.stmt, following: ast.stmt | None, written: set[str]) -> None:
        match stmt:
            case ast.AnnAssign(target=ast.Name(id=name)):
                if name in self.fields:
                    module.refuse(stmt, "this field is declared twice", "keep one declaration", name)
                _check_name(cls, module, stmt, name)
                self.fields[name] = SourceField(name, stmt, module, _string(following) or "")
                if stmt.value is not None:
                    written.add(name)
            case ast.FunctionDef(name=name) if name not in self.refusals.names:
                _check_name(cls, module, stmt, name)
                member = _member(cls, module, stmt)
                self.definitions.setdefault(name, []).append((cls, member))
                written.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]) if getattr(getattr(cls, name, None), MARK, None) == "scope":
                if name in written:
                    module.refuse(stmt, "this scope is declared twice", "keep one declaration", name)
                self.scopes[name] = (module, stmt)
                written.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]) if getattr(getattr(cls, name, None), MARK, None) == "outcomes":
                _check_outcomes(module, stmt, name, twice=cls in self.outcomes)
                self.outcomes[cls] = (module, stmt)
                written.add(name)
            case ast.Expr(value=ast.Constant()) | ast.Pass() | ast.FunctionDef():
                pass
            case _:
                module.refuse(
                    stmt,
                    "a model's class holds annotated fields, methods and scopes only",
                    "declare state as `name: Type`, and set it in an @init method",
                )

    def _check_single(self, module: Module, node: ast.ClassDef) -> None:
        """Refuse a method that is defined twice: Python ignores the first definition."""
        own: set[str] = set()
        for stmt in node.body:
            if isinstance(stmt, ast.FunctionDef):
                if stmt.name in own:
                    with self.refusals.collect(stmt.name):
                        module.refuse(
                            stmt, "this method is defined twice", "keep one definition", f"method {stmt.name}"
                        )
                own.add(stmt.name)


def _defined(stmt: ast.stmt) -> set[str]:
    """The names that a statement of a class defines."""
    if isinstance(stmt, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {stmt.name}
    imported = {part.asname or part.name for part in ast.walk(stmt) if isinstance(part, ast.alias)}
    return imported | {
        part.id for part in ast.walk(stmt) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }


def _check_outcomes(module: Module, stmt: ast.Assign, name: str, *, twice: bool) -> None:
    """Refuse outcomes in an attribute other than ``mutants``, or a second time."""
    if name != OUTCOMES:
        module.refuse(stmt, "outcomes have a place of their own", f"write `{OUTCOMES} = outcomes({{...}})`", name)
    if twice:
        module.refuse(stmt, "the outcomes are declared twice", "keep one declaration", name)


def _check_name(cls: type, module: Module, node: ast.stmt, name: str) -> None:
    """Refuse a name that Python or ``Model`` uses: a method of that name would replace a part of the executor."""
    if name.startswith("__"):
        module.refuse(node, "two underscores begin names of Python's own", "give it another name", name)
    for base in cls.__mro__:
        if MARK in vars(base):
            taken = sorted({*vars(base), *inspect.get_annotations(base)})
            if name in taken:
                public = ", ".join(each for each in taken if not each.startswith("_"))
                module.refuse(
                    node, f"{base.__name__} itself has this name", f"give it another name; taken are: {public}", name
                )


def _member(cls: type, module: Module, node: ast.FunctionDef) -> Member:
    function = vars(cls).get(node.name)
    mark = getattr(function, MARK, None)
    if not isinstance(function, FunctionType) or (node.decorator_list and mark is None):
        module.refuse(
            node.decorator_list[0] if node.decorator_list else node,
            "this decorator is not one of the language's",
            "use @init, @action, @variant or a property decorator of holdfast.lang, or none for a helper",
        )
    if len(node.decorator_list) > 1:
        module.refuse(node.decorator_list[1], "a method has one role", "keep one decorator")
    # Other code may have replaced the method. CPython must run the text that the compiler reads.
    first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
    here = f"{cls.__qualname__}.{node.name}"
    if function.__code__.co_firstlineno != first or function.__code__.co_qualname != here:
        module.refuse(
            node,
            "this method was replaced after its definition",
            "assign the method nowhere else, and use the decorators of holdfast.lang only",
            f"method {node.name}",
        )
    return Member(node.name, without_match(node, module.refuse), module, mark)


def _string(stmt: ast.stmt | None) -> str | None:
    match stmt:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return text
    return None


def _definition(cls: type) -> tuple[Module, ast.ClassDef]:
    """The module and the class statement of a class, which must be unique and at the top level of its file."""
    module = sys.modules.get(cls.__module__)
    path = getattr(module, "__file__", None)
    if module is None or path is None:
        raise ModelError(
            Place("<unknown>", 1), f"class {cls.__name__}", "its source file is unknown", "write it to a file"
        )
    where = Module(shown_path(path), vars(module))
    tree = _tree(path)
    named = [stmt for stmt in ast.walk(tree) if isinstance(stmt, ast.ClassDef) and stmt.name == cls.__name__]
    found = [stmt for stmt in named if stmt in tree.body]
    construct = f"class {cls.__qualname__}"
    if not found or cls.__qualname__ != cls.__name__:
        place = where.place(named[0]) if named else Place(where.file, 1)
        raise ModelError(place, construct, "it is not at the top level of its file", "move it there")
    if len(found) > 1:
        where.refuse(found[1], f"line {found[0].lineno} defines this class too", "rename one", construct)
    if found[0].decorator_list:
        where.refuse(found[0].decorator_list[0], "a model's class has no decorators", "drop it", construct)
    return where, found[0]


@cache
def _tree(path: str) -> ast.Module:
    return ast.parse(Path(path).read_bytes(), path)


def shown_path(path: str) -> str:
    """The path relative to the working directory if the file lies below it, otherwise the absolute path."""
    relative = os.path.relpath(path)
    return str(Path(path).resolve()) if relative.startswith("..") else relative
