"""Compare TLC and ``live`` on liveness properties: which ones are violated, and by which runs.

TLC treats cut steps as impossible: in the generated module a bound is part of the action's condition. So TLC must find
violated what ``live`` finds violated, and also what ``live`` finds violated only if cut steps count as impossible. If
``live`` answers ``exhausted``, TLC must find no violation.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import attrs

from holdfast.check.budget import Budget
from holdfast.check.tlc.agreement import SecondOpinion
from holdfast.check.tlc.answer import REPORT, TlcAnswer, TlcError, answer_of
from holdfast.check.tlc.process import NoAnswerError
from holdfast.ir.errors import UsageError
from holdfast.ir.system import LIVENESS, Property
from holdfast.lower.tla.debts import DebtModule
from holdfast.runs.replay import Replayer, Script, StoppedScript
from holdfast.trace.itf_values import Listing, Tup
from holdfast.trace.trace import Trace


@attrs.frozen
class LiveAgreement:
    """The answers of both about the liveness properties. All properties are names, in the order of the source.

    - ``ours``: violated according to ``live``; ``only_if_cut``: violated only if cut steps count as impossible.
    - ``theirs``: violated according to TLC; ``runs``: the runs that TLC shows.
    - ``differences``: empty if they agree. Each begins with the name of its property and a colon.
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
        """Whether both agree."""
        return not self.differences


@attrs.frozen
class ViolatedLiveness:
    """A liveness property that TLC finds violated, and TLC's answer with the run."""

    name: str
    found: TlcAnswer


def ask_liveness(opinion: SecondOpinion) -> tuple[ViolatedLiveness, ...]:
    """The liveness properties that TLC finds violated. TLC shows one at a time, so it is asked again about the rest."""
    rest = list(opinion.system.of_kind(*LIVENESS))
    unpaid: list[ViolatedLiveness] = []
    while rest:
        found = _asked(opinion, rest)
        if found.verdict == "exhausted":
            break
        name = _property(opinion, found, rest)
        unpaid.append(ViolatedLiveness(name, found))
        rest = [prop for prop in rest if prop.name != name]
    return tuple(unpaid)


def compare_liveness(
    opinion: SecondOpinion, asked: Callable[[], tuple[ViolatedLiveness, ...]] | None = None
) -> LiveAgreement | None:
    """Decide liveness with both, and compare. Returns None if the model has no liveness properties.

    If TLC was started earlier, ``asked`` waits for its answer. Raises as ``SecondOpinion.compared`` does.
    """
    from holdfast.check.live.engine import live  # noqa: PLC0415 - SciPy takes a while to import

    names = tuple(prop.name for prop in opinion.system.of_kind(*LIVENESS))
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
    # For all properties, take the files as they are, so that a planted fault in one of them shows. For the rest of the
    # properties the module of debts is generated again.
    whole = len(properties) == len(list(opinion.system.of_kind(*LIVENESS)))
    files = opinion.files if whole else opinion.files | opinion.specification.owing(module)
    return answer_of(opinion.run(module.name, f"{module.name}.cfg", files))


def _property(opinion: SecondOpinion, found: TlcAnswer, properties: list[Property]) -> str:
    """The property that a run of TLC violates: the one that the run owes in its last state."""
    debt = DebtModule(opinion.specification.scope, properties).debt
    owed = None if found.run is None else found.run.states[-1].values.get(debt)
    name = owed.items[0] if isinstance(owed, Listing | Tup) and owed.items else None
    if name not in [prop.name for prop in properties]:
        raise TlcError(f"TLC finds {found.name} violated by a run that owes nothing; {REPORT}")
    assert isinstance(name, str)
    return name


def _taken_again(opinion: SecondOpinion, unpaid: ViolatedLiveness) -> tuple[Trace | None, str | None]:
    """TLC's run replayed on the model, and a problem if the model has no such run or it violates nothing."""
    assert unpaid.found.run is not None
    prop = next(prop for prop in opinion.system.of_kind(*LIVENESS) if prop.name == unpaid.name)
    try:
        _, script = opinion.fitted(unpaid.found.run)
    except UsageError as error:
        return None, f"{prop.name}: the model cannot take TLC's run: {error}"
    replayer = Replayer(opinion.system, opinion.scope, target=opinion.target, options=None, liveness=(prop,))
    trace = replayer.trace(script, prop.name)
    assert isinstance(trace, Trace), "every step was found to be possible"
    if _fails(replayer, prop, script):
        return trace, None
    what = "has the goal in its whole loop" if prop.kind == "eventually_always" else "does not owe the goal for ever"
    return trace, f"{prop.name}: in the model, TLC's run {what}"


def _fails(replayer: Replayer, prop: Property, script: Script) -> bool:
    """Whether the run owes an instance of the property during its whole loop; for ``eventually_always``, whether the
    goal of an instance is false in a state of the loop.

    This does not judge whether the run is fair: that depends on how cut steps count.
    """
    machine, states = replayer.machine, replayer.states(script)
    assert not isinstance(states, StoppedScript), "every step was found to be possible"
    assert script.loop is not None, "what is violated by a finite run is no liveness property"
    # An instance is owed if its goal never holds in the loop, and its premise is true after the goal's last time.
    for args in itertools.product(*(range(machine.layout.codes(param.type)) for param in prop.params)):
        if prop.kind == "eventually_always":
            if not all(machine.goal(prop, state, args) for state in states[script.loop :]):
                return True
            continue
        met = [number for number, state in enumerate(states) if machine.goal(prop, state, args)]
        last = max(met, default=-1)
        if last < script.loop and any(machine.holds(prop, state, args) for state in states[last + 1 :]):
            return True
    return False


def _word(violated: bool, if_cut: bool = False) -> str:
    """One checker's answer about a property, in words."""
    return "violated" if violated else "violated only where a bound cuts" if if_cut else "holds"
