"""Translates the class of a model to its transition system."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Sequence

import attrs

from holdfast.ir.compile.annotations import FieldType, Types, field_type, plain
from holdfast.ir.compile.bodies import BodyCompiler
from holdfast.ir.compile.checks import (
    check_assumption,
    check_ghost_literals,
    check_ghosts,
    check_initial,
    check_loops,
    used_variables,
    written_variables,
)
from holdfast.ir.compile.context import Context, StateField
from holdfast.ir.compile.expressions import Expressions
from holdfast.ir.compile.helpers import check_returns, parameters
from holdfast.ir.compile.key_bounds import with_bounds
from holdfast.ir.compile.outcomes import read_outcomes
from holdfast.ir.compile.overrides import check_overrides
from holdfast.ir.compile.properties import compile_property
from holdfast.ir.compile.scopes import read_scopes
from holdfast.ir.compile.simplify import fold_body
from holdfast.ir.compile.source import ClassSource, Member, SourceField, read_class
from holdfast.ir.errors import ModelError, UsageError
from holdfast.ir.expr import TRUE, Expr, Name, Ruled, walk
from holdfast.ir.marks import ActionMark, InitMark, PropertyMark, VariantMark
from holdfast.ir.stmt import Require, Stmt, direct_expressions, statements
from holdfast.ir.system import Action, Param, Rule, System, Var
from holdfast.ir.types import EnumType, IntType, NatType, SortType


def compile_model(cls: type, *, variants: Sequence[str] = ()) -> System:
    """The transition system of a model in the given variants.

    Raises ModelError if the model is outside the language. Raises UsageError for an unknown variant, and for two
    variants that replace the same action.
    """
    source = read_class(cls)
    check_overrides(cls, source)
    try:
        return _Compiler(cls, source, variants).system()
    except RecursionError:
        source.module.refuse(
            source.node,
            "an expression is nested too deeply, or helpers call one another too often",
            "split it into locals",
            f"class {cls.__name__}",
        )


class _Compiler:
    """Compiles one model in one choice of variants."""

    def __init__(self, cls: type, source: ClassSource, chosen: Sequence[str]) -> None:
        self.cls = cls
        self.source = source
        self.types = Types()
        self.kinds: dict[str, FieldType] = {
            name: field_type(field.node.annotation, field.module, self.types)
            for name, field in self.source.fields.items()
        }
        self.offered = self._offered()
        for name in chosen:
            if name not in self.offered:
                known = ", ".join(self.offered) or "none"
                raise UsageError(f"{cls.__name__} has no variant {name!r}; it has: {known}")
        self.chosen = tuple(name for name in self.offered if name in chosen)

    def _offered(self) -> dict[str, str]:
        """The name and the description of each variant: flags first, then methods."""
        offered: dict[str, str] = {}
        for name, kind in self.kinds.items():
            if kind.flag:
                offered[name] = _first_line(self.source.fields[name].doc)
        for member in self.source.members.values():
            match member.mark:
                case VariantMark(name=name) | ActionMark(variant=str(name)):
                    offered.setdefault(name, _first_line(member.doc))
        return offered

    def _marked(self, kind: type) -> list[Member]:
        return [member for member in self.source.members.values() if isinstance(member.mark, kind)]

    def _context(self) -> Context:
        """A new context, without labels: a label must be unique within one choice of variants only."""
        fields = {
            name: StateField(
                kind.keys, kind.value, (name in self.chosen) if kind.flag else None, self.source.fields[name]
            )
            for name, kind in self.kinds.items()
        }
        return Context(self.types, fields, self.source.members, {})

    def system(self) -> System:
        for name, field in self.source.fields.items():
            self._check_field(name, field)
        context = self._context()
        actions = tuple(self._actions(context))
        init = self._init(context)
        properties = tuple(compile_property(member, context, actions) for member in self._marked(PropertyMark))
        others = tuple(self._left_out())
        written = written_variables(actions)
        fields = tuple(self._variables(written, written_variables([init])))
        all_by_name = {var.name: var for var in fields}
        # A variable that only actions of other variants use would add nothing but bits to the states of this system.
        foreign = written_variables(others) - used_variables((init, *actions), properties)
        variables = tuple(var for var in fields if var.name not in foreign)
        by_name = {var.name: var for var in variables}
        for action in (init, *actions):
            check_loops(action.body)
            check_ghosts(action, by_name)
        check_initial(init, by_name, written)
        for prop in properties:
            if prop.kind == "assume":
                check_assumption(prop.name, prop.body, prop.at, by_name)
        for action in others:
            check_loops(action.body)
            check_ghosts(action, all_by_name)
        scopes = read_scopes(self.cls, self.source, self.types, variables, actions)
        for action in (init, *actions, *others):
            check_ghost_literals(action, all_by_name, scopes.values())
        of_runs = {name: scope for name, scope in scopes.items() if scope.depth is not None}
        rules = tuple(_rules(init, actions))
        self._check_labels(rules)
        labelled = tuple(rule for rule in rules if rule.has_label)
        outcomes = read_outcomes(self.cls, self.source, labelled, properties, self.offered, whole=not self.chosen)
        kinds = self.types.known.values()  # complete only now: compiling the bodies adds the types that they name
        return System(
            name=self.cls.__name__,
            file=self.source.module.file,
            doc=ast.get_docstring(self.source.node) or "",
            variables=variables,
            init=init,
            actions=actions,
            properties=properties,
            rules=rules,
            sorts=tuple(kind for kind in kinds if isinstance(kind, SortType)),
            nats=tuple(kind for kind in kinds if isinstance(kind, NatType)),
            enums=tuple(kind for kind in kinds if isinstance(kind, EnumType)),
            ints=tuple(kind for kind in kinds if isinstance(kind, IntType)),
            scopes={name: scope for name, scope in scopes.items() if name not in of_runs},
            run_scopes=of_runs,
            variants=self.offered,
            chosen=self.chosen,
            removed=(),
            outcomes=outcomes,
            python=self.cls,
        )

    def _check_labels(self, rules: Sequence[Rule]) -> None:
        """Refuse a label that is the name of a variant too: a mutant's name stands for one of them."""
        for rule in rules:
            if rule.label in self.offered:
                raise ModelError(rule.at, rule.label, "a variant has this name too", "give one of them another name")

    # State ----------------------------------------------------------------------------------------------------

    def _check_field(self, name: str, field: SourceField) -> None:
        module, node = field.module, field.node
        if name.startswith("_"):
            module.refuse(node, "a field's name begins with an underscore", "give it a public name", name)
        if node.value is not None:
            module.refuse(node, "a field has no default", "set it in an @init method", name)

    def _variables(self, written: set[str], initialised: set[str]) -> Iterable[Var]:
        for name, kind in self.kinds.items():
            if not kind.flag:
                field = self.source.fields[name]
                given = name not in written and name not in initialised
                yield Var(
                    name, kind.keys, kind.value, kind.ghost, name not in written, given, field.module.place(field.node)
                )

    # Actions --------------------------------------------------------------------------------------------------

    def _actions(self, context: Context) -> Iterable[Action]:
        replaced = self._replacements()
        for member in self._marked(ActionMark):
            mark = member.mark
            assert isinstance(mark, ActionMark)
            if mark.variant not in (None, *self.chosen):
                continue
            if member.name == "init":
                member.module.refuse(
                    member.node, "the initial condition has this name", "give the action another name", "def init"
                )
            yield self._action(replaced.get(member.name, member), member.name, mark, context)

    def _replacements(self) -> dict[str, Member]:
        """The methods that replace actions in the chosen variants, by the name of the action."""
        found: dict[str, Member] = {}
        seen: dict[tuple[str, str], Member] = {}
        for member in self._marked(VariantMark):
            mark = member.mark
            assert isinstance(mark, VariantMark)
            target = self.source.members.get(mark.replaces)
            if target is None or not isinstance(target.mark, ActionMark):
                member.module.refuse(
                    member.node,
                    f"there is no action {mark.replaces} to replace",
                    "name an action",
                    f"variant {mark.name}",
                )
            twin = seen.setdefault((mark.name, mark.replaces), member)
            if twin is not member:
                member.module.refuse(
                    member.node,
                    f"{twin.name} replaces {mark.replaces} in this variant too",
                    "keep one, or give it a variant of its own",
                    f"variant {mark.name}",
                )
            if mark.name in self.chosen:
                other = found.setdefault(mark.replaces, member).mark
                assert isinstance(other, VariantMark)
                if other is not mark:
                    raise UsageError(
                        f"the variants {other.name} and {mark.name} both replace the action {mark.replaces}; choose one"
                    )
        return found

    def _left_out(self) -> Iterable[Action]:
        """The actions of other variants, and the actions that the chosen variants replace.

        They are compiled too: an error in them is reported at once, and the model has the same types in all variants.
        """
        for member in self.source.members.values():
            mark = member.mark
            if isinstance(mark, ActionMark) and mark.variant not in (None, *self.chosen):
                yield self._action(member, member.name, mark, self._context())
            if isinstance(mark, VariantMark):
                replaced = self.source.members[mark.replaces]
                assert isinstance(replaced.mark, ActionMark)
                left_out = replaced if mark.name in self.chosen else member
                yield self._action(left_out, mark.replaces, replaced.mark, self._context())

    def _action(self, member: Member, name: str, mark: ActionMark, context: Context) -> Action:
        if mark.fair not in (None, "weak", "strong"):
            member.module.refuse(
                member.node, f"fairness {mark.fair!r} is unknown", 'use "weak" or "strong"', f"def {name}"
            )
        if mark.per and mark.fair is None:
            member.module.refuse(member.node, "per is given without fair", 'add fair="weak"', f"def {name}")
        check_returns(member, "None")
        bodies = BodyCompiler(context)
        params, names = self._params(member, bodies.expressions)
        per: object = mark.per
        if not isinstance(per, tuple):
            member.module.refuse(member.node, f"per is {per!r}, no tuple of names", 'write per=("n",)', f"def {name}")
        for word in per:
            if word not in [param.name for param in params]:
                member.module.refuse(
                    member.node,
                    f"per names {word!r}, which is no parameter",
                    "name parameters",
                    f"def {name}",
                )
        body = fold_body(bodies.body(member, names))
        at = member.module.place(member.node)
        action = Action(name, params, body, member.doc, at, mark.fair, mark.per, mark.idempotent)
        return with_bounds(action, context.keys)

    def _init(self, context: Context) -> Action:
        members = self._marked(InitMark)
        module, node = self.source.module, self.source.node
        if not members:
            module.refuse(node, "the model has no initial condition", "write an @init method", f"class {node.name}")
        bodies = BodyCompiler(context)
        shared: dict[str, Param] = {}
        choices: list[dict[str, Expr]] = []
        # All parameters get their names before any body is compiled, so that no local takes the name of a parameter of
        # another initial condition.
        for member in members:
            check_returns(member, "None")
            params, names = self._params(member, bodies.expressions, shared)
            choices.append(names)
            for param in params:
                if shared.setdefault(param.name, param) != param:
                    member.module.refuse(
                        member.node,
                        f"another initial condition has a parameter {param.name} of type {shared[param.name].type}",
                        "give one of them another name",
                        f"def {member.name}",
                    )
        body = [stmt for member, names in zip(members, choices, strict=True) for stmt in bodies.body(member, names)]
        at = members[-1].module.place(members[-1].node)
        action = Action("init", tuple(shared.values()), fold_body(tuple(body)), members[-1].doc, at)
        return with_bounds(action, context.keys)

    def _params(
        self, member: Member, expressions_: Expressions, shared: dict[str, Param] | None = None
    ) -> tuple[tuple[Param, ...], dict[str, Expr]]:
        """The parameters of a method, and the expression for each of them.

        ``shared``: the parameters of the initial conditions compiled before; parameters of one name are one choice.
        """
        params: list[Param] = []
        names: dict[str, Expr] = {}
        for arg in parameters(member):
            if arg.annotation is None:
                member.module.refuse(arg, f"the parameter {arg.arg} has no type", f"write {arg.arg}: Type")
            kind = plain(arg.annotation, member.module, self.types, f"the parameter {arg.arg}")
            params.append(Param(arg.arg, kind))
            if not shared or arg.arg not in shared:
                expressions_.fresh(arg.arg)  # reserves the name
            names[arg.arg] = Name(arg.arg, kind)
        return tuple(params), names


def _rules(init: Action, actions: tuple[Action, ...]) -> Iterable[Rule]:
    """The labelled rules of a system, in the order of their first use."""
    found: dict[str, Rule] = {}
    for action in (init, *actions):
        for stmt in statements(action.body):
            for rule in _rules_in(stmt):
                known = found.get(rule.label, rule)
                served = known.actions if action.name in known.actions else (*known.actions, action.name)
                found[rule.label] = attrs.evolve(known, actions=served)
    return found.values()


def _rules_in(stmt: Stmt) -> Iterable[Rule]:
    """The rules in the statement itself, not in statements nested in it; ``_rules`` adds their actions."""
    if isinstance(stmt, Require):
        yield Rule(stmt.label, "require", stmt.error, stmt.at, ())
    for expr in itertools.chain.from_iterable(walk(outer) for outer in direct_expressions(stmt)):
        if isinstance(expr, Ruled):
            yield Rule(expr.label, "effect" if expr.arg == TRUE else "condition", None, stmt.at, ())


def _first_line(doc: str) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join(doc.strip().split("\n\n")[0].split())
