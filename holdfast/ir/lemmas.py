"""A model with the lemmas of the file beside it: of the same protocol, and with the same claims about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.ir.compile import compile_model
from holdfast.ir.errors import UsageError
from holdfast.ir.load import WithLemmas
from holdfast.ir.system import System


def compile_with_lemmas(found: WithLemmas, variants: Sequence[str] = ()) -> System:
    """The system of a model with its lemmas.

    Raises ModelError as ``compile_model`` does, and UsageError where the class of lemmas changes what it extends: then
    a proof would be of another protocol, or of less.
    """
    system = compile_model(found.model, variants=variants)
    if found.model is not found.extends:
        changed = next(_changes(compile_model(found.extends, variants=variants), system), None)
        if changed is not None:
            raise UsageError(
                f"{found.lemmas_from}: {system.name} changes {changed} of {found.extends.__name__}; a class of lemmas "
                "adds lemmas and helpers, so change the model itself"
            )
    return system


def _changes(model: System, extended: System) -> Iterator[str]:
    """What is not as it is in the model, but for added lemmas."""
    if model.init != extended.init:
        yield "the initial condition"
    variables = {var.name: var for var in model.variables}
    yield from (f"the field {var.name}" for var in extended.variables if variables.get(var.name) != var)
    actions = {action.name: action for action in model.actions}
    yield from (f"the action {action.name}" for action in extended.actions if actions.get(action.name) != action)
    props = {prop.name: prop for prop in extended.properties}
    yield from (prop.name for prop in model.properties if props.get(prop.name) != prop)
