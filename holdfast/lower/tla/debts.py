"""Writes a module with which TLC checks all leads-to properties of a model at once.

For each instance of ``P ~> Q`` TLC builds a separate graph, and evaluates every fair action for every step of it. In
this module a variable holds the instance that the run owes. A run may choose an instance in a state where P is true and
Q is false. From then on it takes no step into a state where Q is true. A fair run that owes an instance for ever
violates the property, which the variable names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.ir.system import Property
from holdfast.lower.tla.lines import apart, ended, generated, title, wrapped
from holdfast.lower.tla.module import fairness
from holdfast.lower.tla.names import identifier, unused
from holdfast.lower.tla.scope import ScopeModule
from holdfast.lower.tla.text import Text, bulleted, comment, operator, paragraph, word


class DebtModule:
    """Writes the module and the configuration for some leads-to properties of a model in one scope."""

    def __init__(self, scope: ScopeModule, properties: Sequence[Property]) -> None:
        self.scope = scope
        self.signature = scope.signature
        self.properties = tuple(properties)
        names = scope.names.within()
        self.name = names.module(f"{scope.name}_live")
        params = (param.name for action in self.signature.system.actions for param in action.params)
        # The parameters' names are reserved while this module's own names are taken, so that none equals a parameter.
        before = {*names.taken}
        names.taken |= set(map(identifier, params))
        self.debt, self.nothing = names.take("debt"), names.take("NoDebt")
        self.debts, self.owed, self.met, self.unpaid = map(names.take, ("Debts", "Owed", "Met", "Unpaid"))
        self.init, self.next, self.spec = (names.take(f"Debt{part}") for part in ("Init", "Next", "Spec"))
        self.fairness, self.paid = names.take("DebtFairness"), names.take("DebtsArePaid")
        self.one = names.take("d")
        """The bound variable for one debt: an instance of a property."""
        own = (self.debt, self.nothing, self.debts, self.owed, self.met, self.unpaid, self.init, self.next, self.spec)
        self.taken = frozenset((*before, *own, self.fairness, self.paid, self.one))
        """The names that no parameter of an operator may have."""
        self.none = unused("nothing", (prop.name for prop in properties))
        """The value of the variable while the run owes nothing."""

    def text(self) -> str:
        """The whole module."""
        doc = (
            f"What {self.signature.module} owes in scope {self.scope.scope.name}, under its fairness.\n\n"
            "A run may take note of one instance of a property where it comes to be owed; from then on no step is "
            "taken that meets it. A fair run that owes it for ever is one of the model that violates the property."
        )
        lines = [
            title(self.name),
            generated(self.scope.target),
            comment(""),
            *paragraph(doc),
            f"EXTENDS {self.scope.name}",
            "",
            *apart([*self.owing(), *self.running()]),
        ]
        return ended(lines)

    def owing(self) -> list[list[str]]:
        """The lines of the variable and its possible values, and when an instance is owed and met."""
        one = self.one
        unpaid = rf"{{{self.nothing}}} \cup {{{one} \in {self.debts} : {self.owed}({one}) /\ ~{self.met}({one})}}"
        return [
            [comment("What the run owes: a property with its arguments, or nothing."), f"VARIABLE {self.debt}"],
            [f'{self.nothing} == <<"{self.none}">>'],
            operator(self.debts, Text(tuple(wrapped("", [*map(self.instances, self.properties)], "", r" \cup ")))),
            self.cases(self.owed, self.signature.owed),
            self.cases(self.met, self.signature.met),
            operator(self.unpaid, word(unpaid)),
        ]

    def instances(self, prop: Property) -> str:
        """The set of the instances of a property: tuples of its name and its arguments."""
        if not prop.params:
            return f'{{<<"{prop.name}">>}}'
        domains = [self.signature.shared.domain(param.type) for param in prop.params]
        text = r" \X ".join([f'{{"{prop.name}"}}', *domains])
        return text if len(self.properties) == 1 else f"({text})"

    def cases(self, name: str, operators: Mapping[str, str]) -> list[str]:
        """An operator of an instance that evaluates one side of its property."""
        lines = []
        for place, prop in enumerate(self.properties):
            # The first component is the name, and tuples count from 1: the arguments begin at 2.
            arguments = ", ".join(f"{self.one}[{number + 2}]" for number in range(len(prop.params)))
            call = f"{operators[prop.name]}({arguments})" if arguments else operators[prop.name]
            lines.append(f'{"[]" if place else "CASE"} {self.one}[1] = "{prop.name}" -> {call}')
        first, *rest = lines
        return operator(f"{name}({self.one})", Text((first, *(f"  {line}" for line in rest))))

    def running(self) -> list[list[str]]:
        """The lines of the initial condition, the steps, the fairness and the property to check."""
        scope = self.scope
        idle = [scope.broken] if scope.checks else []
        begun = [
            word("Init"),
            *(word(f'{name} = "{scope.nothing}"') for name in idle),
            word(rf"{self.debt} \in {self.unpaid}"),
        ]
        # A run with a debt keeps it, and takes no step into a state that meets it.
        same = rf"UNCHANGED {self.debt} /\ ~{self.met}({self.debt})'"
        going = [
            word("Next"),
            *(word(f"UNCHANGED {name}") for name in idle),
            word(f"IF {self.debt} = {self.nothing} THEN {self.debt}' \\in {self.unpaid}' ELSE {same}"),
        ]
        spec = f"{self.init} /\\ [][{self.next}]_<<{', '.join(['vars', *idle, self.debt])}>>"
        demands = fairness(self.signature, f"{self.debt} # {self.nothing}", self.taken)
        fair = [
            *paragraph("Fairness, as far as it matters: runs that never owe anything violate nothing."),
            *operator(self.fairness, bulleted("/\\", demands) if len(demands) > 1 else demands[0]),
        ] if demands else []  # fmt: skip
        return [
            operator(self.init, bulleted("/\\", begun)),
            operator(self.next, bulleted("/\\", going)),
            *([fair] if fair else []),
            [f"{self.spec} == {spec}" + (f" /\\ {self.fairness}" if fair else "")],
            [f"{self.paid} == []<>({self.debt} = {self.nothing})"],
        ]

    def configuration(self) -> str:
        """The configuration with which TLC checks the property under fairness."""
        return self.scope.lines(
            [f"SPECIFICATION {self.spec}", *self.scope.assigned(), "PROPERTY", f"    {self.paid}"],
        )
