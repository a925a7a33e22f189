"""Expressions that a user writes about a state: conditions to look for, values to watch.

They are written in the model language, like the body of an invariant, and compiled by the model's own compiler, so
users get its messages. There are three additions to the language of invariants: a field or helper needs no ``self.``,
an element is called by its name (``n1``), and the name of a state property stands for its truth value (``one_owner``).

    epoch[s1] > 1 and not opened[s1]
    any(handle[p, s1] == epoch[s1] for p in Proc if reserved[p])
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NoReturn

import attrs

from holdfast.ir.compile.annotations import BUILTINS, Types
from holdfast.ir.compile.context import Context, Env, StateField
from holdfast.ir.compile.conversions import plain_if_known
from holdfast.ir.compile.expressions import Expressions
from holdfast.ir.compile.field_types import field_type
from holdfast.ir.compile.key_bounds import defined
from holdfast.ir.compile.refusals import Refusals
from holdfast.ir.compile.simplify import simplify
from holdfast.ir.compile.source import ClassSource, Module, read_class
from holdfast.ir.errors import ModelError, UsageError
from holdfast.ir.expr import TRUE, Expr, Fold, IfElse, Lit, Quantified, Ruled, Wrap, conjunction, walk
from holdfast.ir.similar_names import did_you_mean
from holdfast.ir.system import PropertyKind, System
from holdfast.ir.types import BOOL, MapType, NoneType, NumberType, OptionalType
from holdfast.lower.layout import Layout, Value
from holdfast.lower.python.values import LANGUAGE, value_function

LONGEST = 2_000
"""Characters. A longer expression was not written by hand; it belongs in the model."""

STATES: tuple[PropertyKind, ...] = ("invariant", "lemma", "witness", "final", "assume")
"""The kinds of property that are about one state."""


@attrs.frozen
class Expression:
    """A compiled expression: its text, whether it is a condition, and the function that evaluates it in a state."""

    text: str
    is_condition: bool
    value: Callable[[Any], Value] = attrs.field(eq=False, repr=False)
    """Takes a state in the engines' encoding; for a run without a model, the values of a state's cells."""


class ExpressionCompiler:
    """Compiles expressions over the states of one system in one scope."""

    def __init__(self, system: System, layout: Layout) -> None:
        self.system = system
        self.layout = layout
        source = read_class(system.python, Refusals())  # the model is compiled, so nothing is refused
        self._context = _context(source, system)
        names = {**LANGUAGE, **{kind.__name__: kind for kind in self._context.types.known}, **source.module.names}
        self._module = Module("", names)
        self._properties = {prop.name: prop.body for prop in system.of_kind(*STATES)}
        self._elements: dict[str, Expr] = {
            name: Lit(code, sort) for sort in system.sorts for code, name in enumerate(layout.elements[sort.name])
        }

    def compile(self, text: str) -> Expression:
        """The compiled expression of a text; raises UsageError with the column of the error."""
        tree = parse_expression(text)
        try:
            body = simplify(self._compiled(tree))
        except ModelError as error:
            raise UsageError(_message(error)) from None
        except RecursionError:
            raise UsageError(f"{short(text)}: nested too deeply; ask for its parts one by one") from None
        for part in walk(body):
            if isinstance(part, Ruled):
                _wrong(text, f"it reads the rule {part.label}", "say what it means in terms of the state")
        if isinstance(body.type, NoneType):
            _wrong(text, "this is None in every state", "compare something with it: `owner[s1] is None`")
        body = self._within_bounds(text, body)
        value = value_function(self.layout, f"the expression {short(text)}", body)
        return Expression(text.strip(), body.type == BOOL, value)

    def _within_bounds(self, text: str, body: Expr) -> Expr:
        """The expression with a value also where it computes a key beyond its bound: False, or None."""
        inside = defined(body, self._context.keys)
        if inside == TRUE:
            return body
        if body.type == BOOL:
            return conjunction([inside, body])
        if isinstance(body.type, NumberType | NoneType | MapType):
            _wrong(text, "a number is computed from a cell at a computed key", "compare it with a number")
        optional = body.type if isinstance(body.type, OptionalType) else OptionalType(body.type)
        return IfElse(inside, body if body.type == optional else Wrap(body, optional), Lit(None, optional), optional)

    def _compiled(self, tree: ast.expr) -> Expr:
        expressions = Expressions(self._context)
        # Bound names must be unique within an expression: names that a property binds may not be used again.
        for body in self._properties.values():
            for part in walk(body):
                if isinstance(part, Quantified | Fold):
                    expressions.fresh(part.var)
        bound = {part.id for part in ast.walk(tree) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
        self._check_names(tree, bound)
        # A bound variable of the expression hides a property or element of the same name.
        names = {name: expr for name, expr in (self._properties | self._elements).items() if name not in bound}
        members = {*self._context.fields, *self._helpers} - bound - names.keys()
        env = Env(self._module, {"self": False}, names, frozenset(), ())
        return plain_if_known(expressions.expression(_Short(members).visit(tree), env), env)

    @property
    def _helpers(self) -> list[str]:
        return [name for name, member in self._context.members.items() if member.mark is None]

    def _check_names(self, tree: ast.expr, bound: set[str]) -> None:
        """Raise UsageError for the first name that means nothing here."""
        model = [*self._context.fields, *self._helpers, *self._properties, *self._elements]
        known = {
            "self",
            "all",
            "any",
            "sum",
            "min",
            "max",
            "abs",
            "len",
            *model,
            *bound,
            *BUILTINS,
            *self._module.names,
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id not in known:
                if node.id in self._context.members:
                    remedy = "ask for a field, a helper, or a property of states"
                    raise UsageError(f"{column(node)}: {node.id}: it is not about a single state; {remedy}")
                hint = did_you_mean(node.id, model, f"its fields: {', '.join(self._context.fields)}")
                raise UsageError(f"{column(node)}: {self.system.name} has no {node.id!r} in this scope; {hint}")


def _message(error: ModelError) -> str:
    """The compiler's message; for a place within the expression itself only the column is given."""
    place = f"column {error.place.column}" if not error.place.file else str(error.place)
    return f"{place}: {error.construct}: {error.problem}; {error.remedy}"


