"""Expands helpers (methods without a decorator) where they are called."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import attrs

from holdfast.ir.compile.annotations import RecordType, scalar
from holdfast.ir.compile.context import Compiler, Env, MapValue, Meaning, RecordValue
from holdfast.ir.compile.conversions import choose, fit, plain_if_known, unit
from holdfast.ir.compile.known_optionals import when_false, when_true
from holdfast.ir.compile.map_parameters import map_parameter, named_map
from holdfast.ir.compile.records import of_kind
from holdfast.ir.compile.source import Member, excerpt
from holdfast.ir.expr import Expr, Lit
from holdfast.ir.types import INT, NONE, NoneType, OptionalType, Scalar


@attrs.frozen
class TuplePart:
    """A part of a tuple: its place from 0, and the number of all parts."""

    place: int
    of: int


WHOLE = TuplePart(0, 0)
"""The whole result, which is no tuple."""


@attrs.frozen
class ResultPart:
    """A part of a record that a helper returns: the record, the part's place from 0, and whether None is allowed."""

    kind: RecordType
    place: int
    optional: bool

    @property
    def type(self) -> Scalar:
        """The type of the part."""
        _, kind = self.kind.parts[self.place]
        return OptionalType(kind) if self.optional else kind


Part = TuplePart | ResultPart
"""Which part of the result of a helper is computed. Each part is an expression of its own."""


def helper_env(
    compiler: Compiler, node: ast.Call, name: str, old: bool, env: Env
) -> tuple[Member, dict[str, Meaning], Env]:
    """The helper of that name, its arguments by parameter, and the environment of its body.

    The environment does not have the parameters yet: the caller binds them to the arguments or to locals. ``old``:
    whether the helper is called on the old state.
    """
    member = compiler.context.members.get(name)
    if member is None:
        env.module.refuse(node, f"the model has no method {name}", "define it as a helper")
    if member.mark is not None:
        env.module.refuse(node, f"{name} is not a helper", "move the shared lines into a method without a decorator")
    if name in env.inlined:
        env.module.refuse(node, f"{name} calls itself", "helpers are expanded in place: write it without recursion")
    params = parameters(member)
    # Not strict: too many or too few arguments are refused below, with the parameters in the message.
    given: dict[str, ast.expr] = dict(zip((param.arg for param in params), node.args, strict=False))
    for word in node.keywords:
        if word.arg is None or word.arg in given or word.arg not in {param.arg for param in params}:
            env.module.refuse(node, f"{name} cannot take {word.arg or '**'}", "pass each parameter once")
        given[word.arg] = word.value
    if len(node.args) > len(params) or len(given) != len(params):
        wanted = ", ".join(param.arg for param in params)
        env.module.refuse(node, f"{name} takes ({wanted})", "pass exactly these")
    args: dict[str, Meaning] = {}
    for param in params:
        if param.annotation is None:
            member.module.refuse(
                param, "a state cannot be passed as an argument", "call the helper on it: old.helper(...)"
            )
        whole = compiler.context.types.record_named(param.annotation, member.module)
        if whole is not None:
            args[param.arg] = of_kind(compiler, whole, given[param.arg], env)
            continue
        wanted_map = map_parameter(param.arg, param.annotation, member.module, compiler.context.types)
        if wanted_map is not None:
            args[param.arg] = _same_map(wanted_map, given[param.arg], env)
            continue
        kind = scalar(param.annotation, member.module, compiler.context.types)
        args[param.arg] = fit(
            compiler.expression(given[param.arg], env), kind, given[param.arg], env, what=f"{name}({param.arg})"
        )
    receiver = member.node.args.args[0].arg
    # Facts are about cells and unique names, so the facts at the call hold in the helper too.
    inner = Env(member.module, {receiver: old}, {}, env.known, (*env.inlined, name))
    return member, args, inner


def _same_map(wanted: MapValue, node: ast.expr, env: Env) -> MapValue:
    """An argument that is a map: a parameter of the action, of the same type."""
    found = named_map(node, env)
    if found is None or found.kind != wanted.kind:
        env.module.refuse(node, f"this is no parameter of type {wanted.kind}", "pass one, or read the field itself")
    return found


def helper_value(compiler: Compiler, node: ast.Call, name: str, old: bool, env: Env, part: Part = WHOLE) -> Expr:
    """The value of a call to a helper: its body with each parameter replaced by its argument.

    ``part``: the part of the tuple or record that the helper returns.
    """
    member, args, inner = helper_env(compiler, node, name, old, env)
    kind = _result_type(compiler, member, node, part, env)
    for param, arg in args.items():
        parts = arg.parts if isinstance(arg, RecordValue) else () if isinstance(arg, MapValue) else (arg,)
        for each in parts:
            compiler.check_eager(each, node, env)
        inner = inner.bind(param, arg)
    found = value_body(compiler, member.node.body, inner, member.node, part)
    if kind is None:
        if unit(found.type) is None and found.type != INT:
            member.module.refuse(member.node, f"its result is {found.type}", "annotate it so", f"def {name}")
        return found
    return fit(found, kind, member.node, inner, what=f"the result of {name}")


