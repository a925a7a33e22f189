"""Writes a model as a TLA+ module in the order of its source: one operator for each action and each property."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from holdfast.ir.expr import FALSE, Expr, Fold, Name, Quantified, walk
from holdfast.ir.system import Action, Param, Property, Var
from holdfast.ir.types import INT, BoolType, OptionalType
from holdfast.lower.layout import budget as layout_budget
from holdfast.lower.python.prune import prune
from holdfast.lower.tla.blocks import Block, NewValue
from holdfast.lower.tla.bodies import Body
from holdfast.lower.tla.conjuncts import HOLDS, Conjuncts
from holdfast.lower.tla.expression_text import NIL, TlaExpressions
from holdfast.lower.tla.lines import apart, declared, ended, generated, section, title, wrapped
from holdfast.lower.tla.names import TlaNames
from holdfast.lower.tla.signature import COUNT, TlaSignature
from holdfast.lower.tla.text import (
    COMPARED,
    IMPLIED,
    Text,
    bound,
    bulleted,
    comment,
    hang,
    implication,
    infix,
    junction,
    operator,
    paragraph,
    word,
)


def _helpers(names: TlaNames) -> dict[str, list[str]]:
    """The helper operators that a module may need, by name; no standard module has them."""
    inner = names.within()
    s, default, m, n, f, x, condition = map(inner.take, ("S", "default", "m", "n", "f", "x", "condition"))
    chosen = rf"IF {s} = {{}} THEN {default} ELSE CHOOSE {m} \in {s} : \A {n} \in {s} :"
    rest = rf"LET {x} == CHOOSE {x} \in {s} : TRUE IN {f}[{x}] + SumOver({f}, {s} \ {{{x}}})"
    return {
        "Least": [f"Least({s}, {default}) == {chosen} {m} <= {n}"],
        "Greatest": [f"Greatest({s}, {default}) == {chosen} {m} >= {n}"],
        "Abs": [f"Abs({n}) == IF {n} < 0 THEN -{n} ELSE {n}"],
        "Sum": [
            "RECURSIVE SumOver(_, _)",
            f"SumOver({f}, {s}) == IF {s} = {{}} THEN 0 ELSE {rest}",
            f"Sum({f}) == SumOver({f}, DOMAIN {f})",
        ],
        HOLDS: [
            *paragraph(
                "In an action TLC takes the sides of a disjunction, and the values of a quantifier, for steps of their "
                "own; a condition that is compared is only evaluated."
            ),
            f"{HOLDS}({condition}) == {condition} = TRUE",
        ],
    }


def module_text(signature: TlaSignature, target: str) -> str:
    """The text of a model's module; ``target`` is the model's name on the command line."""
    return _Module(signature, target).text()


def fairness(signature: TlaSignature, condition: str, taken: Iterable[str]) -> list[Text]:
    """The fairness of each fair action, restricted to states where ``condition`` holds.

    ``taken``: names of the module in which this text stands; no parameter may have one of them.
    """
    module = _Module(signature, "", taken)
    return [module.fair(action, condition) for action in signature.system.actions if action.fair is not None]


class _Module:
    def __init__(self, signature: TlaSignature, target: str, taken: Iterable[str] = ()) -> None:
        self.taken = frozenset(taken)
        """Names that no parameter may have, besides the names of the signature."""
        self.signature = signature
        self.system = signature.system
        self.shared = signature.shared
        self.target = target

    def text(self) -> str:
        """The whole file."""
        signature, system = self.signature, self.system
        states = [*self.type_invariant(), "", *self.init()]
        actions = [self.action(action) for action in system.actions]
        claims = [self.property(prop) for prop in system.properties]
        claims += [self.repeated(action) for action in system.actions if action.name in signature.repeats]
        if signature.finals:
            claims += [*(self.allowed(action) for action in system.actions), self.not_stuck()]
        # The declarations come after these texts, which register the helpers that they need.
        lines = [
            *self.header(),
            *self.declarations(),
            *section("States"),
            *states,
            *section("Actions"),
            *apart([*actions, self.next(), *self.fairness()]),
            *section("Properties"),
            *apart(claims),
        ]
        return ended(lines)

    # Header and declarations ----------------------------------------------------------------------------------

    def header(self) -> list[str]:
        """The lines with the name of the module and the docstring of the model."""
        system = self.system
        about = paragraph(sys.modules[system.python.__module__].__doc__ or system.doc)
        chosen = [f"Variant: {name}." for name in system.chosen] + [f"Without {label}." for label in system.removed]
        return [
            title(self.signature.module),
            generated(self.target),
            *(comment(text) for text in chosen),
            *([comment(""), *about] if about else []),
            "EXTENDS Integers, FiniteSets",
        ]

    def declarations(self) -> list[str]:
        """The lines of the constants, the sets of values, the variables and the helpers."""
        signature, shared, system = self.signature, self.shared, self.system
        constants = [(shared.domains[sort.name], "") for sort in system.sorts]
        constants += [(shared.greatest[nat.name], "") for nat in system.nats]
        constants += [
            (signature.limit(action), f"how often {signature.actions[action.name]}; {NIL}: without a limit")
            for action in signature.budgeted
        ]
        constants += [(shared.variables[var.name], _kind(var)) for var in signature.given]
        constants.append((NIL, "no value"))
        variables = [(shared.variables[var.name], _kind(var)) for var in signature.variables]
        lines = ["", *declared("CONSTANTS", constants), ""]
        lines += [f"{shared.domains[nat.name]} == 0..{shared.greatest[nat.name]}" for nat in system.nats]
        lines += [f"{shared.domains[kind.name]} == ({kind.lo})..{kind.hi}" for kind in system.ints]
        for enum in signature.enums:
            members = [f'"{member}"' for member in enum.members]
            lines += wrapped(f"{shared.domains[enum.name]} == {{", members, "}")
        lines += [f"ASSUME {self.typed(var)}" for var in signature.given]
        lines += ["", *declared("VARIABLES", variables), ""]
        lines += wrapped("vars == <<", [name for name, _ in variables], ">>")
        needed = [line for name, of in _helpers(shared.names).items() if name in shared.needed for line in of]
        return [*lines, "", *needed] if needed else lines

    def typed(self, var: Var) -> str:
        """The condition that a variable holds values of its type."""
        name, values = self.shared.variables[var.name], self.shared.domain(var.value)
        keys = r" \X ".join(self.shared.domain(key) for key in var.keys)
        return rf"{name} \in [{keys} -> {values}]" if keys else rf"{name} \in {values}"

    def type_invariant(self) -> list[str]:
        """The lines of TypeOK: every variable holds values of its type."""
        return operator("TypeOK", self.all([word(self.typed(var)) for var in self.signature.variables]))

    # Initial states and actions -------------------------------------------------------------------------------

    def init(self) -> list[str]:
        """The lines of the initial condition."""
        init, signature = self.system.init, self.signature
        writer = self.writer(init.params)
        block = self.followed(Body(signature.variables, writer, starts=True), init)
        text = Conjuncts(writer, (), prime="").block(block)
        if init.params:
            text = bound(rf"\E {self.ranges(init.params, writer)}", text)
        return [*paragraph(init.doc), *operator("Init", text)]

    def followed(self, body: Body, action: Action) -> Block:
        """The block of an action or the initial condition, without ghosts that the module does not have."""
        signature = self.signature
        if body.starts:
            for var in signature.budgets:
                body.contents[var.name] = Name(f"greatest {var.name}", INT)
            for var in signature.still:
                body.contents[var.name] = FALSE
        budget = layout_budget(action.name) if action in signature.budgeted else None
        return body.follow(prune(action.body, signature.dropped), budget)

    def action(self, action: Action) -> list[str]:
        """The lines of one action: its rules, its effects and its frame."""
        writer = self.writer(action.params)
        block = self.followed(Body(self.signature.variables, writer), action)
        text = self.conjuncts(writer).block(block)
        head = self.call(self.signature.actions[action.name], action.params, writer)
        return [*paragraph(action.doc), *operator(head, text)]

    def next(self) -> list[str]:
        """The lines of the next-state relation: any action with any arguments."""
        steps = [
            self.some(self.signature.actions[action.name], action, action.params) for action in self.system.actions
        ] or [word("FALSE")]
        return [
            *operator("Next", Text(bulleted("\\/", steps).lines) if len(steps) > 1 else steps[0]),
            "",
            "Spec == Init /\\ [][Next]_vars",
        ]

    def some(self, name: str, action: Action, params: Sequence[Param]) -> Text:
        """A call of an operator with an action's parameters, existentially quantified over ``params``."""
        writer = self.writer(action.params)
        call = word(self.call(name, action.params, writer))
        return bound(rf"\E {self.ranges(params, writer)}", call) if params else call

    def fairness(self) -> list[list[str]]:
        """The lines of the fairness conditions of all fair actions; none if no action is fair."""
        signature = self.signature
        fair = [action for action in self.system.actions if action.fair is not None]
        if not fair:
            return []
        groups = [
            operator("Fairness", self.all([self.fair(action) for action in fair])),
            ["FairSpec == Spec /\\ Fairness"],
        ]
        if signature.protocol == "vars":
            return groups
        doc = "A step that changes nothing but history and budgets is as good as none."
        names = [self.shared.variables[var.name] for var in signature.moving]
        return [[*paragraph(doc), *wrapped(f"{signature.protocol} == <<", names, ">>")], *groups]

    def fair(self, action: Action, condition: str = "") -> Text:
        """The fairness of one action, restricted to states where ``condition`` holds (empty: all states)."""
        writer = self.writer(action.params)
        per = [param for param in action.params if param.name in action.per]
        sign = "WF" if action.fair == "weak" else "SF"
        others = [param for param in action.params if param not in per]
        step = self.some(self.signature.actions[action.name], action, others)
        step = junction("/\\", [word(condition), step]) if condition else step
        text = hang(f"{sign}_{self.signature.protocol}(", step, ")")
        return bound(rf"\A {self.ranges(per, writer)}", text) if per else text

    # Properties -----------------------------------------------------------------------------------------------

    def property(self, prop: Property) -> list[str]:
        """The lines of one property, below its docstring."""
        name = self.signature.properties[prop.name]
        lines = [*paragraph(prop.doc), *paragraph(_REMARKS.get(prop.kind, ""))]
        match prop.kind:
            case "step":
                return [*lines, *self.step(prop, name)]
            case "leads_to" | "always_eventually" | "eventually_always":
                return [*lines, *self.liveness(prop, name)]
            case "assume":
                lines += operator(name, self.condition(prop.body, ()))
                return [*lines, f"ASSUME {name}"] if prop.name in self.signature.assumed else lines
            case _:
                return [*lines, *operator(name, self.condition(prop.body, ()))]

    def condition(self, expr: Expr, params: Sequence[Param]) -> Text:
        """A condition on states."""
        return self.reader(params, expr).expr(expr)

    def reader(self, params: Sequence[Param], expr: Expr, *, primed: bool = False) -> TlaExpressions:
        """A writer in which the bound variables of an expression have their names already."""
        writer = self.writer(params, primed=primed)
        for part in walk(expr):
            if isinstance(part, Quantified | Fold):
                writer.local(part.var)
        return writer

    def step(self, prop: Property, name: str) -> list[str]:
        """The lines of a step property: the condition on one step, and the formula that it holds of all steps."""
        writer = self.reader(prop.params, prop.body, primed=True)
        lines = operator(self.call(name, prop.params, writer), writer.expr(prop.body))
        always = self.signature.always[prop.name]
        if prop.of is None:
            return [*lines, f"{always} == [][{name}]_vars"]
        action = self.system.action(prop.of)
        writer = self.writer(action.params)
        taken = word(self.call(self.signature.actions[action.name], action.params, writer))
        claim = implication(taken, word(self.call(name, prop.params, writer)))
        text = bound(rf"\A {self.ranges(action.params, writer)}", claim) if action.params else claim
        return [*lines, *operator(always, hang("[][", text, "]_vars"))]

    def liveness(self, prop: Property, name: str) -> list[str]:
        """The lines of a liveness property: the operators of its premise and of its goal, and the formula itself."""
        assert prop.goal is not None
        lines: list[str] = []
        calls: list[str] = []
        for of, expr in ((self.signature.owed, prop.body), (self.signature.met, prop.goal)):
            if prop.name in of:
                writer = self.reader(prop.params, expr)
                calls.append(self.call(of[prop.name], prop.params, writer))
                lines += operator(calls[-1], writer.expr(expr))
        text = word(" ~> ".join(calls), IMPLIED) if len(calls) > 1 else word(f"{_MODALITY[prop.kind]}{calls[0]}")
        params = self.ranges(prop.params, self.writer(prop.params))
        return [*lines, *operator(name, bound(rf"\A {params}", text) if params else text)]

    def repeated(self, action: Action) -> list[str]:
        """The lines of the condition that an action is possible and changes nothing, or that a bound cuts it.

        Ghosts and budgets may change.
        """
        writer = self.writer(action.params)
        block = self.followed(Body(self.signature.variables, writer), action)
        conjuncts = self.conjuncts(writer)
        ghosts = {var.name for var in self.signature.variables if var.ghost}
        hidden = {var.name for var in self.signature.budgets}

        def same(item: NewValue) -> Text | None:
            if item.var in ghosts | hidden:
                return None
            return infix(conjuncts.contents(item.value), "=", word(self.shared.variables[item.var]), COMPARED)

        text = conjuncts.outcome(block, same)
        head = self.call(self.signature.repeats[action.name], action.params, writer)
        doc = f"{action.idempotent}. {self.signature.actions[action.name]} succeeds here, and changes nothing."
        return [*paragraph(doc), *operator(head, text)]

    def allowed(self, action: Action) -> list[str]:
        """The lines of the condition that no rule refuses an action; a bound of the scope may still cut it."""
        writer = self.writer(action.params)
        block = self.followed(Body(self.signature.variables, writer), action)
        text = self.conjuncts(writer).outcome(block, lambda _: None)
        return operator(self.call(self.signature.allowed[action.name], action.params, writer), text)

    def not_stuck(self) -> list[str]:
        """The lines of the condition that a state is final, or that some action is not refused in it."""
        texts = [word(self.signature.properties[prop.name]) for prop in self.signature.finals]
        texts += [
            self.some(self.signature.allowed[action.name], action, action.params) for action in self.system.actions
        ]
        doc = "Every state is one that a run may end in, or has a step; a step that a bound of the scope cuts counts."
        return [*paragraph(doc), *operator("NotStuck", bulleted("\\/", texts))]

    # Parts ----------------------------------------------------------------------------------------------------

    def writer(self, params: Iterable[Param], *, primed: bool = False) -> TlaExpressions:
        """A writer for one operator with these parameters."""
        found = TlaExpressions(self.shared, primed=primed)
        found.names.taken |= self.taken
        for param in params:
            found.local(param.name)
        return found

    def conjuncts(self, writer: TlaExpressions) -> Conjuncts:
        """A writer of the blocks of one operator."""
        return Conjuncts(writer, [var.name for var in self.signature.variables])

    def all(self, texts: Sequence[Text]) -> Text:
        """The conjunction of the texts, one below the other."""
        return bulleted("/\\", texts) if len(texts) > 1 else texts[0]

    def call(self, name: str, params: Sequence[Param], writer: TlaExpressions) -> str:
        """The name of an operator, with its parameters in parentheses."""
        return f"{name}({', '.join(writer.local(param.name) for param in params)})" if params else name

    def ranges(self, params: Sequence[Param], writer: TlaExpressions) -> str:
        """The parameters of a quantifier."""
        return ", ".join(rf"{writer.local(param.name)} \in {self.shared.domain(param.type)}" for param in params)


_MODALITY = {"always_eventually": "[]<>", "eventually_always": "<>[]"}
"""The temporal operators before the goal of a liveness property without a premise."""

_REMARKS = {
    "witness": "A witness: some state that can be reached is like this.",
    "lemma": "An auxiliary invariant, for proofs.",
    "final": "A run may end here.",
}


def _kind(var: Var) -> str:
    """A variable's keys and values, as a comment."""
    if var.value == COUNT:
        return "how often the action may still happen"
    keys = ", ".join(map(str, var.keys))
    plain = var.value.of if isinstance(var.value, OptionalType) else var.value
    values = "BOOLEAN" if isinstance(plain, BoolType) else str(plain)
    values += f" or {NIL}" if isinstance(var.value, OptionalType) else ""
    kind = f"{keys} -> {values}" if keys else values
    return f"{kind}; history, for properties" if var.ghost else kind
