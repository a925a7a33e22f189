"""Writes a scope as TLA+: a module that extends the model's module, and the configurations for TLC.

The module of the model cannot contain two things. The constants of a scope mention its elements. And TLC cannot check
step properties well as ``[][P]_vars``: this formula says nothing about a step that changes nothing, and TLC would try
an action with all arguments after each step to find out which one was taken. So in this module a variable records the
first property that a step breaks, evaluated with the arguments of the step. An invariant says that it names none.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import attrs

from holdfast.ir.errors import UsageError
from holdfast.ir.system import Action, Scope, Var
from holdfast.ir.types import Key, OptionalType, Scalar, SortType
from holdfast.lower.layout import Layout
from holdfast.lower.layout import budget as layout_budget
from holdfast.lower.renaming_group import Renaming, RenamingGroup
from holdfast.lower.tla.expression_text import NIL, TlaExpressions
from holdfast.lower.tla.lines import apart, ended, generated, title, wrapped
from holdfast.lower.tla.names import TlaNames, camel, identifier
from holdfast.lower.tla.signature import TlaSignature
from holdfast.lower.tla.text import Text, bound, bulleted, comment, operator, paragraph, word

UNBROKEN = "nothing"
"""The value of the variable while no property is broken; another one is chosen if a property has this name."""

MOST_RENAMINGS = 24
"""The most renamings that are written out one by one."""


@attrs.frozen
class CheckedNames:
    """The names in a scope's module, with the model's names for them: the reader of TLC's answer translates with it.

    ``actions``: the operators of steps. ``invariants``: the operators of conditions on states. ``broken``: the variable
    that names a broken property; None if there is none. ``breaks``: the values of this variable.
    """

    actions: dict[str, str]
    invariants: dict[str, str]
    broken: str | None
    breaks: dict[str, str]


class ScopeModule:
    """Writes the module and the configurations of one scope; ``target`` is the model's name on the command line."""

    def __init__(self, signature: TlaSignature, scope: Scope, target: str) -> None:
        self.signature = signature
        self.system = signature.system
        self.scope = scope
        self.target = target
        self.layout = Layout(self.system, scope, signature.ghosts)
        self.names = names = TlaNames(signature.names.taken)
        self.name = names.module(f"{signature.module}_{scope.name}")
        self.elements = {
            sort.name: {element: names.take(element) for element in readable(sort, self.layout.elements[sort.name])}
            for sort in self.system.sorts
        }
        self.given = {var.name: names.take(f"{camel(var.name)}Here") for var in signature.given}
        self.symmetry = names.take("Interchangeable")
        self.checks = bool(signature.always or signature.repeats)
        """Whether there is a step property or an idempotent action, so that the module checks steps."""
        self.broken = names.take("broken")
        self.unbroken = names.take("NothingBroken")
        self.nothing = self.system.claim_name(UNBROKEN)
        self.init, self.next, self.spec = (names.take(f"Checked{part}") for part in ("Init", "Next", "Spec"))
        self.actions = {name: names.take(f"Checked{of}") for name, of in signature.actions.items()}

    @property
    def checked(self) -> CheckedNames:
        """The names in this module, with the model's names for them."""
        signature = self.signature
        invariants = {
            signature.properties[prop.name]: prop.name for prop in self.system.of_kind("invariant", "lemma", "assume")
        }
        operators = self.actions if self.checks else signature.actions
        return CheckedNames(
            {operator: name for name, operator in operators.items()},
            invariants | ({"NotStuck": self.system.claim_name("deadlock")} if signature.finals else {}),
            self.broken if self.checks else None,
            {name: name for name in (*signature.always, *map(self.repeat, signature.repeats))},
        )

    # The module -----------------------------------------------------------------------------------------------

    def text(self) -> str:
        """The whole module."""
        groups = [*self.constants(), *self.interchangeable()]
        if self.checks:
            groups += self.checking()
        lines = [
            title(self.name),
            generated(self.target),
            comment(f"{self.signature.module} in scope {self.scope.name}."),
            f"EXTENDS {self.signature.module}, TLC",
            "",
            *apart(groups),
        ]
        return ended(lines)

    def constants(self) -> list[list[str]]:
        """The lines of the elements of the sorts, and of the given constants, which mention them."""
        names = [name for of in self.elements.values() for name in of.values()]
        groups = [wrapped("CONSTANTS ", names, "")] if names else []
        return [*groups, *(operator(self.given[var.name], self.value(var)) for var in self.signature.given)]

    def value(self, var: Var) -> Text:
        """The value that the scope gives a constant."""
        codes = self.layout.given[var.name]
        values = [self.element(var.value, code) for code in codes]
        if not var.keys:
            return word(values[0])
        indices = itertools.product(*(range(self.scope.size(key)) for key in var.keys))
        pairs = [f"{self.key(var.keys, index)} :> {value}" for index, value in zip(indices, values, strict=True)]
        return Text(tuple(line.rstrip() for line in wrapped("", pairs, "", between=" @@ ")))

    def key(self, kinds: Sequence[Key], index: Sequence[int]) -> str:
        """The argument of a function for the codes of its keys: a value, or a tuple of values."""
        parts = [self.element(kind, code) for kind, code in zip(kinds, index, strict=True)]
        return parts[0] if len(parts) == 1 else f"<<{', '.join(parts)}>>"

    def element(self, kind: Scalar, code: int) -> str:
        """The text of the value of a type that has a code."""
        plain = kind.of if isinstance(kind, OptionalType) else kind
        match self.layout.decode_value(kind, code):
            case None:
                return NIL
            case bool(truth):
                return str(truth).upper()
            case str(name) if isinstance(plain, SortType):
                return self.elements[plain.name][name]
            case str(name):
                return f'"{name}"'
            case number:
                return str(number) if number >= 0 else f"({number})"

    # Symmetry -------------------------------------------------------------------------------------------------

    def interchangeable(self) -> list[list[str]]:
        """The lines of the symmetry set: the renamings that leave the scope unchanged; none for the identity alone."""
        parts = self.renamings()
        if not parts:
            return []
        doc = "The renamings that leave the scope as it is. (They are not sound for properties of whole runs.)"
        return [[*paragraph(doc), *operator(self.symmetry, Text(tuple(wrapped("", parts, "", between=r" \cup "))))]]

    def renamings(self) -> list[str]:
        """Sets of renamings that together generate the symmetry group; none if there are too many.

        A sort whose elements are freely interchangeable gives a set of permutations. The renamings that move no such
        sort are listed one by one.
        """
        try:
            group = RenamingGroup(self.layout)
        except UsageError:
            # Too many renamings are left by the given constants.
            return []
        free = group.free()
        parts = [f"Permutations({self.signature.shared.domains[name]})" for name in free]
        others = [name for name in group.sizes if name not in free]
        # The first renaming changes nothing.
        if len(group.cosets) * group.permutations(others) - 1 > MOST_RENAMINGS:
            return []
        rest = group.listed(others)[1:]
        return [*parts, *([f"{{{', '.join(map(self.renaming, rest))}}}"] if rest else [])]

    def renaming(self, renaming: Renaming) -> str:
        """One renaming as a function; its domain is the elements that it moves."""
        moved = [
            f"{here} :> {there}"
            for sort, images in renaming.items()
            for here, there in (
                (list(self.elements[sort].values())[place], list(self.elements[sort].values())[image])
                for place, image in enumerate(images)
                if place != image
            )
        ]
        return " @@ ".join(moved)

    # Checking -------------------------------------------------------------------------------------------------

    def checking(self) -> list[list[str]]:
        """The lines of the model with a variable that names the first property that the last step broke."""
        steps = [self.step(action) for action in self.system.actions]
        calls = [self.some(action) for action in self.system.actions]
        return [
            [*paragraph("The first property that the last step broke."), f"VARIABLE {self.broken}"],
            operator(self.init, bulleted("/\\", [word("Init"), word(f'{self.broken} = "{self.nothing}"')])),
            *steps,
            operator(self.next, bulleted("\\/", calls) if len(calls) > 1 else calls[0]),
            [f"{self.spec} == {self.init} /\\ [][{self.next}]_<<vars, {self.broken}>>"],
            [f'{self.unbroken} == {self.broken} = "{self.nothing}"'],
        ]

    def step(self, action: Action) -> list[str]:
        """The lines of a checked action: the action, and the first property that its step breaks."""
        signature, writer = self.signature, self.writer(action)
        claims = [
            (prop.name, self.call(signature.properties[prop.name], [param.name for param in prop.params], writer))
            for prop in self.system.of_kind("step")
            if prop.of in (None, action.name)
        ]
        params = [param.name for param in action.params]
        if action.name in signature.repeats:
            claims.append((self.repeat(action.name), f"{self.call(signature.repeats[action.name], params, writer)}'"))
        lines = [f'IF ~{claim} THEN "{name}"' for name, claim in claims]
        lines = [line if place == 0 else f"ELSE {line}" for place, line in enumerate(lines)]
        prefix = f"{self.broken}' = "
        first = f'"{self.nothing}"' if not lines else lines[0]
        others = [*lines[1:], f'ELSE "{self.nothing}"'] if lines else []
        said = Text((prefix + first, *(" " * len(prefix) + line for line in others)))
        taken = word(self.call(signature.actions[action.name], params, writer))
        return operator(self.call(self.actions[action.name], params, writer), bulleted("/\\", [taken, said]))

    def some(self, action: Action) -> Text:
        """The checked action with any arguments."""
        writer = self.writer(action)
        call = word(self.call(self.actions[action.name], [param.name for param in action.params], writer))
        ranges = [
            rf"{writer.local(param.name)} \in {self.signature.shared.domain(param.type)}" for param in action.params
        ]
        return bound(rf"\E {', '.join(ranges)}", call) if ranges else call

    def repeat(self, action: str) -> str:
        """The name that the engines give the claim that an action is idempotent."""
        return self.system.claim_name(f"{action}_idempotent")

    def writer(self, action: Action) -> TlaExpressions:
        """A writer that knows the action's parameters."""
        writer = TlaExpressions(self.signature.shared)
        writer.names.taken |= self.names.taken
        for param in action.params:
            writer.local(param.name)
        return writer

    def call(self, name: str, params: Sequence[str], writer: TlaExpressions) -> str:
        """An operator with its arguments."""
        return f"{name}({', '.join(map(writer.local, params))})" if params else name

    # Configurations -------------------------------------------------------------------------------------------

    def configuration(self, formulas: Sequence[str] = (), *, invariants: bool = True) -> str:
        """The configuration with which TLC checks everything but liveness, and the given formulas.

        Without ``invariants``, TLC checks the formulas alone.
        """
        signature = self.signature
        claims = ["TypeOK"]
        claims += [
            signature.properties[prop.name]
            for prop in self.system.properties
            if prop.kind in ("invariant", "lemma") or (prop.kind == "assume" and prop.name not in signature.assumed)
        ]
        claims += ["NotStuck"] if signature.finals else []
        claims += [self.unbroken] if self.checks else []
        lines = [f"SPECIFICATION {self.spec if self.checks else 'Spec'}", *self.assigned()]
        if self.renamings():
            lines += [comment(f"SYMMETRY {self.symmetry}")]
        lines += ["INVARIANTS", *(f"    {claim}" for claim in claims)] if invariants else []
        return self.lines([*lines, *(["PROPERTIES", *(f"    {each}" for each in formulas)] if formulas else [])])

    def lines(self, lines: Sequence[str]) -> str:
        """The text of a configuration. A run may end where a bound cuts it: this is no deadlock."""
        return "\n".join([generated(self.target), *lines]) + "\n"

    def assigned(self) -> list[str]:
        """The lines that assign values to the constants."""
        shared, scope = self.signature.shared, self.scope
        lines = ["CONSTANTS"]
        for sort, of in self.elements.items():
            lines += [f"    {name} = {element}" for element, name in of.items()]
            lines.append(f"    {shared.domains[sort]} = {{{', '.join(of)}}}")
        lines += [f"    {shared.greatest[nat.name]} = {scope.sizes[nat.name]}" for nat in self.system.nats]
        for action in self.signature.budgeted:
            limit = scope.budgets.get(action.name, NIL)
            lines.append(f"    {shared.greatest[layout_budget(action.name)]} = {limit}")
        lines += [f"    {shared.variables[name]} <- {here}" for name, here in self.given.items()]
        return [*lines, f"    {NIL} = {NIL}"]


def readable(sort: SortType, elements: Sequence[str]) -> Sequence[str]:
    """The names of the elements of a sort. Raises UsageError for a name that a configuration cannot contain."""
    for element in elements:
        if identifier(element) != element:
            raise UsageError(
                f"{sort.name}: TLC cannot read {element!r}, the name of an element; give the sort another prefix: "
                f'class {sort.name}(Sort, prefix="x")'
            )
    return elements
