"""One world: the states in which the model may be after the events so far, for some of the streams or for all."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.check.conform.judge.counting import Counting
from holdfast.check.conform.judge.event_facts import Facts, ToldCell, numbers_of
from holdfast.check.conform.judge.event_trial import EventTrial, Expected, agrees, counted_on
from holdfast.check.conform.judge.frontier import Frontier
from holdfast.check.conform.judge.ground import UnjudgedError
from holdfast.check.conform.judge.hidden import IN_A_ROW
from holdfast.check.conform.logs.events import STATE, UNKNOWN
from holdfast.check.conform.logs.names import Number
from holdfast.ir.system import Action
from holdfast.lower.outcome import Cut, Outcome, Refused, Taken

MOST_STATES = 20_000
"""The limit of states in a frontier."""

_NO_COUNTS = Counting()
"""For events of other streams: their loop over all streams counts no cell on."""


class World(Frontier):
    """Judges events: takes them one by one, or computes the states after one."""

    # Events -----------------------------------------------------------------------------------------------------

    def take(self, facts: Facts) -> bool:
        """Judge an event. Returns False if no state allows it; ``before`` has the states in which it was tried then.

        Raises Unjudged if the answer is ``unknown``.
        """
        trial = self.trial(facts)
        if trial is None:
            return True
        if trial.wanted:
            # This moves the codes in all states, so it must come before ``self.before`` is set.
            self._refer(trial)
        self.before = self.states
        if self.paths is not None:
            self.next_paths = dict(self.paths)
        found = self.after(trial, self.states)
        if not found:
            self.refuse_guesses(facts)
            return False
        if self.paths is not None:
            self.paths = {state: self.next_paths[state] for state in found}
        self.states = found
        return True

    def trial(self, facts: Facts) -> EventTrial | None:
        """The event as this world sees it; None if it does not concern this world."""
        if None in facts.args and self.ground.sort is not None and not self._names_stream(facts):
            at = facts.event.at
            raise UnjudgedError(
                f"{at.file}:{at.line} leaves open which {self.ground.sort} it is about; use --joint all"
            )
        own = self._has(facts.streams)
        action: Action | None = facts.action
        if not own:
            taken = facts.event.outcome in (None, UNKNOWN)
            loops = self.ground.projection.elsewhere if self.ground.projection is not None else {}
            action = loops.get(facts.action.name) if taken else None
            if action is not None and facts.event.span is not None:
                at = facts.event.at
                raise UnjudgedError(
                    f"{at.file}:{at.line}: a span of {facts.action.name}, each step of which changes all streams; "
                    "use --joint all"
                )
        pre = [told for told in facts.pre if self._sees(told, own)] if facts.pre else []
        post = [told for told in facts.post if self._sees(told, own)] if facts.post else []
        if action is None and not pre and not post:
            return None
        span = self._span(facts) if own else None
        wanted = numbers_of(facts, action, (*pre, *post), span)
        return EventTrial(facts, action, own, pre, post, span, wanted, self._counted(facts, post) if own else [])

    def _counted(self, facts: Facts, post: Sequence[ToldCell]) -> list[Number]:
        """The numbers after the event, if it tells them, of the fields that its action increments."""
        fields = self.ground.frame.uses.counted.get(facts.action.name)
        if not fields:
            return []
        return [told.value for told in post if told.var.name in fields and isinstance(told.value, tuple)]

    def after(self, trial: EventTrial, states: set[bytes]) -> set[bytes]:
        """The states after an event; the windows must hold its numbers already."""
        if self.ground.hidden.actions:
            return self._after_hidden(trial, states)
        return self._after_trial(trial, states)

    def _after_hidden(self, trial: EventTrial, states: set[bytes]) -> set[bytes]:
        """The states after an event, with or without hidden steps before it."""
        told = frozenset(told.var.name for told in (*trial.pre, *trial.post))
        actions = self.ground.hidden.before(trial.facts.action.name, told)
        more = self._hidden_steps(actions, states)
        plain = self._after_trial(trial, states)
        others = self._after_trial(trial, more) if more else set()
        if others and not plain:
            self.tally.hidden[trial.facts.action.name] += 1
        return plain | others

    def _hidden_steps(self, actions: Sequence[Action], states: set[bytes]) -> set[bytes]:
        """The states that hidden steps lead to, without the given ones."""
        known, level = set(states), states
        for depth in range(IN_A_ROW + 1):
            following: set[bytes] = set()
            for action in actions:
                choices = tuple(map(self.choices, action.params))
                for state in self.ordered(level):
                    steps = self.ground.machine.steps(action, choices, state)
                    self.tally.steps += 1
                    if steps.bound is not None:
                        self.guess = self.guess or f"a hidden {action.name} passes the bound of {steps.bound}"
                    for args, after in steps.after(state):
                        if after not in known:
                            following.add(after)
                            if self.paths is not None and after not in self.paths:
                                path = self.path(action, args, self.paths[state])
                                self.paths[after] = self.next_paths[after] = path
            if not following or depth == IN_A_ROW:
                if following:
                    self.guess = self.guess or f"more than {IN_A_ROW} hidden steps before one event were not tried"
                return known - states
            known |= following
            level = following
            if len(known) > MOST_STATES:
                raise UnjudgedError(f"hidden steps lead to more than {MOST_STATES:,} states; log more cells in post")
        return known - states

    def _after_trial(self, trial: EventTrial, states: set[bytes]) -> set[bytes]:
        """The states after an event, without hidden steps."""
        facts, action, span = trial.facts, trial.action, trial.span
        pre = self.expected(trial.pre) if trial.pre else []
        post = self.expected(trial.post) if trial.post else []
        if pre:
            states = {state for state in states if agrees(state, pre)}
        if trial.own and self.cannot_judge(facts):
            self.tally.unjudged[facts.action.name] += 1
            found = {state for state in states if agrees(state, post)}
        elif facts.action.name == STATE:
            found = self._set(states, post)
        elif action is None:
            # The event changes nothing in this world, but it tells cells of it.
            found = {state for state in states if agrees(state, post)}
        elif span is not None and facts.event.outcome == UNKNOWN:
            raise UnjudgedError(f"nobody knows how many steps of the span of {facts.action.name} were taken")
        elif span is not None and facts.event.outcome is None:
            found = self._spanned(action, facts, states, span, post)
        else:
            found = self._after(action, facts, trial.own, states, post)
        if len(found) > MOST_STATES:
            raise UnjudgedError(f"more than {MOST_STATES:,} states agree with the log here; log more cells in post")
        self.tally.peak = max(self.tally.peak, len(found))
        return found

    def _set(self, states: set[bytes], post: Sequence[Expected]) -> set[bytes]:
        """The states with the cells of a snapshot, which a log may begin with."""
        if self.paths is not None:
            raise UnjudgedError("the log begins with a snapshot, and no run of the model begins there")
        found = set()
        for state in states:
            changed = bytearray(state)
            for cell, code, _ in post:
                changed[cell] = code
            found.add(bytes(changed))
        return found

    def refuse_guesses(self, stuck: Facts | None) -> None:
        """Raise Unjudged if this world has guessed: then a run that allows ``stuck`` may be missing."""
        if self.guess is not None:
            where = f"no known state allows {stuck.event.at.file}:{stuck.event.at.line}, but " if stuck else ""
            raise UnjudgedError(where + self.guess)

    def _names_stream(self, facts: Facts) -> bool:
        """Whether the event names its stream, if its action has one."""
        return all(
            arg is not None or param.type != self.ground_sort
            for param, arg in zip(facts.action.params, facts.args, strict=True)
        )

    def _sees(self, told: ToldCell, own: bool) -> bool:
        """Whether a told cell belongs to this world; a cell without a stream does if the event is ``own``."""
        return self._has(told.streams) if told.streams else own

    def _has(self, streams: tuple[int, ...]) -> bool:
        """Whether all these streams belong to this world."""
        for stream in streams:  # noqa: SIM110 - a generator takes twice as long
            if stream not in self.slots:
                return False
        return True

    def cannot_judge(self, facts: Facts) -> bool:
        """Whether the event is a refusal that a stream outside this world may have caused."""
        projection = self.ground.projection
        return (
            facts.event.outcome not in (None, UNKNOWN)
            and projection is not None
            and facts.action.name in projection.weak
        )

    # Steps ------------------------------------------------------------------------------------------------------

    def _after(
        self, action: Action, facts: Facts, own: bool, states: set[bytes], post: Sequence[Expected]
    ) -> set[bytes]:
        """The states after an event that is a single step."""
        wanted = facts.event.outcome
        step = self.ground.machine.step(action)
        completions = list(self.completions(action, facts))
        counting = self.ground.counting[facts.action.name] if own else _NO_COUNTS
        touched, decisive = self.ground.machine.touched, self.tally.decisive
        found: set[bytes] = set()
        for state in self.ordered(states):
            # An unknown outcome allows both: the request never took effect, or its step was taken.
            if wanted == UNKNOWN and agrees(state, post):
                found.add(state)
            for args in completions:
                touched.clear()
                outcome = step(state, args)
                self.tally.steps += 1
                after = self._agreeing(outcome, state, counting, post, facts)
                if after is not None:
                    if self.paths is not None and after not in found and isinstance(outcome, Taken):
                        path = self.paths[state]
                        self.next_paths[after] = self.path(action, args, path, counting.fields, state, after)
                    found.add(after)
                    decisive |= touched
                    if isinstance(outcome, Refused):
                        decisive.add(outcome.label)
        return found

    def _agreeing(
        self, outcome: Outcome, state: bytes, counting: Counting, post: Sequence[Expected], facts: Facts
    ) -> bytes | None:
        """The state after an outcome that agrees with the log; None if the outcome does not agree.

        Sets a guess if the outcome might agree with another number that the action may have counted to.
        """
        wanted = facts.event.outcome
        refused = wanted is not None and wanted != UNKNOWN
        match outcome:
            case Taken(after) if not refused:
                fits = agrees(after, post)
                # A count is certain only if post tells the new number of every cell that the step counted on.
                if not counting.fields or counting.told_changed(state, after, post):
                    return after if fits else None
                if fits or counting.reads_again:
                    self.guess = self.guess or counting.unknown(facts)
            case Taken() if counting.reads_again and wanted in counting.errors:
                # With another number, the action might have answered this error.
                self.guess = self.guess or counting.unknown(facts)
            case Refused(_, error) if refused and error == wanted:
                return state if agrees(state, post) else None
            case Refused(label) if counting.reads_again and label in counting.labels:
                # The rule may have read the new number; another number might pass it.
                if refused or not counting.told_all(post):
                    self.guess = self.guess or counting.unknown(facts)
            case Cut(bound) if refused:
                if wanted in counting.errors:
                    self.guess = self.guess or f"{facts.action.name} passes the bound of {bound} before it may answer"
            case Cut(bound) if not counting.has(bound):
                raise UnjudgedError(f"{facts.action.name} passes the bound of {bound} here")
            case Cut() if not counting.told_all(post):
                # Otherwise the event tells the number, but the model's next value lies above all numbers of the log so
                # far, and so above the told one: the outcome does not agree.
                self.guess = self.guess or counting.unknown(facts)
        return None

    # Spans ------------------------------------------------------------------------------------------------------

    def _span(self, facts: Facts) -> tuple[Number, Number] | None:
        span = facts.event.span
        if span is None:
            return None
        nat = str(self.ground.counted(facts.action.name)[0].type)
        return (nat, span[0]), (nat, span[1])

    def _spanned(
        self,
        action: Action,
        facts: Facts,
        states: set[bytes],
        span: tuple[Number, Number],
        post: Sequence[Expected],
    ) -> set[bytes]:
        """The states after the steps of a span: the first counts on from its base, the last reaches its end."""
        base, end = self.code(span[0], False), self.code(span[1], False)
        field = self.ground.counted(action.name)[0]
        step = self.ground.machine.step(action)
        found: set[bytes] = set()
        for args in self.completions(action, facts):
            for state in self.ordered(states):
                now: bytes | None = state
                path = self.paths[state] if self.paths is not None else None
                # The window may hold numbers between base and end: the span counts over these one by one.
                for code in range(base, end):
                    assert now is not None
                    self.ground.machine.touched.clear()
                    last, outcome = now, step(now, args)
                    self.tally.steps += 1
                    if isinstance(outcome, Cut):
                        raise UnjudgedError(f"{action.name} passes the bound of {outcome.bound} within a span")
                    now = counted_on(outcome, last, field, code)
                    if now is None:
                        break
                    path = path and self.path(action, args, path, (field,), last, now)
                    self.tally.decisive |= self.ground.machine.touched
                if now is not None and agrees(now, post):
                    if path is not None and now not in found:
                        self.next_paths[now] = path
                    found.add(now)
        return found
