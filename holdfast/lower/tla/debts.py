"""What is owed, as TLA+: a module that lets TLC decide all leads-to properties of a model in one go.

For each instance of ``P ~> Q`` TLC draws a graph of its own, and asks every fair action of every step in it. So here a
variable says which instance a run owes: it is chosen where one comes to be owed, and from then on no step that meets it
is taken. A fair run that owes something for ever is a violation, and the variable names the property.
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
    """The module and the configuration for some leads-to properties of a model in one scope."""

    def __init__(self, scope: ScopeModule, properties: Sequence[Property]) -> None:
        self.scope = scope
        self.signature = scope.signature
        self.properties = tuple(properties)
        names = scope.names.within()
        self.name = names.module(f"{scope.name}_live")
        params = (param.name for action in self.signature.system.actions for param in action.params)
        before = {*names.taken}
        names.taken |= set(map(identifier, params))
        self.debt, self.nothing = names.take("debt"), names.take("NoDebt")
        self.debts, self.owed, self.met, self.unpaid = map(names.take, ("Debts", "Owed", "Met", "Unpaid"))
        self.init, self.next, self.spec = (names.take(f"Debt{part}") for part in ("Init", "Next", "Spec"))
        self.fairness, self.paid = names.take("DebtFairness"), names.take("DebtsArePaid")
        self.one = names.take("d")
        """A bound name for one of the debts."""
        own = (self.debt, self.nothing, self.debts, self.owed, self.met, self.unpaid, self.init, self.next, self.spec)
        self.taken = frozenset((*before, *own, self.fairness, self.paid, self.one))
        """The names of the module, without those that parameters may have."""
        self.none = unused("nothing", (prop.name for prop in properties))
        """What the variable holds as long as the run owes nothing."""

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
        """The variable, what it may hold, and what that means."""
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
        """The instances of a property, as tuples that begin with its name."""
        if not prop.params:
            return f'{{<<"{prop.name}">>}}'
        domains = [self.signature.shared.domain(param.type) for param in prop.params]
        text = r" \X ".join([f'{{"{prop.name}"}}', *domains])
        return text if len(self.properties) == 1 else f"({text})"

    def cases(self, name: str, operators: Mapping[str, str]) -> list[str]:
        """One side of each property, of an instance."""
        lines = []
        for place, prop in enumerate(self.properties):
            arguments = ", ".join(f"{self.one}[{number + 2}]" for number in range(len(prop.params)))
            call = f"{operators[prop.name]}({arguments})" if arguments else operators[prop.name]
            lines.append(f'{"[]" if place else "CASE"} {self.one}[1] = "{prop.name}" -> {call}')
        first, *rest = lines
        return operator(f"{name}({self.one})", Text((first, *(f"  {line}" for line in rest))))

    def running(self) -> list[list[str]]:
        """The runs, and what is asked of them."""
        scope = self.scope
        idle = [scope.broken] if scope.checks else []
        begun = [
            word("Init"),
            *(word(f'{name} = "{scope.nothing}"') for name in idle),
            word(rf"{self.debt} \in {self.unpaid}"),
        ]
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
        """What TLC is to check of whole runs under fairness."""
        return self.scope.lines(
            [f"SPECIFICATION {self.spec}", *self.scope.assigned(), "PROPERTY", f"    {self.paid}"],
        )
