"""The outcomes of mutants that no safety property kills, as the author of a model declares them.

    mutants = outcomes({
        "ST-20": equivalent("it only chooses between two errors"),
        "CK-01.flag@open": redundant(with_="ST-14"),
        "CS-20": liveness("LV-01", "without it the commit is refused for ever"),
        "ST-18": missing("fast close is not modelled"),
        "strict": sound("it refuses more, and nothing that is needed"),
    })

A mutant is either a named variant or the model without one rule: ``LABEL`` removes the rule everywhere,
``LABEL@action`` in one action. ``holdfast mutate`` tries each mutant. It fails if a declaration is missing, false or
superfluous.
"""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.ir.marks import OutcomeMark, OutcomesMark


def outcomes(declared: Mapping[str, OutcomeMark]) -> OutcomesMark:
    """The declared outcomes of a model, for its class attribute ``mutants``. All other mutants must be killed."""
    return OutcomesMark(declared)


def equivalent(reason: str) -> OutcomeMark:
    """The reachable states and the steps between them are the same with the rule and without it."""
    return OutcomeMark("equivalent", reason)


def redundant(with_: str, reason: str = "") -> OutcomeMark:
    """The rule ``with_`` covers this one: without both, a property is violated that holds if only one is removed."""
    return OutcomeMark("redundant", reason, with_)


def liveness(prop: str, reason: str) -> OutcomeMark:
    """The rule protects liveness. ``prop``: a liveness property of the model, or an id such as LV-01 or LP-02."""
    return OutcomeMark("liveness", reason, prop)


def missing(state: str) -> OutcomeMark:
    """The rule protects something outside the model. ``state``: the state that the model would need for it."""
    return OutcomeMark("missing", state)


def sound(reason: str) -> OutcomeMark:
    """For a named variant only: it is another correct version of the protocol, and violates no property."""
    return OutcomeMark("sound", reason)
