"""The model whose mutants the tests try, a lock that is requested, entered and left; and helpers that try them."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.check.budget import Budget
from holdfast.check.mutate.engine import Mutation, MutationOptions
from holdfast.check.mutate.limits import MutationLimits
from holdfast.check.mutate.result import MutantFacts, MutationReport
from holdfast.ir.scopes import usual_scopes
from holdfast.ir.system import System
from holdfast.trace.trace import Trace

OUTCOMES = {
    "LS-02": 'redundant(with_="LS-03")',
    "LS-03": 'redundant(with_="LS-02", reason="who has asked is alone")',
    "LS-05": 'equivalent("who is inside has asked")',
    "LS-06": 'liveness("LV-02", "nobody else is ever let in")',
    "LS-07": 'missing("nodes that crash")',
    "kept": 'sound("the next turn needs no question")',
}
"""The lock's mutants that are not killed, with their true outcomes, which the model declares."""

WAYS = {
    "LS-07": "missing",
    "LS-07@ask": "missing",
    "LS-07@enter": "equivalent",
    "LS-02": "redundant",
    "LS-01": "killed",
    "LS-03": "redundant",
    "LS-08": "killed",
    "LS-04": "killed",
    "LS-05": "equivalent",
    "LS-06": "liveness",
    "greedy": "killed",
    "kept": "sound",
}
"""The outcome of each of the lock's mutants."""

LOCK = """
asked: Rel[Node]
inside: Rel[Node]
tired: Rel[Node]
greedy: Flag
\"\"\"Whoever asks is let in.\"\"\"

tiny = Scope({{Node: 2}})

mutants = outcomes({{{outcomes}}})

@init
def empty(self) -> None:
    self.asked.fill(False)
    self.inside.fill(False)
    self.tired.fill(False)

def check_awake(self, n: Node) -> None:
    require(not self.tired[n], "LS-07")

@action
def ask(self, n: Node) -> None:
    self.check_awake(n)
    require(self.greedy or not any(self.asked[m] for m in Node), "LS-02")
    self.asked[n] = True

@action
def enter(self, n: Node) -> None:
    self.check_awake(n)
    require(self.asked[n], "LS-01")
    require(self.greedy or not any(self.inside[m] for m in Node), "LS-03")
    if rule("LS-08"):
        self.inside[n] = True

@action(fair="weak", per=("n",))
def leave(self, n: Node) -> None:
    require(self.inside[n], "LS-04")
    require(self.asked[n], "LS-05")
    self.inside[n] = False
    self.tired[n] = True
    if rule("LS-06"):
        self.asked[n] = False

@variant("kept", replaces="leave")
def leave_awake(self, n: Node) -> None:
    \"\"\"Nobody is tired.\"\"\"
    require(self.inside[n], "LS-04")
    self.inside[n] = False
    self.asked[n] = False

@invariant
def alone(self) -> bool:
    \"\"\"LS-10. At most one node is inside.\"\"\"
    return count(self.inside[n] for n in Node) <= 1

@invariant
def asked_first(self) -> bool:
    \"\"\"LS-11. Who is inside has asked.\"\"\"
    return all(self.asked[n] for n in Node if self.inside[n])

@step(of="leave")
def left_from_inside(self, old: Self, n: Node) -> bool:
    \"\"\"LS-12. Only who is inside leaves.\"\"\"
    return old.inside[n] and not self.inside[n]

@witness
def busy(self) -> bool:
    \"\"\"Somebody is inside.\"\"\"
    return any(self.inside[n] for n in Node)

@leads_to
def over(self, n: Node) -> tuple[bool, bool]:
    \"\"\"LV-02. A turn is over some time.\"\"\"
    return self.inside[n], not self.asked[n]
"""


def lock(**changed: str | None) -> str:
    """The body of the model's class. An argument LS_02 replaces the declaration of LS-02; None removes it."""
    declared: dict[str, str | None] = {**OUTCOMES, **{name.replace("_", "-"): text for name, text in changed.items()}}
    return LOCK.format(outcomes=", ".join(f'"{name}": {text}' for name, text in declared.items() if text is not None))


def without_liveness(body: str) -> str:
    """The body without its leads-to property."""
    return body[: body.index("@leads_to")]


def mutation(
    system: System,
    *only: str,
    pairs: bool = True,
    variants: bool = True,
    budget: str | None = None,
    known: dict[str, MutantFacts] | None = None,
    keep: Callable[[MutantFacts], None] = lambda facts: None,
    show: Callable[[str, Trace], None] = lambda name, trace: None,
    cores: int = 1,
) -> Mutation:
    """The trials of a system's mutants in its usual scopes, on one core unless ``cores`` says more."""
    limits = MutationLimits(Budget() if budget is None else Budget.parse(budget), cores=cores)
    options = MutationOptions(pairs=pairs, variants=variants, only=only)
    return Mutation(
        system, usual_scopes(system), limits, target="lock", options=options, known=known, keep=keep, show=show
    )


def ways(report: MutationReport) -> dict[str, str]:
    """The outcome of each mutant."""
    return {row.facts.mutant.name: row.way for row in report.rows}


def faults(report: MutationReport) -> dict[str, str]:
    """The faults of the declarations, by mutant."""
    return {row.facts.mutant.name: row.fault for row in report.faults if row.fault is not None}