def column(node: ast.expr) -> str:
    """The column of a part of an expression, for messages."""
    return f"column {node.col_offset + 1}"


def parse_expression(text: str) -> ast.expr:
    """The syntax tree of an expression; raises UsageError if the text is empty, too long or no expression."""
    if not text.strip():
        raise UsageError("the expression is empty; write one such as `epoch[s1] > 1`")
    if len(text) > LONGEST:
        raise UsageError(f"the expression has {len(text):,} characters; write at most {LONGEST:,}")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        column = f"column {error.offset}: " if error.offset else ""
        raise UsageError(f"{column}{short(text)}: {error.msg}; write one expression of the model language") from None
    except (ValueError, RecursionError, MemoryError):
        raise UsageError(f"{short(text)}: this is no expression; write one of the model language") from None


def short(text: str) -> str:
    """A text on one line, cut to a readable length."""
    line = "".join(char if char.isprintable() else "?" for char in " ".join(text.split()))
    return line if len(line) <= 60 else f"{line[:57]}..."


def _wrong(text: str, problem: str, remedy: str) -> NoReturn:
    raise UsageError(f"{short(text)}: {problem}; {remedy}")


def _context(source: ClassSource, system: System) -> Context:
    """The compile context with the model's fields and methods, as the model's own bodies see them."""
    types, fields = Types(), {}
    for name, field in source.fields.items():
        kind = field_type(field.node.annotation, field.module, types)
        fields[name] = StateField(kind, name in system.chosen if kind.flag else None, field)
    return Context(types, fields, source.members, {})


class _Short(ast.NodeTransformer):
    """Puts ``self.`` before fields and helpers that are written without it."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.names:
            return node
        return ast.copy_location(ast.Attribute(ast.copy_location(ast.Name("self"), node), node.id), node)
