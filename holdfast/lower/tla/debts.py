"""Writes a module with which TLC checks all liveness properties of a model at once.

For each instance of ``P ~> Q`` TLC builds a separate graph, and evaluates every fair action for every step of it. In
this module a variable holds the instance that the run owes. A run may choose an instance in a state where P is true and
Q is false. From then on it takes no step into a state where Q is true. A fair run that owes an instance for ever
violates the property, which the variable names. ``[]<>Q`` is ``TRUE ~> Q``.

``<>[]Q`` is violated by a fair run in which Q is false again and again. Such a run may choose the instance too, and
keeps it, but it may take any step: Q may be true in between. A second formula says that the goal of a kept instance is
false only finitely often.
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
    """Writes the module and the configuration for some liveness properties of a model in one scope."""

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
        persistent = [prop.name for prop in self.properties if prop.kind == "eventually_always"]
        self.persistent = tuple(persistent)
        """The properties ``<>[]Q``. Their operators are in the module only if there are any."""
        self.lasting, self.settled = (names.take("Lasting"), names.take("DebtsSettle")) if persistent else ("", "")
        self.one = names.take("d")
        """The bound variable for one debt: an instance of a property."""
        own = (self.debt, self.nothing, self.debts, self.owed, self.met, self.unpaid, self.init, self.next, self.spec)
        self.taken = frozenset((*before, *own, self.fairness, self.paid, self.lasting, self.settled, self.one))
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
        if self.persistent:
            doc += (
                "\n\nAn instance that must be true for good is kept too, but the run may go where it is met. A fair "
                "run that keeps it, and in which it is false again and again, violates the property."
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
            *([self.lasts()] if self.persistent else []),
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
            # A property without a premise has no operator for it: the premise is always true.
            name_of = operators.get(prop.name)
            call = "TRUE" if name_of is None else f"{name_of}({arguments})" if arguments else name_of
            lines.append(f'{"[]" if place else "CASE"} {self.one}[1] = "{prop.name}" -> {call}')
        first, *rest = lines
        return operator(f"{name}({self.one})", Text((first, *(f"  {line}" for line in rest))))

    def lasts(self) -> list[str]:
        """The operator that tells the instances that must be true for good from the others."""
        names = ", ".join(f'"{name}"' for name in self.persistent)
        return operator(f"{self.lasting}({self.one})", word(rf"{self.one}[1] \in {{{names}}}"))

    def running(self) -> list[list[str]]:
        """The lines of the initial condition, the steps, the fairness and the property to check."""
        scope = self.scope
        idle = [scope.broken] if scope.checks else []
        begun = [
            word("Init"),
            *(word(f'{name} = "{scope.nothing}"') for name in idle),
            word(rf"{self.debt} \in {self.unpaid}"),
        ]
        # A run with a debt keeps it, and takes no step into a state that meets it, unless it must be met for good.
        unmet = rf"~{self.met}({self.debt})'"
        unmet = rf"({self.lasting}({self.debt}) \/ {unmet})" if self.persistent else unmet
        same = rf"UNCHANGED {self.debt} /\ {unmet}"
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
            *self.formulas(),
        ]

    def formulas(self) -> list[list[str]]:
        """The lines of the properties to check: every debt is paid, and what must be true for good is at last."""
        if not self.persistent:
            return [[f"{self.paid} == []<>({self.debt} = {self.nothing})"]]
        lasting = f"{self.lasting}({self.debt})"
        return [
            [rf"{self.paid} == []<>({self.debt} = {self.nothing} \/ {lasting})"],
            [rf"{self.settled} == <>[](~{lasting} \/ {self.met}({self.debt}))"],
        ]

    def configuration(self) -> str:
        """The configuration with which TLC checks the property under fairness."""
        formulas = [f"    {name}" for name in (self.paid, self.settled) if name]
        return self.scope.lines(
            [f"SPECIFICATION {self.spec}", *self.scope.assigned(), "PROPERTY", *formulas],
        )