def helper_record(compiler: Compiler, node: ast.expr, env: Env) -> RecordValue | None:
    """The record that a call to a helper returns, or None if the expression is something else."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=state), attr=name)) if state in env.states:
            member = compiler.context.members.get(name)
        case _:
            return None
    if member is None or member.node.returns is None:
        return None
    kind, optional = compiler.context.types.record_or_none(member.node.returns, member.module)
    if kind is None:
        return None
    wanted = [ResultPart(kind, place, optional) for place in range(len(kind.parts))]
    values = [helper_value(compiler, node, name, env.states[state], env, part) for part in wanted]
    return RecordValue(kind, tuple(values), optional)


def _result_type(compiler: Compiler, member: Member, node: ast.Call, part: Part, env: Env) -> Scalar | None:
    """The annotated type of a helper's result, or of a part of it; None for ``int``, any number."""
    if isinstance(part, ResultPart):
        return part.type
    returns = _annotation_of_part(member, node, part, env)
    is_number = isinstance(returns, ast.Name) and returns.id == "int"
    return None if is_number else scalar(returns, member.module, compiler.context.types)


def _annotation_of_part(member: Member, node: ast.Call, part: TuplePart, env: Env) -> ast.expr:
    """The annotation of the whole result of a helper, or of a part of the tuple that it returns."""
    name = member.name
    match member.node.returns:
        case None | ast.Constant(value=None) if part is WHOLE:
            env.module.refuse(
                node, f"{name} returns nothing", "call it on a line of its own, or annotate what it returns"
            )
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=kinds)):
            if part is WHOLE:
                env.module.refuse(node, f"{name} returns a tuple", "unpack it: `x, y = ...`")
            if len(kinds) != part.of:
                env.module.refuse(node, f"{name} returns {len(kinds)} values", f"unpack {len(kinds)} names")
            return kinds[part.place]
        case ast.expr() as returns if part is WHOLE:
            return returns
    return env.module.refuse(node, f"{name} returns no tuple", "annotate it: `-> tuple[A, B]`, or assign one name")


def unpacked(compiler: Compiler, node: ast.expr, count: int, env: Env) -> list[Expr]:
    """The values that an assignment to ``count`` targets unpacks: of a tuple, or of a helper that returns one."""
    return [tuple_part(compiler, node, TuplePart(place, count), env) for place in range(count)]


def tuple_part(compiler: Compiler, node: ast.expr, part: TuplePart, env: Env) -> Expr:
    """A part of a tuple: of one that is written out, or of one that a helper returns."""
    match node:
        case ast.Tuple(elts=parts) if len(parts) == part.of:
            return plain_if_known(compiler.expression(parts[part.place], env), env)
        case ast.Tuple(elts=parts):
            env.module.refuse(
                node, f"a tuple of length {len(parts)} is given to {part.of} names", "give each name one value"
            )
        case ast.Call(func=ast.Attribute(value=ast.Name(id=state), attr=name)) if state in env.states:
            return helper_value(compiler, node, name, env.states[state], env, part)
    return env.module.refuse(node, "this is no tuple", "write the values, or call a helper that returns a tuple")


def value_body(compiler: Compiler, body: Sequence[ast.stmt], env: Env, owner: ast.AST, part: Part = WHOLE) -> Expr:
    """The value of a body that only computes: locals, ``if`` and ``return``.

    ``owner``: the statement that a message names if a path ends without a ``return``. ``part``: the part of the tuple
    or record that the body returns.
    """
    for index, stmt in enumerate(body):
        rest = body[index + 1 :]
        check_reached(rest, stmt, env)
        match stmt:
            case ast.Pass() | ast.Expr(value=ast.Constant(value=str())):
                continue
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                whole := compiler.record(value, env)
            ) is not None:
                env = _local_record(compiler, stmt, name, whole, env)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                env = _local(compiler, stmt, name, compiler.expression(value, env), env)
            case ast.AnnAssign(target=ast.Name(id=name), annotation=note, value=ast.expr() as value):
                kind = scalar(note, env.module, compiler.context.types)
                found = fit(compiler.expression(value, env), kind, value, env)
                env = _local(compiler, stmt, name, found, env)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                parts = unpacked(compiler, value, len(targets), env)
                for target, each in zip(targets, parts, strict=True):
                    if not isinstance(target, ast.Name):
                        env.module.refuse(target, "this body must compute a value only", "unpack to locals")
                    env = _local(compiler, stmt, target.id, each, env)
            case ast.Return(value=ast.expr() as value):
                return _returned(compiler, value, part, env)
            case ast.If(test=test, body=then, orelse=orelse):
                cond = compiler.test(test, env)
                left = value_body(compiler, join_rest(then, rest), env.knowing(when_true(cond)), stmt, part)
                right = value_body(compiler, join_rest(orelse, rest), env.knowing(when_false(cond)), stmt, part)
                return choose(cond, left, right, stmt, env)
            case _:
                env.module.refuse(
                    stmt,
                    "this body must compute a value only",
                    "use locals, if and return; no writes, no require, no loops",
                )
    return env.module.refuse(owner, "a path ends without a return", "return a value on every path", _head(owner))


