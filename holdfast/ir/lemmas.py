"""Compiles a model with the lemmas of the file beside it, and checks that the lemmas leave the model unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.ir.compile import compile_model
from holdfast.ir.errors import UsageError
from holdfast.ir.implied_lemmas import with_implied_lemmas
from holdfast.ir.load import WithLemmas
from holdfast.ir.system import System


def compile_with_lemmas(found: WithLemmas, variants: Sequence[str] = ()) -> System:
    """The system of a model with its lemmas, and those of its sequences.

    Raises ModelError as ``compile_model`` does. Raises UsageError if the class of lemmas changes the model that it
    extends, because a proof would then be about another protocol or about fewer properties.
    """
    system = compile_model(found.model, variants=variants)
    if found.model is not found.extends:
        changed = next(_changes(compile_model(found.extends, variants=variants), system), None)
        if changed is not None:
            raise UsageError(
                f"{found.lemmas_from}: {system.name} changes {changed} of {found.extends.__name__}; a class of lemmas "
                "adds lemmas and helpers, so change the model itself"
            )
    return with_implied_lemmas(system)


def _changes(model: System, extended: System) -> Iterator[str]:
    """The parts of the model that the extended model changes, in words. Added properties are no change."""
    if model.init != extended.init:
        yield "the initial condition"
    # Go through the extended model's fields and actions: an added one changes the protocol too.
    variables = {var.name: var for var in model.variables}
    yield from (f"the field {var.name}" for var in extended.variables if variables.get(var.name) != var)
    actions = {action.name: action for action in model.actions}
    yield from (f"the action {action.name}" for action in extended.actions if actions.get(action.name) != action)
    # Go through the model's own properties: an added one claims more, a changed one may claim less.
    props = {prop.name: prop for prop in extended.properties}
    yield from (prop.name for prop in model.properties if props.get(prop.name) != prop)
