"""What becomes of a mutant that no property of safety kills, as the author of a model declares it.

    mutants = outcomes({
        "ST-20": equivalent("it only chooses between two errors"),
        "CK-01.flag@open": redundant(with_="ST-14"),
        "CS-20": liveness("LV-01", "without it the commit is refused for ever"),
        "ST-18": missing("fast close is not modelled"),
        "strict": sound("it refuses more, and nothing that is needed"),
    })

A mutant is the model without a rule, ``LABEL`` everywhere or ``LABEL@action`` in one action, or a named variant.
``holdfast mutate`` tries each one, and fails where a declaration is missing, false or superfluous.
"""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.ir.marks import OutcomeMark, OutcomesMark


def outcomes(declared: Mapping[str, OutcomeMark]) -> OutcomesMark:
    """The outcomes of a model's mutants, as its class attribute ``mutants``. What is not named must be killed."""
    return OutcomesMark(declared)


def equivalent(reason: str) -> OutcomeMark:
    """The reachable states and the steps between them are the same with the rule and without it."""
    return OutcomeMark("equivalent", reason)


def redundant(with_: str, reason: str = "") -> OutcomeMark:
    """Another rule covers it: without both, a property is violated that holds without either one."""
    return OutcomeMark("redundant", reason, with_)


def liveness(prop: str, reason: str) -> OutcomeMark:
    """What it protects is that something happens: a ``@leads_to`` of the model, or an id such as LV-01 or LP-02."""
    return OutcomeMark("liveness", reason, prop)


def missing(state: str) -> OutcomeMark:
    """What it protects lies outside the model; ``state`` is what the model would have to hold."""
    return OutcomeMark("missing", state)


def sound(reason: str) -> OutcomeMark:
    """Of a named variant only: it is no fault but another version of the protocol, and violates nothing."""
    return OutcomeMark("sound", reason)
