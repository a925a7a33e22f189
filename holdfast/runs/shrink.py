"""Shrink a run of a model to the least run found that still shows the claim: ``trace/shrink.py`` with a model.

The model adds a bounded search for shortcuts. It starts from some state of the run and goes breadth first, until in
fewer steps than the run it comes to a later state of the run, to a renaming of a later state, or to an end that shows
the claim. First it uses only the actions of the run, then all actions. First it expands few states from each place of
the run, then more. So runs come near the length that ``holdfast check`` finds, and reach it if the budget suffices.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import attrs

from holdfast.ir.errors import UsageError
from holdfast.lower.renaming_group import Renaming, renamed_code
from holdfast.lower.symmetry import group_of
from holdfast.runs.replay import Replayer, Script
from holdfast.trace.shrink import Call, Run, Shrinker, Tries, never
from holdfast.trace.trace import Trace

BUDGET = 20_000
"""The limit of candidates: replayed runs, and states that the search for shortcuts expands."""

FEW = 100
"""The number of states that the search expands from each place of the run, at first."""


@attrs.frozen
class ShrinkResult:
    """The shrunk run. ``removed`` is the number of steps that it lost, ``tried`` the number of candidates tried.

    ``shortest`` says that no shorter run of the model shows the claim; False if that is not known.
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

    ``budget`` is the number of candidates. Once ``stopped`` returns True, the least run so far is returned. Raises
    UsageError for an unknown claim, and for a script whose end does not show it.
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
    """A state that the search reached, with the visit and the call that led to it; both are None for a start."""

    state: bytes
    before: _Visit | None
    call: Call | None

    def calls(self) -> list[Call]:
        """The calls from the start of the search to here."""
        found: list[Call] = []
        here: _Visit | None = self
        while here is not None and here.call is not None:
            found.append(here.call)
            here = here.before
        return found[::-1]


class Shortcuts:
    """Searches for shortcuts. It remembers its limits between two calls, and raises them when it finds nothing."""

    def __init__(self, replayer: Replayer, claim_name: str, tries: Tries) -> None:
        self.replayer = replayer
        self.claim_name = claim_name
        self.tries = tries
        self.machine = replayer.machine
        self.actions = [action.name for action in replayer.system.actions]
        self.params = {action.name: action.params for action in replayer.system.actions}
        self.starts = self.machine.starts()
        self.patience = FEW
        """The number of states to expand from one place."""
        self.everything = False
        """Whether the search may use actions that the run does not use."""
        self.exhausted = False
        """Whether all shorter runs were searched."""
        self.group = group_of(self.machine.layout)

    def shorter(self, run: Run) -> Run | None:
        """A run of fewer steps, or None."""
        states = self.replayer.states(_script(run))
        assert isinstance(states, tuple), "what is to be shortened can be replayed"
        while self.tries.left:
            # Only a search from the start that completes with all actions proves that no shorter run exists.
            from_start = _Search(self, run, states, 0)
            places = (_Search(self, run, states, place) for place in range(1, len(states)))
            for search in itertools.chain([from_start], places):
                found = search.shortcut()
                if found is not None:
                    return found
                if from_start.complete:
                    # If no shorter run leads from the start at all, none leads through another place.
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
        """The representative of all renamings of a state; the state itself without symmetry."""
        return state if self.group is None else self.group.canonical(state)

    def renaming(self, old: bytes, new: bytes) -> Renaming | None:
        """A renaming that turns ``old`` into ``new``; None if no renaming is needed."""
        if self.group is None or old == new:
            return None
        return self.group.renaming(old, new)

    def renamed(self, call: Call, renaming: Renaming | None) -> Call:
        """The call with its arguments renamed."""
        if renaming is None:
            return call
        action, args = call
        kinds = (param.type for param in self.params[action])
        layout = self.machine.layout
        return action, tuple(renamed_code(layout, kind, code, renaming) for kind, code in zip(kinds, args, strict=True))


class _Search:
    """A breadth-first search from one place of the run; from the first place it starts in every initial state."""

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
        """For each orbit, the last place of the run after ``place`` that is in it. The end is left out: ``_shows``
        tests it.
        """
        self.seen: set[bytes] = set()
        self.best: Run | None = None
        self.complete = False
        """Whether the search expanded all states that could lead to a shortcut."""

    def shortcut(self) -> Run | None:
        """The shortest run that the first successful level gives, or None."""
        level = [found for found in self._starts() if self._visit(found, 0)]
        depth = 0
        # A deeper level gives no gain: the candidate would have at least as many steps as the run.
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
        """Offer the shortcuts that end in a state; returns whether its orbit is new."""
        if self._shows(found):
            self._offer(found, len(self.run))
        orbit = self.shortcuts.canonical(found.state)
        if orbit in self.seen:
            return False
        self.seen.add(orbit)
        met = self.later.get(orbit)
        # A shortcut only if the run takes more steps from its place to the later state.
        if met is not None and depth < met - self.place:
            self._offer(found, met)
        return True

    def _shows(self, found: _Visit) -> bool:
        """Whether the run may end in this state because it shows the claim."""
        before = found.before
        if before is None:
            # The run's own states are known, but another initial state may show the claim.
            return not self.place and self._ends((found.state,), Script((), ()))
        assert found.call is not None
        return self._ends((before.state, found.state), Script((), (found.call,)))

    def _ends(self, states: tuple[bytes, ...], script: Script) -> bool:
        return self.shortcuts.replayer.ends(self.shortcuts.claim_name, states, script)

    def _offer(self, found: _Visit, met: int) -> None:
        """Offer a candidate: the run to ``found``, and then the run's own steps after the place ``met``, renamed."""
        # Steps after ``met`` are the run's own, in the names of the state that was found.
        renaming = None if met == len(self.run) else self.shortcuts.renaming(self.states[met], found.state)
        rest = tuple(self.shortcuts.renamed(call, renaming) for call in self.run[met + 1 :])
        first = self.run[: self.place + 1] if self.place else ()
        candidate = (*first, *found.calls(), *rest)
        if len(candidate) < len(self.run if self.best is None else self.best):
            self.best = candidate
