"""A model's properties as test items of pytest.

    from holdfast.pytest import properties
    from models.ownership import Ownership

    test_ownership = properties(Ownership, scope="tiny")

gives an item for each property: ``test_ownership[one_owner]``, and so on. One search of the model, started by the first
item that needs it, serves all items except liveness properties, which ``live`` checks. An item fails with the run that
violates its property. The item of a witness fails if the witness is not reached; any other item also fails if its
property is vacuous.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache

import pytest

from holdfast.check.live.engine import live
from holdfast.check.live.result import LiveResult, render_live
from holdfast.check.result import Result
from holdfast.check.search.engine import search
from holdfast.check.summary import render_summary
from holdfast.ir.system import LIVENESS, System
from holdfast.ir.variants import compile_variant
from holdfast.runs.selection import deadlock_claim, idempotence
from holdfast.trace.text import render

Item = Callable[[str], None]


def properties(
    model: type,
    scope: str = "tiny",
    *,
    variants: Sequence[str] = (),
    removed: Sequence[str] = (),
    target: str | None = None,
) -> Item:
    """A test function with an item for each property of the model in that scope.

    ``variants``: the chosen variants. ``removed``: the labels of removed rules. ``target``: the name of the model on
    the command line. Raises UsageError and ModelError as ``holdfast check`` does, while pytest collects the tests.
    """
    system = compile_variant(model, variants, removed)
    chosen = system.scope(scope)

    @cache
    def searched() -> Result:
        # The search serves all items, so it does not stop at the first violation.
        return search(system, chosen, keep_going=True, target=target)

    @cache
    def decided(name: str) -> LiveResult:
        return live(system, chosen, properties=[name], target=target)

    owed = {prop.name for prop in system.of_kind(*LIVENESS)}

    @pytest.mark.parametrize("name", [*_names(system)])
    def test(name: str) -> None:
        problem = _starved(decided(name)) if name in owed else _wrong(searched(), name)
        if problem is not None:
            pytest.fail(problem, pytrace=False)

    test.__doc__ = f"A property of {system.name} in scope {scope}."
    return test


def _names(system: System) -> Iterator[str]:
    """The names of the items: properties in the order of the model, then idempotence, then deadlock."""
    yield from (prop.name for prop in system.of_kind("invariant", "lemma", "step", "witness", *LIVENESS))
    yield from (idempotence(system, action).name for action in system.actions if action.idempotent is not None)
    if next(system.of_kind("final"), None) is not None:
        yield deadlock_claim(system).name


def _wrong(result: Result, name: str) -> str | None:
    """The failure message of an item after the search, or None if its property holds."""
    found = next((trace for trace in result.findings if trace.shown.name == name), None)
    if found is not None:
        return render(found)
    if result.verdict == "out_of_budget":  # an unfinished search proves nothing about the other properties
        return render_summary(result)
    if name in [claim.name for claim in result.missing]:
        return f"no reachable state is a witness of {name}"
    if name in [claim.name for claim in result.vacuous]:
        return f"{name} is vacuous: its premise is true nowhere, so it says nothing"
    return None


def _starved(result: LiveResult) -> str | None:
    """The failure message of a liveness property, or None if it holds."""
    return render_live(result) if result.exit_code else None
