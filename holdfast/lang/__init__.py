"""The names that the file of a model imports.

from holdfast.lang import Map, Model, Nat, Rel, Scope, Sort, action, init, invariant, require, rule, witness
"""

from __future__ import annotations

from holdfast.lang.decorators import (
    Scope,
    action,
    always_eventually,
    assume,
    eventually_always,
    final,
    init,
    invariant,
    leads_to,
    lemma,
    step,
    variant,
    witness,
)
from holdfast.lang.maps import Bag, Map, Pool, Rel
from holdfast.lang.model import Flag, Ghost, Model
from holdfast.lang.outcomes import equivalent, liveness, missing, outcomes, redundant, sound
from holdfast.lang.records import Record
from holdfast.lang.rules import Refused, count, require, rule
from holdfast.lang.sequences import Seq
from holdfast.lang.sorts import Cut, Int, Nat, Ring, Sort, universe

__all__ = [
    "Bag",
    "Cut",
    "Flag",
    "Ghost",
    "Int",
    "Map",
    "Model",
    "Nat",
    "Pool",
    "Record",
    "Refused",
    "Rel",
    "Ring",
    "Scope",
    "Seq",
    "Sort",
    "action",
    "always_eventually",
    "assume",
    "count",
    "equivalent",
    "eventually_always",
    "final",
    "init",
    "invariant",
    "leads_to",
    "lemma",
    "liveness",
    "missing",
    "outcomes",
    "redundant",
    "require",
    "rule",
    "sound",
    "step",
    "universe",
    "variant",
    "witness",
]