def _returned(compiler: Compiler, node: ast.expr, part: Part, env: Env) -> Expr:
    """The value that a ``return`` gives to a part of the result."""
    if isinstance(part, TuplePart):
        whole = part is WHOLE
        return plain_if_known(compiler.expression(node, env), env) if whole else tuple_part(compiler, node, part, env)
    if isinstance(node, ast.Constant) and node.value is None:
        if not part.optional:
            problem = f"the result needs {part.kind}, and this is None"
            env.module.refuse(node, problem, f"annotate it: `-> {part.kind} | None`")
        return Lit(None, NONE)
    found = of_kind(compiler, part.kind, node, env, optional=part.optional)
    return plain_if_known(found.parts[part.place], env)


def _local(compiler: Compiler, node: ast.stmt, name: str, value: Expr, env: Env) -> Env:
    """The environment with one more local. The local stands for its value: no ``Let`` is possible in an expression."""
    if name in env.names:
        env.module.refuse(node, f"{name} has a value already", "a local is assigned once: use another name")
    env.check_free(node, name)
    compiler.check_eager(value, node, env)
    if isinstance(value.type, NoneType):
        env.module.refuse(node, f"{name} would only ever be None", "write None where it is used")
    return env.bind(name, value)


def _local_record(compiler: Compiler, node: ast.stmt, name: str, value: RecordValue, env: Env) -> Env:
    """The environment with one more local that is a record."""
    if name in env.names:
        env.module.refuse(node, f"{name} has a value already", "a local is assigned once: use another name")
    env.check_free(node, name)
    for each in value.parts:
        compiler.check_eager(each, node, env)
    return env.bind(name, value)


def parameters(member: Member) -> list[ast.arg]:
    """The parameters of a method after the first one.

    Refuses defaults, ``*``, ``**``, keyword-only and positional-only parameters, and a parameter without an annotation
    (except ``old``).
    """
    spec = member.node.args
    if spec.vararg or spec.kwarg or spec.kwonlyargs or spec.posonlyargs or spec.defaults or not spec.args:
        member.module.refuse(
            member.node,
            "its parameters are not plain",
            "take self and annotated parameters, without defaults, * or **",
            f"def {member.name}",
        )
    for arg in spec.args[1:]:
        if arg.annotation is None and arg.arg != "old":
            member.module.refuse(arg, f"the parameter {arg.arg} has no type", f"write {arg.arg}: Type")
    return spec.args[1:]


def check_returns(member: Member, wanted: str) -> None:
    """Refuse a method whose result has another annotation than ``wanted``."""
    returns = member.node.returns
    if returns is None or ast.unparse(returns) != wanted:
        member.module.refuse(
            member.node, "its result is not annotated so", f"write `-> {wanted}`", f"def {member.name}"
        )


def join_rest(branch: Sequence[ast.stmt], rest: Sequence[ast.stmt]) -> list[ast.stmt]:
    """A branch followed by the statements after its ``if``, unless every path through the branch returns."""
    return list(branch) if _always_returns(branch) else [*branch, *rest]


def check_reached(rest: Sequence[ast.stmt], stmt: ast.stmt, env: Env) -> None:
    """Refuse the statements after ``stmt`` if every path through ``stmt`` returns."""
    if rest and _always_returns([stmt]):
        env.module.refuse(rest[0], "this line is never reached", "delete it")


def _always_returns(body: Sequence[ast.stmt]) -> bool:
    match body[-1:]:
        case [ast.Return()]:
            return True
        case [ast.If(body=then, orelse=orelse)]:
            return _always_returns(then) and _always_returns(orelse)
    return False


def _head(node: ast.AST) -> str:
    return f"def {node.name}" if isinstance(node, ast.FunctionDef) else excerpt(node)
