"""Translates the class of a model to its transition system."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Sequence

from holdfast.ir.compile.annotations import Types
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
from holdfast.ir.compile.context import Context, Meaning, StateField
from holdfast.ir.compile.expressions import Expressions
from holdfast.ir.compile.field_types import FieldType, field_type
from holdfast.ir.compile.fields import check_field, variables_of
from holdfast.ir.compile.helpers import check_returns, parameters
from holdfast.ir.compile.key_bounds import with_bounds
from holdfast.ir.compile.outcomes import read_outcomes
from holdfast.ir.compile.overrides import check_overrides
from holdfast.ir.compile.properties import compile_property
from holdfast.ir.compile.records import check_distinct, parameter
from holdfast.ir.compile.refusals import Refusals
from holdfast.ir.compile.rules import labelled_rules
from holdfast.ir.compile.scopes import read_scopes
from holdfast.ir.compile.simplify import fold_body
from holdfast.ir.compile.source import ClassSource, Member, read_class
from holdfast.ir.errors import ModelError, UsageError
from holdfast.ir.marks import ActionMark, InitMark, PropertyMark, VariantMark
from holdfast.ir.names import source_name
from holdfast.ir.stmt import Stmt
from holdfast.ir.system import Action, Param, Property, Rule, System
from holdfast.ir.types import EnumType, IntType, NatType, SortType


def compile_model(cls: type, *, variants: Sequence[str] = ()) -> System:
    """The transition system of a model in the given variants.

    Raises ModelError if the model is outside the language: for several errors a ``ModelErrors``, with the first one of
    each field, method and scope. Raises UsageError for an unknown variant, and for two variants that replace the same
    action.
    """
    refusals = Refusals()
    source = read_class(cls, refusals)
    check_overrides(cls, source, refusals)
    system: System | None = None
    with refusals.collect():
        try:
            system = _Compiler(cls, source, variants, refusals).system()
        except RecursionError:
            source.module.refuse(
                source.node,
                "an expression is nested too deeply, or helpers call one another too often",
                "split it into locals",
                f"class {cls.__name__}",
            )
    refusals.raise_all()
    assert system is not None, "without an error there is a system"
    return system


class _Compiler:
    """Compiles one model in one choice of variants."""

    def __init__(self, cls: type, source: ClassSource, chosen: Sequence[str], refusals: Refusals) -> None:
        self.cls = cls
        self.source = source
        self.refusals = refusals
        if not refusals:  # a refused method may be the initial condition
            with refusals.collect():
                self._check_init()
        self.types = Types()
        self.kinds: dict[str, FieldType] = {}
        taken = {*self.source.fields, *self.source.members}
        for name, field in self.source.fields.items():
            with refusals.collect(name):
                self.kinds[name] = field_type(field.node.annotation, field.module, self.types)
                check_field(field, self.kinds[name], taken)
        refusals.spread({member.name: member.node for member in source.members.values() if member.mark is None})
        self.offered = self._offered()
        for name in chosen:
            if name not in self.offered:
                refusals.raise_all()  # a refused field or method may be the variant
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
            name: StateField(kind, (name in self.chosen) if kind.flag else None, self.source.fields[name])
            for name, kind in self.kinds.items()
        }
        return Context(self.types, fields, self.source.members, {})

    def system(self) -> System:
        """The system. If something is refused, what this leaves out may be missing in it."""
        refusals = self.refusals
        context = self._context()
        actions = tuple(self._actions(context))
        starts = tuple(self._init(context))
        init = starts[0] if starts else Action("init", (), (), "", self.source.module.place(self.source.node))
        properties = tuple(self._properties(context, actions))
        others = tuple(self._left_out())
        written = written_variables(actions)
        fields = tuple(variables_of(self.source, self.kinds, written, written_variables([init]), refusals))
        all_by_name = {var.name: var for var in fields}
        # A variable that only actions of other variants use would add nothing but bits to the states of this system.
        foreign = written_variables(others) - used_variables((init, *actions), properties)
        variables = tuple(var for var in fields if var.name not in foreign)
        by_name = {var.name: var for var in variables}
        for action in (init, *actions, *others):
            with refusals.collect(action.name):
                check_loops(action.body)
                check_ghosts(action, all_by_name)
        if starts:
            with refusals.collect("init"):
                check_initial(init, by_name, written)
        for prop in properties:
            if prop.kind == "assume":
                with refusals.collect(prop.name):
                    check_assumption(prop.name, prop.body, prop.at, by_name)
        names = [member.name for member in self._taken()]
        scopes = read_scopes(self.cls, self.source, self.types, variables, names, refusals)
        for action in (init, *actions, *others):
            with refusals.collect(action.name):
                check_ghost_literals(action, all_by_name, scopes.values())
        rules = tuple(labelled_rules(init, actions))
        self._check_labels(rules)
        refusals.raise_all()  # the outcomes of mutants name rules and properties, of which some would be missing
        of_runs = {name: scope for name, scope in scopes.items() if scope.depth is not None}
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
                with self.refusals.collect():
                    raise ModelError(
                        rule.at, rule.label, "a variant has this name too", "give one of them another name"
                    )

    # State ----------------------------------------------------------------------------------------------------

    def _check_init(self) -> None:
        module, node = self.source.module, self.source.node
        if not self._marked(InitMark):
            module.refuse(node, "the model has no initial condition", "write an @init method", f"class {node.name}")

    # Methods --------------------------------------------------------------------------------------------------

    def _taken(self) -> Iterable[Member]:
        """The actions in the chosen variants, as the class declares them."""
        for member in self._marked(ActionMark):
            assert isinstance(member.mark, ActionMark)
            if member.mark.variant in (None, *self.chosen):
                yield member

    def _judged(self, member: Member) -> bool:
        """Whether to compile a method. If it mentions a refused name, an error in it may only follow from that one."""
        if member.name not in self.refusals.names and not self.refusals.concern(member.node):
            return True
        self.refusals.names.add(member.name)
        return False

    def _properties(self, context: Context, actions: tuple[Action, ...]) -> Iterable[Property]:
        for member in self._marked(PropertyMark):
            assert isinstance(member.mark, PropertyMark)
            if self._judged(member) and member.mark.of not in self.refusals.names:
                with self.refusals.collect(member.name):
                    yield compile_property(member, context, actions)

    def _actions(self, context: Context) -> Iterable[Action]:
        replaced = self._replacements()
        for declared in self._taken():
            mark = declared.mark
            assert isinstance(mark, ActionMark)
            member = replaced.get(declared.name, declared)
            if not self._judged(member):
                self.refusals.names.add(declared.name)
                continue
            with self.refusals.collect(declared.name):
                if declared.name == "init":
                    declared.module.refuse(
                        declared.node, "the initial condition has this name", "give the action another name", "def init"
                    )
                yield self._action(member, declared.name, mark, context)

    def _replacements(self) -> dict[str, Member]:
        """The methods that replace actions in the chosen variants, by the name of the action."""
        found: dict[str, Member] = {}
        seen: dict[tuple[str, str], Member] = {}
        for member in self._marked(VariantMark):
            mark = member.mark
            assert isinstance(mark, VariantMark)
            with self.refusals.collect(member.name):
                self._check_replacement(member, mark, seen)
                if mark.name in self.chosen:
                    other = found.setdefault(mark.replaces, member).mark
                    assert isinstance(other, VariantMark)
                    if other is not mark:
                        raise UsageError(
                            f"the variants {other.name} and {mark.name} both replace the action {mark.replaces}; "
                            "choose one"
                        )
        return found

    def _check_replacement(self, member: Member, mark: VariantMark, seen: dict[tuple[str, str], Member]) -> None:
        """Refuse a method that replaces no action, or one that another method replaces in the same variant."""
        if self._target(mark) is None and mark.replaces not in self.refusals.names:
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

    def _target(self, mark: VariantMark) -> Member | None:
        """The action that a method replaces."""
        target = self.source.members.get(mark.replaces)
        return target if target is not None and isinstance(target.mark, ActionMark) else None

    def _left_out(self) -> Iterable[Action]:
        """The actions of other variants, and the actions that the chosen variants replace.

        They are compiled too: an error in them is reported at once, and the model has the same types in all variants.
        """
        for member in self.source.members.values():
            mark = member.mark
            if isinstance(mark, ActionMark) and mark.variant not in (None, *self.chosen):
                yield from self._other(member, member.name, mark)
            if isinstance(mark, VariantMark):
                replaced = self._target(mark)
                if replaced is not None:
                    assert isinstance(replaced.mark, ActionMark)
                    left_out = replaced if mark.name in self.chosen else member
                    yield from self._other(left_out, mark.replaces, replaced.mark)

    def _other(self, member: Member, name: str, mark: ActionMark) -> Iterable[Action]:
        if self._judged(member):
            with self.refusals.collect(member.name):
                yield self._action(member, name, mark, self._context())

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
            if word not in names:
                member.module.refuse(
                    member.node,
                    f"per names {word!r}, which is no parameter",
                    "name parameters",
                    f"def {name}",
                )
        body = fold_body(bodies.body(member, names))
        at = member.module.place(member.node)
        chosen = tuple(param.name for word in mark.per for param in params if _belongs(param, word))
        action = Action(name, params, body, member.doc, at, mark.fair, chosen, mark.idempotent)
        return with_bounds(action, context.keys, context.pools)

    def _init(self, context: Context) -> Iterable[Action]:
        """The initial condition, unless a part of it is refused."""
        members = self._marked(InitMark)
        bodies = BodyCompiler(context, starts=True)
        shared: dict[str, Param] = {}
        judged: list[tuple[Member, dict[str, Meaning]]] = []
        # All parameters get their names before any body is compiled, so that no local takes the name of a parameter of
        # another initial condition.
        for member in members:
            if self._judged(member):
                with self.refusals.collect(member.name):
                    judged.append((member, self._choices(member, bodies.expressions, shared)))
        parts: list[tuple[Stmt, ...]] = []
        for member, names in judged:
            with self.refusals.collect(member.name):
                parts.append(bodies.body(member, names))
        if members and len(parts) == len(members):
            at = members[-1].module.place(members[-1].node)
            body = tuple(itertools.chain.from_iterable(parts))
            action = Action("init", (*shared.values(), *bodies.chosen), fold_body(body), members[-1].doc, at)
            yield with_bounds(action, context.keys, context.pools)
        else:
            self.refusals.names.update(member.name for member in members)

    def _choices(self, member: Member, expressions_: Expressions, shared: dict[str, Param]) -> dict[str, Meaning]:
        """The parameters of one initial condition, which are added to ``shared``."""
        check_returns(member, "None")
        params, names = self._params(member, expressions_, shared)
        for param in params:
            if shared.setdefault(param.name, param) != param:
                member.module.refuse(
                    member.node,
                    f"another initial condition has a parameter {param.name} of type {shared[param.name].type}",
                    "give one of them another name",
                    f"def {member.name}",
                )
        return names

    def _params(
        self, member: Member, expressions_: Expressions, shared: dict[str, Param] | None = None
    ) -> tuple[tuple[Param, ...], dict[str, Meaning]]:
        """The parameters of a method, and the value of each of them.

        ``shared``: the parameters of the initial conditions compiled before; parameters of one name are one choice.
        """
        params: list[Param] = []
        names: dict[str, Meaning] = {}
        for arg in parameters(member):
            if arg.annotation is None:
                member.module.refuse(arg, f"the parameter {arg.arg} has no type", f"write {arg.arg}: Type")
            made, names[arg.arg] = parameter(expressions_, arg, member.module)
            params += made
            for param in made:
                if not shared or param.name not in shared:
                    expressions_.fresh(param.name)  # reserves the name
        check_distinct(params, member.node, member.module, f"def {member.name}")
        return tuple(params), names


def _belongs(param: Param, name: str) -> bool:
    """Whether a parameter is the one of that name in the source, or a part of it."""
    return source_name(param.name).partition(".")[0] == name


def _first_line(doc: str) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join(doc.strip().split("\n\n")[0].split())
