"""A run made as small as it gets, still showing the same claim: ``trace/shrink.py`` with a model behind it.

What the model adds is a bounded search for shortcuts: from some state of the run, breadth first, to a later one, to a
renaming of a later one, or to an end that shows the claim, in fewer steps than the run takes. First only the actions
that the run uses may serve, then all; first a few states are looked into from each place of the run, then more. So
runs come near the length that ``holdfast check`` finds, and reach it where the budget suffices.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import attrs

from holdfast.ir.errors import UsageError
from holdfast.ir.types import SortType
from holdfast.lower.symmetry import Renaming, Symmetry
from holdfast.runs.replay import Replayer, Script
from holdfast.trace.shrink import Call, Run, Shrinker, Tries, never
from holdfast.trace.trace import Trace

BUDGET = 20_000
"""How many candidates are tried: runs replayed, and states that the search for shortcuts looks into."""

FEW = 100
"""How many states the search looks into from each place of the run, at first."""


@attrs.frozen
class ShrinkResult:
    """What shrinking came to. ``removed`` steps are gone, and ``tried`` candidates were looked at.

    ``shortest`` says that no run of the model is shorter that shows the claim; False if that is not known.
    """

    script: Script
    trace: Trace
    removed: int
    tried: int
    shortest: bool


def shrink(
    replayer: Replayer,
    script: Script,
    claim_name: str,
    *,
    budget: int = BUDGET,
    stopped: Callable[[], bool] = never,
) -> ShrinkResult:
    """The least run found that shows the claim; of equal length, the one with the least arguments.

    ``budget`` is the number of candidates; once ``stopped``, the least so far is the answer. Raises UsageError for an
    unknown claim, and for a script whose end does not show it.
    """
    if not replayer.shows(script, claim_name):
        raise UsageError(f"the run does not show {claim_name} at its end; name what it shows with --property")
    tries = Tries(budget, stopped)
    shortcuts = Shortcuts(replayer, claim_name, tries)
    system = replayer.system
    params = {each.name: tuple(param.type for param in each.params) for each in (system.init, *system.actions)}
    shrinker = Shrinker(lambda run: replayer.shows(_script(run), claim_name), params, tries, shortcut=shortcuts.shorter)
    least = _script(shrinker.shrink(((system.init.name, script.start), *script.steps)))
    trace = replayer.trace(least, claim_name)
    assert isinstance(trace, Trace), "what was kept was replayed"
    return ShrinkResult(least, trace, len(script.steps) - len(least.steps), tries.made, shortcuts.exhausted)


def _script(run: Run) -> Script:
    (_, start), *steps = run
    return Script(start, tuple(steps))


@attrs.frozen
class _Visit:
    """A state that the search has come to, and how: by a call from another, or as one that it starts from."""

    state: bytes
    before: _Visit | None
    call: Call | None

    def calls(self) -> list[Call]:
        """The calls from where the search started."""
        found: list[Call] = []
        here: _Visit | None = self
        while here is not None and here.call is not None:
            found.append(here.call)
            here = here.before
        return found[::-1]


class Shortcuts:
    """Looks for shorter ways. It remembers between two questions how far it has come, and asks for more each time."""

    def __init__(self, replayer: Replayer, claim_name: str, tries: Tries) -> None:
        self.replayer = replayer
        self.claim_name = claim_name
        self.tries = tries
        self.machine = replayer.machine
        self.actions = [action.name for action in replayer.system.actions]
        self.params = {action.name: action.params for action in replayer.system.actions}
        self.starts = self.machine.starts()
        self.patience = FEW
        """How many states to look into from one place."""
        self.everything = False
        """Whether actions may serve that the run does not use."""
        self.exhausted = False
        """Whether every run that is shorter was looked at."""
        try:
            self.group: Symmetry | None = Symmetry(self.machine.layout)
        except UsageError:  # Too many renamings to try them all.
            self.group = None

    def shorter(self, run: Run) -> Run | None:
        """A run of fewer steps, or None."""
        states = self.replayer.states(_script(run))
        assert isinstance(states, tuple), "what is to be shortened can be replayed"
        while self.tries.left:
            from_start = _Search(self, run, states, 0)
            places = (_Search(self, run, states, place) for place in range(1, len(states)))
            for search in itertools.chain([from_start], places):
                found = search.shortcut()
                if found is not None:
                    return found
                if from_start.complete:
                    # Where nothing shorter leads from the start, nothing does from elsewhere.
                    break
            if not from_start.complete:
                self.patience *= 4
            elif self.everything:
                self.exhausted = True
                break
            else:
                self.everything = True
        return None

    def canonical(self, state: bytes) -> bytes:
        """What stands for all renamings of a state."""
        return state if self.group is None else self.group.canonical(state)

    def renaming(self, old: bytes, new: bytes) -> Renaming | None:
        """One that makes the one state the other; None where nothing needs another name."""
        if self.group is None or old == new:
            return None
        numbers = (number for number in range(self.group.order) if self.group.permute(old, number) == new)
        return self.group.renamings[next(numbers)]

    def renamed(self, call: Call, renaming: Renaming | None) -> Call:
        """The call with other names."""
        if renaming is None:
            return call
        action, args = call
        kinds = (param.type for param in self.params[action])
        return action, tuple(
            renaming[kind.name][code] if isinstance(kind, SortType) else code
            for kind, code in zip(kinds, args, strict=True)
        )


class _Search:
    """Breadth first from the state at one place of the run; from the first place, from every initial state."""

    def __init__(self, shortcuts: Shortcuts, run: Run, states: tuple[bytes, ...], place: int) -> None:
        self.shortcuts = shortcuts
        self.machine = shortcuts.machine
        self.run = run
        self.states = states
        self.place = place
        self.left = min(shortcuts.patience, shortcuts.tries.left)
        used = {action for action, _ in run}
        self.usable = [
            index for index, action in enumerate(shortcuts.actions) if shortcuts.everything or action in used
        ]
        self.later = {shortcuts.canonical(states[index]): index for index in range(place + 1, len(states) - 1)}
        """Where the run comes to a state last, after the place; its end is for ``_shows`` to tell."""
        self.seen: set[bytes] = set()
        self.best: Run | None = None
        self.complete = False
        """Whether all states were looked into from which a shortcut might lead on."""

    def shortcut(self) -> Run | None:
        """The shortest run that the first successful level gives, or None."""
        level = [found for found in self._starts() if self._visit(found, 0)]
        depth = 0
        while level and self.best is None and self.place + depth + 1 < len(self.run) - 1:
            depth += 1
            following: list[_Visit] = []
            for found in level:
                if not self.left:
                    return self.best
                self.left -= 1
                self.shortcuts.tries.made += 1
                following += [new for new in self._steps(found) if self._visit(new, depth)]
            level = following
        self.complete = self.best is None
        return self.best

    def _starts(self) -> Iterator[_Visit]:
        if self.place:
            yield _Visit(self.states[self.place], None, None)
            return
        for state, args in self.shortcuts.starts:
            yield _Visit(state, None, (self.run[0][0], args))

    def _steps(self, found: _Visit) -> Iterator[_Visit]:
        for index in self.usable:
            for new, args in self.machine.successors[index](found.state):
                yield _Visit(new, found, (self.shortcuts.actions[index], args))

    def _visit(self, found: _Visit, depth: int) -> bool:
        """Note what a state is good for; whether it was not seen before."""
        if self._shows(found):
            self._offer(found, len(self.run))
        orbit = self.shortcuts.canonical(found.state)
        if orbit in self.seen:
            return False
        self.seen.add(orbit)
        met = self.later.get(orbit)
        if met is not None and depth < met - self.place:
            self._offer(found, met)
        return True

    def _shows(self, found: _Visit) -> bool:
        """Whether the run may end here."""
        before = found.before
        if before is None:
            # The run's own states are known, but not what another initial state shows.
            return not self.place and self._ends((found.state,), Script((), ()))
        assert found.call is not None
        return self._ends((before.state, found.state), Script((), (found.call,)))

    def _ends(self, states: tuple[bytes, ...], script: Script) -> bool:
        return self.shortcuts.replayer.ends(self.shortcuts.claim_name, states, script)

    def _offer(self, found: _Visit, met: int) -> None:
        """The run over ``found`` and then as it went on after the place ``met``."""
        renaming = None if met == len(self.run) else self.shortcuts.renaming(self.states[met], found.state)
        rest = tuple(self.shortcuts.renamed(call, renaming) for call in self.run[met + 1 :])
        first = self.run[: self.place + 1] if self.place else ()
        candidate = (*first, *found.calls(), *rest)
        if len(candidate) < len(self.run if self.best is None else self.best):
            self.best = candidate
