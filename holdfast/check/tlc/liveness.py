"""TLC and ``live`` on what a model owes: which leads-to properties are violated, and by what runs.

TLC treats cut steps as impossible: in the module a bound is part of the action's condition. So it has to find violated
what ``live`` does, and what ``live`` finds violated only if cut steps count as impossible. Where ``live`` says
``exhausted``, TLC finds nothing violated.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import attrs

from holdfast.check.budget import Budget
from holdfast.check.tlc.agreement import SecondOpinion
from holdfast.check.tlc.answer import TlcAnswer, TlcError, answer_of
from holdfast.check.tlc.process import NoAnswerError
from holdfast.ir.errors import UsageError
from holdfast.ir.system import Property
from holdfast.lower.tla.debts import DebtModule
from holdfast.runs.replay import Replayer, Script, StoppedScript
from holdfast.trace.itf_values import Seq, Tup
from holdfast.trace.trace import Trace


@attrs.frozen
class LiveAgreement:
    """What both find of each leads-to, by its name in the order of the source.

    ``ours`` is violated according to ``live``, ``only_if_cut`` would be, if cut steps were impossible;
    ``theirs`` is violated according to TLC, which shows it by ``runs``. ``differences`` is empty if they agree; each
    begins with the name of its property and a colon.
    """

    model: str
    scope: str
    variants: tuple[str, ...]
    removed: tuple[str, ...]
    properties: tuple[str, ...]
    ours: tuple[str, ...]
    only_if_cut: tuple[str, ...]
    theirs: tuple[str, ...]
    differences: tuple[str, ...]
    runs: tuple[Trace, ...]

    @property
    def agrees(self) -> bool:
        """Whether they found the same."""
        return not self.differences


@attrs.frozen
class ViolatedLeadsTo:
    """A leads-to that TLC finds violated, and its run."""

    name: str
    found: TlcAnswer


def ask_liveness(opinion: SecondOpinion) -> tuple[ViolatedLeadsTo, ...]:
    """What TLC finds violated: it shows one property at a time, and is asked of the others again."""
    rest = list(opinion.system.of_kind("leads_to"))
    unpaid: list[ViolatedLeadsTo] = []
    while rest:
        found = _asked(opinion, rest)
        if found.verdict == "exhausted":
            break
        name = _property(opinion, found, rest)
        unpaid.append(ViolatedLeadsTo(name, found))
        rest = [prop for prop in rest if prop.name != name]
    return tuple(unpaid)


def compare_liveness(
    opinion: SecondOpinion, asked: Callable[[], tuple[ViolatedLeadsTo, ...]] | None = None
) -> LiveAgreement | None:
    """Decide liveness by both, and compare; None if the model owes nothing.

    ``asked`` waits for what TLC finds, where it was asked beforehand. Raises as ``SecondOpinion.compared`` does.
    """
    from holdfast.check.live.engine import live  # noqa: PLC0415 - SciPy takes a while to import

    names = tuple(prop.name for prop in opinion.system.of_kind("leads_to"))
    if not names:
        return None
    mine = live(
        opinion.system, opinion.scope, target=opinion.target, budget=Budget(seconds=opinion.seconds), whole=True
    )
    if mine.ended_by is not None:
        raise NoAnswerError(
            f"holdfast live ended early ({mine.ended_by}); give it longer with --limit, or choose a smaller scope"
        )
    unpaid = ask_liveness(opinion) if asked is None else asked()
    ours = tuple(trace.shown.name for trace in mine.findings)
    cut = tuple(each.claim.name for each in mine.figures.owed if each.only_if_cut is not None)
    theirs = tuple(name for name in names if name in {each.name for each in unpaid})
    problems = [
        f"{name}: live: {_word(name in ours, name in cut)}; TLC: {_word(name in theirs)}"
        for name in names
        if (name in theirs) != (name in ours or name in cut)
    ]
    runs: list[Trace] = []
    for each in unpaid:
        trace, problem = _taken_again(opinion, each)
        runs += [] if trace is None else [trace]
        problems += [] if problem is None else [problem]
    system = opinion.system
    return LiveAgreement(
        opinion.target, opinion.scope.name, system.chosen, system.removed,
        names, ours, cut, theirs, tuple(problems), tuple(runs),
    )  # fmt: skip


def _asked(opinion: SecondOpinion, properties: list[Property]) -> TlcAnswer:
    module = DebtModule(opinion.specification.scope, properties)
    # The files as they were given, so that a fault in one of them shows; but for the properties that are left.
    whole = len(properties) == len(list(opinion.system.of_kind("leads_to")))
    files = opinion.files if whole else opinion.files | opinion.specification.owing(module)
    return answer_of(opinion.run(module.name, f"{module.name}.cfg", files))


def _property(opinion: SecondOpinion, found: TlcAnswer, properties: list[Property]) -> str:
    """The property that a run of TLC violates: what it owes in the end."""
    debt = DebtModule(opinion.specification.scope, properties).debt
    owed = None if found.run is None else found.run.states[-1].values.get(debt)
    name = owed.items[0] if isinstance(owed, Seq | Tup) and owed.items else None
    if name not in [prop.name for prop in properties]:
        raise TlcError(f"TLC finds {found.name} violated by a run that owes nothing")
    assert isinstance(name, str)
    return name


def _taken_again(opinion: SecondOpinion, unpaid: ViolatedLeadsTo) -> tuple[Trace | None, str | None]:
    """TLC's run on the model, and what is wrong with it if it is none, or does not show what TLC says."""
    assert unpaid.found.run is not None
    prop = next(prop for prop in opinion.system.of_kind("leads_to") if prop.name == unpaid.name)
    try:
        _, script = opinion.fitted(unpaid.found.run)
    except UsageError as error:
        return None, f"{prop.name}: TLC's run is none of the model: {error}"
    replayer = Replayer(opinion.system, opinion.scope, target=opinion.target, options=None, leads_to=(prop,))
    trace = replayer.trace(script, prop.name)
    assert isinstance(trace, Trace), "every step was found to be possible"
    owes = _owes(replayer, prop, script)
    return trace, None if owes else f"{prop.name}: TLC's run owes nothing for ever in the model"


def _owes(replayer: Replayer, prop: Property, script: Script) -> bool:
    """Whether an instance is owed on the whole way round. (Whether the run is fair depends on what bounds cut.)"""
    machine, states = replayer.machine, replayer.states(script)
    assert not isinstance(states, StoppedScript), "every step was found to be possible"
    assert script.loop is not None, "what is violated by a finite run is no leads-to"
    for args in itertools.product(*(range(machine.layout.codes(param.type)) for param in prop.params)):
        met = [number for number, state in enumerate(states) if machine.goal(prop, state, args)]
        last = max(met, default=-1)
        if last < script.loop and any(machine.holds(prop, state, args) for state in states[last + 1 :]):
            return True
    return False


def _word(violated: bool, if_cut: bool = False) -> str:
    """What one of them says of a property."""
    return "violated" if violated else "violated only where a bound cuts" if if_cut else "holds"
