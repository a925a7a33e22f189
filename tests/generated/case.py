"""One generated model with its class, its compiled system, and the oracle's answers on it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from holdfast.ir.compile import compile_model
from holdfast.ir.errors import ModelError
from holdfast.ir.marks import MARK, ActionMark, PropertyMark, ScopeMark
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import Scope, System
from holdfast.lang.model import Model
from tests.differential.running import loaded, sample
from tests.generated.oracle import GhostCutError, Graph, NoStartError, Oracle
from tests.generated.small import model_of

MOST = 400
"""The most states that the oracle searches; a larger model is not compared."""

LEGITIMATE = (
    "may be None here",
    "the other None",
    "computed",
    "ghost must not cut",
    "and this is int",
)
"""Refusals of models that would run without a problem: the compiler sees only their text."""


class Case:
    """A seed's model, with variants chosen and rules removed as the seed decides."""

    def __init__(self, source: str, model: type[Model], seed: int) -> None:
        self.source, self.model, self.seed = source, model, seed
        self.variants: tuple[str, ...] = ()
        self.removed: tuple[str, ...] = ()

    @property
    def mark(self) -> ScopeMark:
        """The scope as its author wrote it; every drawn source declares it."""
        mark: ScopeMark = vars(self.model)["tiny"]
        return mark

    def compiled(self) -> System:
        """The compiled system. Raises ModelError."""
        chance = random.Random(self.seed)
        plain = compile_model(self.model)
        self.variants = sample(list(plain.variants), 2, chance) if chance.random() < 0.7 else ()
        chosen = compile_model(self.model, variants=self.variants)
        labels = [rule.label for rule in chosen.rules]
        self.removed = sample(labels, 1, chance) if chance.random() < 0.4 else ()
        return remove_rules(chosen, self.removed)

    @cached_property
    def system(self) -> System:
        """The compiled model."""
        return self.compiled()

    @property
    def scope(self) -> Scope:
        """The scope as the compiler has it."""
        return self.system.scopes["tiny"]

    def oracle(self, mark: ScopeMark | None = None, most: int = MOST) -> Oracle:
        """The oracle in a scope."""
        return Oracle(self.model, mark or self.mark, self.variants, self.removed, most)

    @cached_property
    def plain(self) -> Oracle:
        """The oracle in the declared scope."""
        return self.oracle()

    @cached_property
    def graph(self) -> Graph:
        """The graph that the oracle reaches."""
        return self.plain.graph()

    @cached_property
    def verdicts(self) -> dict[tuple[str, str], int]:
        """The oracle's verdicts."""
        return self.plain.verdicts(self.graph)

    def undecorated(self) -> list[str]:
        """The names that a base class declares with a decorator and a derived class defines again without one."""
        names = dict.fromkeys(name for base in self.model.__mro__ for name in vars(base))
        return [
            name
            for name in names
            for bases in [[vars(base)[name] for base in self.model.__mro__ if name in vars(base)]]
            if marked(bases[-1]) and not all(map(marked, bases))
        ]

    def unfit(self) -> str | None:
        """The reason why the compiler must refuse the model, as far as running shows one, or None.

        The model runs with the variants and removals that are chosen by then.
        """
        dropped = self.undecorated()
        if dropped:
            return f"{', '.join(dropped)}: overridden without a decorator"
        try:
            self.graph  # noqa: B018 - it is drawn when it is asked for
        except GhostCutError as error:
            return f"the ghost {error} cuts a step"
        except KeyError as error:
            return f"a key beyond its type: {error}"
        except NoStartError:
            return None
        return None


def marked(value: Any) -> bool:
    """Whether a decorator says that a method is an action or a property."""
    return isinstance(getattr(value, MARK, None), ActionMark | PropertyMark)


@contextmanager
def case_of(seed: int, source: str | None = None) -> Iterator[Case]:
    """The model of a seed, as long as its file exists."""
    text = model_of(seed) if source is None else source
    with loaded(text) as model:
        yield Case(text, model, seed)


def refusal(case: Case) -> str | None:
    """The compiler's problem with the model; None if the compiler accepts it."""
    try:
        case.system  # noqa: B018 - it is compiled when it is asked for
    except ModelError as error:
        return error.problem
    return None
