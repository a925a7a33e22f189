"""Translates the body of an action or an initial condition to statements of the transition system.

``return`` becomes nesting: the statements after an ``if`` that may return move into the branches that do not return.
Procedures (helpers that return nothing) are expanded in place. Their arguments are stored in locals first, so a write
in the procedure cannot change them.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

import attrs

from holdfast.ir.compile.annotations import scalar
from holdfast.ir.compile.bags import WRITES, changed_bag, outside
from holdfast.ir.compile.context import Context, Env, MapValue, Meaning, RecordValue
from holdfast.ir.compile.conversions import fit
from holdfast.ir.compile.expressions import Expressions
from holdfast.ir.compile.helpers import check_reached, helper_env, join_rest, unpacked
from holdfast.ir.compile.known_optionals import after_write, when_false, when_true
from holdfast.ir.compile.map_parameters import chosen, named_map, written_map
from holdfast.ir.compile.memberships import members
from holdfast.ir.compile.record_fields import assigned, filled, record_field
from holdfast.ir.compile.records import value_of, variables
from holdfast.ir.compile.sequences import clear_all, copy, sequence, sequence_field, write
from holdfast.ir.compile.source import Member
from holdfast.ir.expr import Expr, Lit, Read, walk
from holdfast.ir.names import UniqueName
from holdfast.ir.stmt import Assign, Fill, For, If, Let, Require, Stmt, statements
from holdfast.ir.system import Param
from holdfast.ir.types import EnumType, MapType, NoneType, Scalar

OUTSIDE: dict[type[ast.stmt], tuple[str, str]] = {
    ast.While: ("a while loop may not end", "write `for x in Sort`"),
    ast.Try: ("exceptions are outside the language", "use if"),
    ast.With: ("a context manager is outside the language", "drop it"),
    ast.Assert: ("an assert says nothing to the engines", "write require(..., LABEL), or an @invariant"),
    ast.Raise: ("exceptions are outside the language", "write require(cond, LABEL)"),
    ast.Delete: ("a cell cannot be deleted", "write None, or a reset value"),
    ast.Global: ("a model has no globals", "declare a field"),
    ast.Nonlocal: ("a model has no globals", "declare a field"),
    ast.Import: ("an import inside a method", "move it to the top of the file"),
    ast.ImportFrom: ("an import inside a method", "move it to the top of the file"),
    ast.FunctionDef: ("a nested function is outside the language", "make it a helper method"),
    ast.ClassDef: ("a nested class is outside the language", "move it to the top of the file"),
    ast.Break: ("a break makes the order of a loop matter", "filter with `if`"),
    ast.Continue: ("a continue is outside the language", "filter with `if`"),
}


class BodyCompiler:
    """Compiles the bodies that make up one action or initial condition. Names are unique across all of them."""

    def __init__(self, context: Context, *, starts: bool = False) -> None:
        self.context = context
        self.expressions = Expressions(context)
        self.starts = starts
        """Whether the bodies make up the initial condition, which may choose whole maps."""
        self.chosen: list[Param] = []
        """The parameters that stand for the chosen maps."""

    def body(self, member: Member, params: Mapping[str, Meaning]) -> tuple[Stmt, ...]:
        """The statements of a method. ``params``: the value of each parameter."""
        receiver = member.node.args.args[0].arg
        env = Env(member.module, {receiver: False}, params, frozenset(), (member.name,))
        return tuple(self._sequence(member.node.body, env, in_loop=False))

    def _sequence(self, body: Sequence[ast.stmt], env: Env, *, in_loop: bool) -> list[Stmt]:
        done: list[Stmt] = []
        for index, stmt in enumerate(body):
            rest = body[index + 1 :]
            check_reached(rest, stmt, env)
            match stmt:
                case ast.Return():
                    self._return(stmt, env, in_loop)
                    return done
                case ast.If() if _returns(stmt):
                    if in_loop:
                        env.module.refuse(stmt, "a return inside a loop makes its order matter", "filter with `if`")
                    test = self.expressions.test(stmt.test, env)
                    # ``rest`` is compiled in each branch that does not return, with the facts of that branch.
                    then = self._sequence(join_rest(stmt.body, rest), env.knowing(when_true(test)), in_loop=False)
                    orelse = self._sequence(join_rest(stmt.orelse, rest), env.knowing(when_false(test)), in_loop=False)
                    done.append(If(test, tuple(then), tuple(orelse), env.module.place(stmt)))
                    return done
                case _:
                    made, env = self._statement(stmt, env, in_loop)
                    done.extend(made)
        return done

    def _return(self, stmt: ast.Return, env: Env, in_loop: bool) -> None:
        if in_loop:
            env.module.refuse(stmt, "a return inside a loop makes its order matter", "filter with `if`")
        if stmt.value is not None and not (isinstance(stmt.value, ast.Constant) and stmt.value.value is None):
            env.module.refuse(stmt, "an action returns nothing", "write `return`")

    def _statement(self, stmt: ast.stmt, env: Env, in_loop: bool) -> tuple[list[Stmt], Env]:
        at = env.module.place(stmt)
        match stmt:
            case ast.Pass() | ast.Expr(value=ast.Constant(value=str())):
                return [], env
            case ast.Expr(value=ast.Call() as call):
                return self._call(call, env, in_loop)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                return self._unpack(stmt, targets, value, env)
            case ast.Assign(targets=[target], value=value):
                return self._assign(stmt, target, value, env)
            case ast.Assign():
                env.module.refuse(stmt, "several targets are assigned", "assign one at a time")
            case ast.AnnAssign(target=ast.Name(id=name), annotation=note, value=ast.expr() as value):
                kind = scalar(note, env.module, self.context.types)
                found = fit(self.expressions.expression(value, env), kind, value, env, what=name)
                return self._let(stmt, name, found, env)
            case ast.AugAssign(target=target, op=op, value=value):
                # ``self.x[k] += 1`` becomes ``self.x[k] = self.x[k] + 1``.
                combined = ast.copy_location(ast.BinOp(_load(target), op, value), stmt)
                return self._assign(stmt, target, combined, env)
            case ast.If(test=test, body=then, orelse=orelse):
                cond = self.expressions.test(test, env)
                # Locals and facts of a branch do not hold after the ``if``, so ``env`` stays the outer environment.
                left = self._sequence(then, env.knowing(when_true(cond)), in_loop=in_loop)
                right = self._sequence(orelse, env.knowing(when_false(cond)), in_loop=in_loop)
                return [If(cond, tuple(left), tuple(right), at)], _forget([*left, *right], env)
            case ast.For():
                return self._loop(stmt, env)
        return env.module.refuse(
            stmt,
            *OUTSIDE.get(type(stmt), ("this statement is outside the language", "use assignments, if, for, require")),
        )

    # Writes ---------------------------------------------------------------------------------------------------

    def _unpack(self, stmt: ast.stmt, targets: Sequence[ast.expr], value: ast.expr, env: Env) -> tuple[list[Stmt], Env]:
        """Assign the parts of a tuple, from left to right. As in Python, all parts are computed before."""
        made: list[Stmt] = []
        parts = unpacked(self.expressions, value, len(targets), env)
        if not all(isinstance(target, ast.Name) for target in targets):
            for place, part in enumerate(parts):
                # A part that reads no cell cannot change, so it needs no local.
                if any(isinstance(each, Read) for each in walk(part)):
                    local = self.expressions.local("part", part)
                    made.append(Let(local.name, part, env.module.place(stmt)))
                    parts[place] = local
        for target, part in zip(targets, parts, strict=True):
            done, env = self._assign(stmt, target, part, env)
            made += done
        return made, env

    def _assign(self, stmt: ast.stmt, target: ast.expr, value: ast.expr | Expr, env: Env) -> tuple[list[Stmt], Env]:
        at = env.module.place(stmt)
        match target:
            case ast.Name(id=name):
                whole = self.expressions.record(value, env) if isinstance(value, ast.expr) else None
                if whole is not None:
                    return self._let_record(stmt, name, whole, env)
                return self._let(stmt, name, self._compiled(value, env), env)
            case ast.Subscript() | ast.Attribute() if (found_ := sequence(self.expressions, target, env)) is not None:
                if not isinstance(value, ast.expr):
                    env.module.refuse(stmt, "a sequence stands in a tuple", "assign it on a line of its own")
                done = copy(self.expressions, found_, value, stmt, env)
                return done, _forget(done, env)
            case ast.Subscript() | ast.Attribute() if of_records := record_field(self.expressions, target, env):
                self._writable(stmt, of_records.source.name, env)
                done = assigned(self.expressions, of_records, target, value, stmt, env)
                return done, _forget(done, env)
            case ast.Subscript(value=ast.Attribute() | ast.Subscript() as of) if (
                sequence(self.expressions, of, env) is not None
            ):
                env.module.refuse(target, "an entry of a sequence is written", "truncate the sequence, then append")
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id=state))) if state in env.states:
                var, keys, field = self.expressions.cell(target, env)
                found = self._value(value, field.value, env, what=ast.unparse(target), stmt=stmt)
                self._writable(stmt, field.source.name, env)
                return [Assign(var, keys, found, at)], attrs.evolve(env, known=after_write(env.known, var))
            case ast.Attribute(value=ast.Name(id=state), attr=attr) if state in env.states:
                field_ = self.context.fields.get(attr)
                if field_ is None:
                    env.module.refuse(target, f"the model has no field {attr}", "declare it in the class: `name: Type`")
                given = named_map(value, env) if isinstance(value, ast.expr) else None
                if given is not None and given.kind == MapType(field_.keys, field_.value):
                    made = written_map(self.expressions, attr, given.name, at)
                    return [made], attrs.evolve(env, known=after_write(env.known, attr))
                if field_.keys:
                    env.module.refuse(target, f"{attr} is a map", f"write self.{attr}.fill(value), or one cell")
                self._writable(stmt, attr, env)
                found = self._value(value, field_.value, env, what=ast.unparse(target), stmt=stmt)
                return [Assign(attr, (), found, at)], attrs.evolve(env, known=after_write(env.known, attr))
        return env.module.refuse(
            target, "this cannot be assigned", "assign a local, a field, a cell, or a whole record"
        )

    def _value(self, value: ast.expr | Expr, kind: Scalar, env: Env, what: str, stmt: ast.AST) -> Expr:
        place = value if isinstance(value, ast.expr) else stmt
        return fit(self._compiled(value, env), kind, place, env, what=what)

    def _compiled(self, value: ast.expr | Expr, env: Env) -> Expr:
        return self.expressions.expression(value, env) if isinstance(value, ast.expr) else value

    def _writable(self, stmt: ast.stmt, name: str, env: Env) -> None:
        if self.context.fields[name].flag is not None:
            env.module.refuse(stmt, f"{name} is a Flag", "a flag is chosen with --variant; use a field for state")

    def _let(self, stmt: ast.stmt, name: str, value: Expr, env: Env) -> tuple[list[Stmt], Env]:
        if name in env.names:
            env.module.refuse(stmt, f"{name} has a value already", "a local is assigned once: use another name")
        env.check_free(stmt, name)
        if isinstance(value.type, NoneType):
            env.module.refuse(stmt, f"{name} would only ever be None", "write None where it is used")
        local = self.expressions.local(name, value)
        env = env.bind(name, local)
        if value in env.known:  # the local has the value of an Optional that is not None here
            env = env.knowing(frozenset({local}))
        return [Let(local.name, value, env.module.place(stmt))], env

    def _let_record(self, stmt: ast.AST, name: str, value: RecordValue, env: Env) -> tuple[list[Stmt], Env]:
        """A local for each part of a record."""
        if name in env.names:
            env.module.refuse(stmt, f"{name} has a value already", "a local is assigned once: use another name")
        env.check_free(stmt, name)
        parts = [
            self.expressions.local(UniqueName(f"{name}_{part}", f"{name}.{part}"), each)
            for part, each in zip(value.kind.names, value.parts, strict=True)
        ]
        at = env.module.place(stmt)
        made: list[Stmt] = [Let(local.name, each, at) for local, each in zip(parts, value.parts, strict=True)]
        env = env.bind(name, RecordValue(value.kind, tuple(parts), value.optional))
        # A local has the value of an Optional that is not None here.
        known = (local for local, each in zip(parts, value.parts, strict=True) if each in env.known)
        return made, env.knowing(frozenset(known))

    # Loops ----------------------------------------------------------------------------------------------------

    def _loop(self, stmt: ast.For, env: Env) -> tuple[list[Stmt], Env]:
        if stmt.orelse:
            env.module.refuse(stmt.orelse[0], "a loop has no else", "write it after the loop")
        if not isinstance(stmt.target, ast.Name):
            env.module.refuse(stmt.target, "one variable is bound at a time", "nest two loops")
        if stmt.target.id in env.names:
            env.module.refuse(stmt.target, f"{stmt.target.id} has a value already", "use another name")
        env.check_free(stmt.target, stmt.target.id)
        visited = members(self.expressions, stmt.iter, env)
        kind = self.expressions.domain_or_record(stmt.iter, env) if visited is None else visited.kind
        names = variables(self.expressions, kind, stmt.target.id)
        # The facts from before the loop hold in each iteration: ``check_loops`` refuses to read a cell that another
        # iteration writes.
        inner = env.bind(stmt.target.id, value_of(kind, names))
        at = env.module.place(stmt)
        body = self._sequence(stmt.body, inner, in_loop=True)
        if visited is not None:
            body = [If(visited.test(names), tuple(body), (), at)]
        for name, domain in reversed(names):
            body = [For(name, domain, tuple(body), at)]
        return body, _forget(body, env)

    # Calls ----------------------------------------------------------------------------------------------------

    def _call(self, call: ast.Call, env: Env, in_loop: bool) -> tuple[list[Stmt], Env]:
        match call.func:
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super"))):
                env.module.refuse(call, "super is outside the language", "move the shared lines into a helper")
            case ast.Name() if self.expressions.role(call.func, env) == "require":
                return [self._require(call, env, in_loop)], env
            case ast.Name() if self.expressions.role(call.func, env) == "rule":
                env.module.refuse(call, "a rule on its own does nothing", 'write `if rule("ST-14"):`')
            case ast.Attribute(value=ast.Attribute() as whole, attr="clear") if _is_map_of(
                self.expressions, whole, env
            ):
                return self._clear_all(call, whole.attr, env, in_loop)
            case ast.Attribute(value=of, attr=name) if (found := sequence(self.expressions, of, env)) is not None:
                done = write(self.expressions, found, name, call, env)
                return done, _forget(done, env)
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id=state), attr=field), attr="fill") if (
                state in env.states
            ):
                return self._fill(call, field, env, in_loop)
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id=state), attr=field), attr=name) if (
                name in WRITES and state in env.states and (bag := self.context.fields.get(field)) and bag.kind.bag
            ):
                if name == "clear" and in_loop:
                    env.module.refuse(call, "this empties the same bag each time", "move it out of the loop")
                made = changed_bag(self.expressions, call, field, bag, env)
                return [made], attrs.evolve(env, known=after_write(env.known, field))
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id=state), attr=field), attr="choose") if (
                state in env.states
            ):
                return self._choose(call, field, env, in_loop)
            case ast.Attribute(value=ast.Name(id=state), attr=name) if state in env.states:
                return self._procedure(call, name, state, env, in_loop)
        return env.module.refuse(call, "this call is outside the language", outside(self.context.fields, call, env))

    def _require(self, call: ast.Call, env: Env, in_loop: bool) -> Require:
        if in_loop:
            env.module.refuse(call, "a require inside a loop", "write require(all(... for x in Sort), LABEL)")
        words = {word.arg: word.value for word in call.keywords}
        if not 1 <= len(call.args) <= 3 or set(words) - {"error"} or (len(call.args) == 3 and words):
            env.module.refuse(
                call, "require takes a condition, a label and an error", 'write require(cond, "ST-14", error=E.X)'
            )
        cond = self.expressions.condition(call.args[0], env)
        if len(call.args) == 1:
            label = self.expressions.place_label(call, env)
        else:
            label = self.expressions.label(call.args[1], call, env)
        given = words.get("error", call.args[2] if len(call.args) == 3 else None)
        error: str | None = None
        if given is not None and not (isinstance(given, ast.Constant) and given.value is None):
            found = self.expressions.expression(given, env)
            if not isinstance(found, Lit) or not isinstance(found.type, EnumType):
                env.module.refuse(given, "an error is a member of an Enum", "write error=E.STREAM_FENCED")
            error = str(found.value)
        return Require(cond, label, error, env.module.place(call))

    def _fill(self, call: ast.Call, name: str, env: Env, in_loop: bool) -> tuple[list[Stmt], Env]:
        field = self.context.fields.get(name)
        if field is None or not field.keys:
            env.module.refuse(call, f"the model has no map {name}", "fill writes every cell of a Map or Rel")
        if in_loop:
            env.module.refuse(call, "a fill inside a loop writes the same cells each time", "move it out of the loop")
        if len(call.args) != 1 or call.keywords:
            env.module.refuse(call, "fill takes one value", f"write self.{name}.fill(value)")
        if field.kind.holds_record:
            made = filled(self.expressions, field, call.args[0], env)
            return made, _forget(made, env)
        value = self._value(call.args[0], field.value, env, f"self.{name}", call)
        return [Fill(name, value, env.module.place(call))], attrs.evolve(env, known=after_write(env.known, name))

    def _choose(self, call: ast.Call, name: str, env: Env, in_loop: bool) -> tuple[list[Stmt], Env]:
        field = self.context.fields.get(name)
        if field is None:
            env.module.refuse(call, f"the model has no field {name}", "declare it in the class: `name: Type`")
        if not self.starts:
            remedy = f"take a parameter, such as a {MapType(field.keys, field.value)}, and write its values"
            env.module.refuse(call, "only an @init method chooses a whole map", remedy)
        if in_loop:
            env.module.refuse(call, "this chooses the same values each time", "move it out of the loop")
        if any(each.name == name for each in self.chosen):
            env.module.refuse(call, f"{name} is chosen twice", "keep one")
        param, made = chosen(self.expressions, call, name, field, env)
        self.chosen.append(param)
        return [made], attrs.evolve(env, known=after_write(env.known, name))

    def _clear_all(self, call: ast.Call, name: str, env: Env, in_loop: bool) -> tuple[list[Stmt], Env]:
        if in_loop:
            env.module.refuse(call, "this empties the same sequences each time", "move it out of the loop")
        if call.args or call.keywords:
            env.module.refuse(call, "clear takes no value", "write .clear()")
        made = clear_all(name, self.context.fields[name].kind, env.module.place(call))
        return made, _forget(made, env)

    def _procedure(self, call: ast.Call, name: str, state: str, env: Env, in_loop: bool) -> tuple[list[Stmt], Env]:
        member, args, inner = helper_env(self.expressions, call, name, env.states[state], env)
        returns = member.node.returns
        if not (isinstance(returns, ast.Constant) and returns.value is None):
            env.module.refuse(call, f"what {name} returns is not used", "use its value, or annotate it `-> None`")
        made: list[Stmt] = []
        for param, arg in args.items():
            if isinstance(arg, RecordValue):
                lets, inner = self._let_record(call, param, arg, inner)
                made += lets
                continue
            if isinstance(arg, MapValue):
                inner = inner.bind(param, arg)
                continue
            bound = arg  # an argument that reads no cell cannot change, so it needs no local
            if any(isinstance(part, Read) for part in walk(arg)):
                bound = self.expressions.local(param, arg)
                made.append(Let(bound.name, arg, env.module.place(call)))
            inner = inner.bind(param, bound)
        body = self._sequence(member.node.body, inner, in_loop=in_loop)
        return [*made, *body], _forget(body, env)


def _forget(body: Sequence[Stmt], env: Env) -> Env:
    """The environment after a body, without the facts that read a variable which the body may write."""
    known = env.known
    for stmt in statements(tuple(body)):
        if isinstance(stmt, Assign | Fill):
            known = after_write(known, stmt.var)
    return attrs.evolve(env, known=known)


def _is_map_of(compiler: Expressions, node: ast.expr, env: Env) -> bool:
    """Whether an expression names a map to sequences."""
    field = sequence_field(compiler, node, env)
    return field is not None and len(field.keys) > 1


def _returns(node: ast.stmt) -> bool:
    """Whether a statement contains a ``return``."""
    return any(isinstance(part, ast.Return) for part in ast.walk(node))


def _load(target: ast.expr) -> ast.expr:
    """The target of an assignment as an expression that reads it (``ast.Load`` instead of ``ast.Store``)."""
    loaded = ast.parse(ast.unparse(target), mode="eval").body
    for part in ast.walk(loaded):
        ast.copy_location(part, target)
    return loaded
