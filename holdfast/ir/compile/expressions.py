"""Translates Python expressions to typed expressions of the transition system.

An Optional counts as a plain value only after a test for None *in the same condition, branch or filter*. A test in an
earlier ``require`` does not count: mutation may remove that rule, and the other expressions must still have a value.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from holdfast.ir.compile import records
from holdfast.ir.compile.annotations import BUILTINS, RecordType, key, resolve
from holdfast.ir.compile.builtin_remedies import of_call, of_construct
from holdfast.ir.compile.comparisons import comparison
from holdfast.ir.compile.constants import constant
from holdfast.ir.compile.context import Context, Env, MapValue, Meaning, RecordValue, StateField
from holdfast.ir.compile.conversions import choose, fit, plain_if_known
from holdfast.ir.compile.field_types import Shape
from holdfast.ir.compile.folds import absolute, arithmetic, count, extremum, literal, quantified, total
from holdfast.ir.compile.helpers import helper_record, helper_value
from holdfast.ir.compile.known_optionals import when_false, when_true
from holdfast.ir.compile.map_parameters import lookup, named_map
from holdfast.ir.compile.orders import ENDS, NEIGHBOURS, end, length, neighbour
from holdfast.ir.compile.record_fields import held, refuse_held
from holdfast.ir.compile.results import reads_computed_key
from holdfast.ir.compile.sequences import (
    call,
    entry,
    refuse_whole,
    sequence,
    sequence_field,
)
from holdfast.ir.compile.source import excerpt
from holdfast.ir.expr import TRUE, And, Expr, Lit, Name, Not, Or, Read, Ruled
from holdfast.ir.marks import MARK
from holdfast.ir.names import UniqueName, source_name
from holdfast.ir.types import BOOL, NONE, EnumType, Key, NumberType, OptionalType

# A name has no dash, so that a side of ``holdfast diff`` such as MODEL-first-ST-14 can be read in one way only.
LABEL = re.compile(r"[0-9]*[A-Z][A-Z0-9]*-[0-9][A-Za-z0-9]*|[a-z][a-z0-9_]*", re.ASCII)
LONGEST_LABEL = 40

DEEPEST = 100
"""The greatest depth of nested expressions, with the helpers expanded that they call."""


class Expressions:
    """Compiles the expressions of one body; ``fresh`` hands out names that are unique within it."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.locals: dict[str, Expr] = {}
        """The value of each local, by its unique name."""
        self._taken: set[str] = set()
        self._depth = 0

    def local(self, name: str, value: Expr) -> Name:
        """A local with this value, under a name not used before in this body."""
        unique = self.fresh(name)
        self.locals[unique] = value
        return Name(unique, value.type)

    def fresh(self, name: str) -> str:
        """A name not used before in this body: ``s``, then ``s_2``, ``s_3``, …, which remember their source name."""
        candidate, number = name, 1
        while candidate in self._taken:
            number += 1
            candidate = UniqueName(f"{name}_{number}", source_name(name))
        self._taken.add(candidate)
        return candidate

    def check_eager(self, expr: Expr, node: ast.AST, env: Env) -> None:
        """Refuse a computed key in an expression that Python computes at once, and the engines where it is used.

        A key beyond its bound would cut the step in one of them only.
        """
        if reads_computed_key(expr, self.locals):
            env.module.refuse(
                node,
                "a computed key stands in a value that may not be used",
                "write it where it is used, or give it a name in the action: x = ...",
            )

    # Conditions -----------------------------------------------------------------------------------------------

    def condition(self, node: ast.expr, env: Env) -> Expr:
        """An expression as a truth value. Raises ModelError if it is none."""
        found = plain_if_known(self.expression(node, env), env)
        if found.type != BOOL:
            remedy = "test it with `is not None`" if isinstance(found.type, OptionalType) else "compare it"
            env.module.refuse(node, f"a condition is needed, and this is {found.type}", remedy)
        return found

    def test(self, node: ast.expr, env: Env) -> Expr:
        """The test of an ``if``: a condition, or a rule with its label."""
        match node:
            case ast.Call(func=ast.Name() as func) if self.role(func, env) == "rule":
                return self._rule(node, env)
            case ast.UnaryOp(op=ast.Not(), operand=ast.Call(func=ast.Name() as func)) if self.role(func, env) == "rule":
                env.module.refuse(
                    node, "a rule cannot be negated", "write `if rule(...): pass` and use the else branch"
                )
        return self.condition(node, env)

    def _rule(self, node: ast.Call, env: Env) -> Expr:
        if node.keywords or not 1 <= len(node.args) <= 2:
            env.module.refuse(node, "rule takes a label and at most one condition", 'write rule("ST-14", cond)')
        label = self.label(node.args[0], node, env)
        return Ruled(label, self.condition(node.args[1], env) if len(node.args) == 2 else TRUE)

    def label(self, node: ast.expr, place: ast.AST, env: Env) -> str:
        """A rule's label: a rule id or a short name, with an optional suffix, at one place of the source."""
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            env.module.refuse(node, "a label is a literal", 'write it in quotes: "ST-14"')
        text = node.value
        name, *suffixes = text.split(".")
        if not LABEL.fullmatch(name):
            remedy = 'write it like "CK-01.expired" or "not_twice"'
            env.module.refuse(node, "a label is a rule id, or a name in lower case", remedy)
        if not all(part.replace("_", "").isalnum() and part == part.lower() for part in suffixes):
            env.module.refuse(node, "a label's suffix is lower case", 'write it like "CK-01.expired"')
        if len(text) > LONGEST_LABEL:
            env.module.refuse(node, f"this label has {len(text)} characters", f"use at most {LONGEST_LABEL}")
        module, first = self.context.labels.setdefault(text, (env.module, place))
        if module.place(first) != env.module.place(place):
            env.module.refuse(
                place,
                f"the label {text} stands at {module.place(first)} too",
                "give one of them a suffix, or share the line in a helper",
            )
        return text

    def place_label(self, node: ast.Call, env: Env) -> str:
        """The name of a guard without a label: FILE:LINE, with as much more of its place as tells it apart."""
        at = env.module.place(node)
        name = f"{Path(at.file).name}:{at.line}"
        for label in (name, f"{name}:{at.column}", f"{at.file}:{at.line}:{at.column}"):
            module, first = self.context.labels.setdefault(label, (env.module, node))
            if module.place(first) == at:
                break
        return label

    def role(self, node: ast.expr, env: Env) -> object:
        """The role of a called name: ``require``, ``rule``, ``count``, a type's role, a builtin's name, or None."""
        match node:
            case ast.Name(id=name):
                if name in env.names or name in env.states:
                    return None
                if name in env.module.names:
                    return getattr(env.module.names[name], MARK, None)
                return name if name in ("all", "any", "sum", "min", "max", "abs", "len") else None
            case ast.Attribute():
                return None
        return None

    # Expressions ----------------------------------------------------------------------------------------------

    def expression(self, node: ast.expr, env: Env) -> Expr:
        """An expression of any type. Raises RecursionError beyond ``DEEPEST``, on any machine and stack size."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise RecursionError
        try:
            return self._expression(node, env)
        finally:
            self._depth -= 1

    def _expression(self, node: ast.expr, env: Env) -> Expr:
        match node:
            case ast.Constant():
                return self._constant(node, env)
            case ast.Name(id=name):
                return self._name(node, name, env)
            case ast.Attribute():
                return self._attribute(node, env)
            case ast.Subscript():
                return self._subscript(node, env)
            case ast.BoolOp(op=op, values=values):
                return self._connective(isinstance(op, ast.And), values, env)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Not(self.condition(operand, env))
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))) if not isinstance(value, bool):
                return Lit(-value, NumberType())
            case ast.Compare():
                return comparison(self, node, env)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._if_else(node, test, body, orelse, env)
            case ast.BinOp():
                return arithmetic(self, node, env)
            case ast.Call():
                return self._call(node, env)
        return env.module.refuse(node, *of_construct(node))

    def record(self, node: ast.expr, env: Env) -> RecordValue | None:
        """The record that an expression stands for, or None if it is something else."""
        if isinstance(node, ast.Attribute | ast.Subscript):
            of_sequence = entry(self, node, env)
            return of_sequence if isinstance(of_sequence, RecordValue) else held(self, node, env)
        return records.named(self, node, env) or helper_record(self, node, env)

    def _single(self, found: Meaning, node: ast.expr, env: Env) -> Expr:
        """The value, which is no record and no map."""
        if isinstance(found, MapValue):
            name = excerpt(node)
            env.module.refuse(node, f"{name} is a map, and no single value", f"name a cell: {name}[...]")
        return records.refuse_whole(found, node, env) if isinstance(found, RecordValue) else found

    def _constant(self, node: ast.Constant, env: Env) -> Expr:
        match node.value:
            case bool(value):
                return Lit(value, BOOL)
            case int(value):
                return Lit(value, NumberType())
            case None:
                return Lit(None, NONE)
        return env.module.refuse(
            node, "this constant is outside the language", "use True, False, None, a number or an Enum"
        )

    def _name(self, node: ast.expr, name: str, env: Env) -> Expr:
        if name in env.names:
            return self._single(env.names[name], node, env)
        if name in env.states:
            env.module.refuse(node, "a state is not a value", f"name a field: {name}.field")
        found = constant(self.context, node, name, env)
        if found is not None:
            return found
        if name in env.module.names or name in BUILTINS:
            env.module.refuse(
                node, "this is not a value of the model", "use a parameter, a local, a field or a constant"
            )
        return env.module.refuse(
            node,
            "this name has no value here",
            "assign it before, on every path that leads here, or take it as a parameter",
        )

    def _attribute(self, node: ast.Attribute, env: Env) -> Expr:
        match node.value:
            case ast.Name(id=state) if state in env.states:
                field = self._field(node, env)
                if field.index is not None:
                    refuse_whole(node, env)
                refuse_held(self, node, env)
                if field.flag is not None:  # a literal, so that ``simplify`` removes the branches of other variants
                    return Lit(field.flag, BOOL)
                if field.keys:
                    env.module.refuse(node, f"{node.attr} is a map", f"name a cell: {state}.{node.attr}[...]")
                return Read(node.attr, (), field.value, env.states[state])
            case ast.Attribute() | ast.Name() if self._names_class(node.value, env):
                kind = self.context.types.of_class(resolve(node.value, env.module), env.module, node.value)
                if isinstance(kind, EnumType):
                    if node.attr not in kind.members:
                        env.module.refuse(
                            node, f"{kind} has no member {node.attr}", f"use one of {', '.join(kind.members)}"
                        )
                    return Lit(node.attr, kind)
                if node.attr in ENDS:
                    return end(self, node, kind, env)
            case ast.Attribute() | ast.Subscript() if (found := entry(self, node, env)) is not None:
                return self._single(found, node, env)
            case _ if (whole := self.record(node.value, env)) is not None:
                return records.part(whole, node, env)
            case _ if node.attr in NEIGHBOURS:
                return neighbour(self, node, env)
        return env.module.refuse(
            node, "this attribute is outside the language", "use a field of self or a member of an Enum"
        )

    def _names_class(self, node: ast.expr, env: Env) -> bool:
        """Whether a dotted name stands for a class of the module, and not for a value."""
        if isinstance(node, ast.Attribute) and node.attr in (*ENDS, *NEIGHBOURS):
            return False  # a value, as in ``Seat.last.next``, which has no size to be looked up in
        root = _root(node)
        return root not in env.names and root not in env.states and isinstance(resolve(node, env.module), type)

    def _field(self, node: ast.Attribute, env: Env) -> StateField:
        field = self.context.fields.get(node.attr)
        if field is None:
            if node.attr in self.context.members:
                env.module.refuse(node, f"{node.attr} is a method", f"call it: {ast.unparse(node)}(...)")
            env.module.refuse(node, f"the model has no field {node.attr}", "declare it in the class: `name: Type`")
        return field

    def _subscript(self, node: ast.Subscript, env: Env) -> Expr:
        of_sequence = entry(self, node, env)
        if of_sequence is not None:
            return self._single(of_sequence, node, env)
        refuse_held(self, node, env)
        if sequence(self, node, env) is not None:
            refuse_whole(node, env)
        match node.value:
            case ast.Name() if (chosen := named_map(node.value, env)) is not None:
                return lookup(self, chosen, node, env)
            case ast.Attribute(value=ast.Name(id=state)) if state in env.states:
                name, keys, field = self.cell(node, env)
                return Read(name, keys, field.value, env.states[state])
        return env.module.refuse(node, "only a field has cells", "write self.field[key]")

    def cell(self, node: ast.Subscript, env: Env) -> tuple[str, tuple[Expr, ...], StateField]:
        """The variable, the keys and the field of a cell ``self.field[...]``."""
        assert isinstance(node.value, ast.Attribute)
        field = self._field(node.value, env)
        if not field.keys:
            env.module.refuse(node, f"{node.value.attr} is not a map", f"write self.{node.value.attr}")
        return node.value.attr, self.keys(node, field.shape, node.value.attr, env), field

    def keys(self, node: ast.Subscript, shape: Shape, name: str, env: Env) -> tuple[Expr, ...]:
        """The keys of a cell of the field ``name``. A computed number may lie beyond its bound: see ``key_bounds``."""
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if len(parts) != len(shape):
            wanted = ", ".join(str(kind) for kind in shape)
            env.module.refuse(node, f"{len(parts)} keys are given", f"{name} takes [{wanted}]")
        keys: list[Expr] = []
        for part, kind in zip(parts, shape, strict=True):
            if isinstance(kind, RecordType):
                keys += records.of_kind(self, kind, part, env).parts
            else:
                keys.append(fit(self.expression(part, env), kind, part, env, what=f"a key of {name}"))
        return tuple(keys)

    def _connective(self, conjunction: bool, values: Sequence[ast.expr], env: Env) -> Expr:
        args: list[Expr] = []
        for value in values:
            arg = self.condition(value, env)
            args.append(arg)
            # A later part is evaluated only if the earlier parts hold (``and``) or fail (``or``).
            env = env.knowing(when_true(arg) if conjunction else when_false(arg))
        return And(tuple(args)) if conjunction else Or(tuple(args))

    def _if_else(self, node: ast.AST, test: ast.expr, then: ast.expr, orelse: ast.expr, env: Env) -> Expr:
        cond = self.test(test, env)
        held, failed = env.knowing(when_true(cond)), env.knowing(when_false(cond))
        left, right = (
            plain_if_known(self.expression(then, held), held),
            plain_if_known(self.expression(orelse, failed), failed),
        )
        return choose(cond, left, right, node, env)

    def _call(self, node: ast.Call, env: Env) -> Expr:
        made = self.record(node, env)
        if made is not None:
            records.refuse_whole(made, node, env)
        match node.func:
            case ast.Attribute(value=ast.Name(id=state), attr=name) if state in env.states:
                return helper_value(self, node, name, env.states[state], env)
            case ast.Attribute(value=value, attr=name) if (found := sequence(self, value, env)) is not None:
                return call(self, found, name, node, env)
        role = self.role(node.func, env)
        if isinstance(role, str) and role in HANDLERS:
            if node.keywords and role not in ("min", "max"):
                env.module.refuse(node, f"{ast.unparse(node.func)} takes no keyword here", "drop it")
            return HANDLERS[role](self, node, env)
        if role == "rule":
            env.module.refuse(
                node, "a rule stands only as the whole test of an `if`", 'write `if rule("ST-14", cond):`'
            )
        if role == "require":
            env.module.refuse(node, "require is a statement", "put it on a line of its own")
        return env.module.refuse(node, *of_call(node))

    def domain(self, node: ast.expr, env: Env) -> Key:
        """The type that a loop or a comprehension runs over."""
        if sequence_field(self, node.value if isinstance(node, ast.Subscript) else node, env) is not None:
            remedy = "write `for i in Index` with its index, and filter with `if i < len(...)`"
            env.module.refuse(node, "a loop runs over a whole type", remedy)
        if _root(node) is None or _root(node) in env.names or _root(node) in env.states:
            env.module.refuse(node, "a loop runs over a whole type", "write `for x in Sort` and filter with `if`")
        return key(node, env.module, self.context.types)

    def domain_or_record(self, node: ast.expr, env: Env) -> Key | RecordType:
        """The type that a loop or a comprehension runs over, which may be a record."""
        found = records.record_type(self.context.types, node, env)
        return self.domain(node, env) if found is None else found.as_key(node, env.module)


HANDLERS: dict[str, Callable[[Expressions, ast.Call, Env], Expr]] = {
    "all": quantified,
    "any": quantified,
    "count": count,
    "sum": total,
    "min": extremum,
    "max": extremum,
    "abs": absolute,
    "len": length,
    "nat": literal,
    "ring": literal,
    "int": literal,
}


def _root(node: ast.expr) -> str | None:
    """The name that a dotted name begins with."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
