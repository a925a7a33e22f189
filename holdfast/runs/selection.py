"""Select what a check decides: properties by name or rule id, idempotence and deadlock, with the ghosts they need."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from holdfast.ir.errors import UsageError
from holdfast.ir.ghosts import ghosts_read
from holdfast.ir.similar_names import did_you_mean
from holdfast.ir.system import Action, Property, System
from holdfast.trace.trace import Claim, first_paragraph

DEADLOCK = "deadlock"
"""The claim that no state is stuck, checked if a model names final states; see ``deadlock_claim`` for its name."""

SEARCHED = ("invariant", "lemma", "step", "witness")
"""The kinds of property that a search of states and steps decides, if they are selected."""

ALWAYS = ("assume", "final")
"""The kinds of property that every search needs, whatever is selected."""


@attrs.frozen
class Selection:
    """What one check decides: ``properties`` in the order of the source, the actions whose idempotence is checked, and
    whether deadlocks are; ``ghosts`` are the ghost variables that all this reads. ``violations_only``: no witness is
    selected, and nobody asks whether a premise is ever true.
    """

    properties: tuple[Property, ...]
    idempotent: tuple[Action, ...]
    deadlock: bool
    ghosts: frozenset[str]
    violations_only: bool = False

    def of_kind(self, *kinds: str) -> tuple[Property, ...]:
        """The selected properties of these kinds."""
        return tuple(prop for prop in self.properties if prop.kind in kinds)


def select(system: System, names: Sequence[str] | None, *, violations_only: bool = False) -> Selection:
    """The selection for the given names; None selects everything, but no witness with ``violations_only``.

    A name is a property, a rule id that properties or idempotent actions cite, or ``deadlock`` (``@deadlock`` if a
    property is called ``deadlock``). Raises UsageError for a name that the model does not know, and for a property
    that a search cannot decide.
    """
    finals = next(system.of_kind("final"), None) is not None
    if names is not None:
        for name in names:
            _check(system, name, finals)

    def asked(*spellings: str) -> bool:
        return names is None or any(spelling in names for spelling in spellings)

    kinds = [kind for kind in SEARCHED if not (violations_only and kind == "witness")]
    properties = tuple(
        prop
        for prop in system.properties
        if prop.kind in ALWAYS or (prop.kind in kinds and asked(prop.name, *prop.ids))
    )
    return Selection(
        properties,
        tuple(action for action in system.actions if action.idempotent is not None and asked(action.idempotent)),
        finals and asked(system.claim_name(DEADLOCK)),
        ghosts_read(system, properties),
        violations_only,
    )


def _check(system: System, name: str, finals: bool) -> None:
    """Raise UsageError unless the name selects something that a search can decide."""
    known: dict[str, bool] = {system.claim_name(DEADLOCK): True} if finals else {}
    for prop in system.properties:
        for spelling in (prop.name, *prop.ids):
            known[spelling] = known.get(spelling, False) or prop.kind in SEARCHED
    known |= {action.idempotent: True for action in system.actions if action.idempotent is not None}
    if name not in known:
        hint = did_you_mean(name, known, f"it has: {', '.join(sorted(known))}")
        raise UsageError(f"{system.name} has no property {name!r}; {hint}")
    if not known[name]:
        kind = next(prop.kind for prop in system.properties if name in (prop.name, *prop.ids))
        raise UsageError(f"{name!r} is of kind {kind}, which a search does not decide; choose another property")


def idempotence(system: System, action: Action) -> Claim:
    """The claim that an action of the system is idempotent."""
    assert action.idempotent is not None
    name, ids = system.claim_name(f"{action.name}_idempotent"), (action.idempotent,)
    return Claim(name, "idempotent", ids, first_paragraph(action.doc), action.at)


def deadlock_claim(system: System) -> Claim:
    """The claim that every state of the system has a step, or is final."""
    name, at = system.claim_name(DEADLOCK), next(system.of_kind("final")).at
    return Claim(name, "deadlock", (), "Every state has a step, unless a @final names it.", at)
