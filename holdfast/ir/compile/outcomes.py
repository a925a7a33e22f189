"""Reads the declared outcomes of a model's mutants, and looks up every mutant, rule and property that they name."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import NoReturn

import attrs

from holdfast.ir.compile.source import OUTCOMES, ClassSource, Module
from holdfast.ir.errors import ModelError, Place
from holdfast.ir.marks import OutcomeMark, OutcomesMark
from holdfast.ir.similar_names import did_you_mean
from holdfast.ir.system import LIVENESS, Declaration, Property, Rule

LIVENESS_ID = re.compile(r"L[VP]-\d+[a-z]?")
"""The rule ids of liveness. A declaration may name such an id even if the model has no property for it."""

REMEDY = "use equivalent(reason), redundant(with_=LABEL), liveness(property, reason), missing(state) or sound(reason)"


def read_outcomes(
    cls: type,
    source: ClassSource,
    rules: Sequence[Rule],
    properties: Sequence[Property],
    variants: Mapping[str, str],
    *,
    whole: bool,
) -> dict[str, Declaration]:
    """The declared outcomes, by mutant, in the order of the source. Raises ModelError for a wrong declaration.

    ``whole``: no variant is chosen. Only then are labels checked, because a variant may lack rules of the whole model.
    """
    if source.outcomes is None:
        return {}
    mark = getattr(cls, OUTCOMES, None)
    module, node = source.outcomes
    if not isinstance(mark, OutcomesMark) or not isinstance(mark.declared, Mapping):
        module.refuse(node, "this declares nothing", 'write outcomes({"ST-14": ...})', OUTCOMES)
    reader = _Reader(_Places(module, node), rules, properties, variants, whole)
    return {str(name): reader.read(name, declared) for name, declared in mark.declared.items()}


class _Places:
    """The place of each declaration. If the dictionary is not a literal, all have the place of the assignment."""

    def __init__(self, module: Module, node: ast.Assign) -> None:
        self.whole = module.place(node)
        self.by_name: dict[object, Place] = {}
        match node.value:
            case ast.Call(args=[ast.Dict(keys=keys)]):
                for key in keys:
                    if isinstance(key, ast.Constant):
                        if key.value in self.by_name:
                            self.refuse(key.value, "it is declared twice", "keep one declaration", module.place(key))
                        self.by_name[key.value] = module.place(key)

    def of(self, name: object) -> Place:
        return self.by_name.get(name, self.whole)

    def refuse(self, name: object, problem: str, remedy: str, place: Place | None = None) -> NoReturn:
        shown = name if isinstance(name, str) and name else repr(name)
        raise ModelError(place or self.of(name), f"{OUTCOMES}: {shown}", problem, remedy)


@attrs.frozen
class _Reader:
    """Reads one declaration after the other and checks it against the model."""

    places: _Places
    rules: Sequence[Rule]
    properties: Sequence[Property]
    variants: Mapping[str, str]
    whole: bool

    def read(self, name: object, declared: object) -> Declaration:
        refuse = self.places.refuse
        if not isinstance(name, str):
            refuse(name, "this names no mutant", "write LABEL, LABEL@action or a variant in quotes")
        if not isinstance(declared, OutcomeMark):
            refuse(name, f"{declared!r} is no outcome", REMEDY)
        if name not in self.variants:
            self._check_rule(name, name, "removes")
        kind, reason, names = declared.kind, declared.reason, declared.names
        if not isinstance(reason, str) or (not reason.strip() and kind != "redundant"):
            refuse(name, f"{kind} says no reason", "say it in a few words")
        if kind == "sound" and name not in self.variants:
            refuse(name, "a rule that is removed is no version of the protocol", "declare sound(...) of variants only")
        if kind in ("redundant", "liveness") and not isinstance(names, str):
            what = "a rule" if kind == "redundant" else "a property"
            refuse(name, f"{names!r} does not name {what}", REMEDY)
        if kind == "redundant":
            self._check_rule(name, str(names), "is covered by")
            if str(names) == name or str(names).partition("@")[0] == name or name.partition("@")[0] == names:
                refuse(name, "it is covered by itself", "name another rule")
        if kind == "liveness":
            self._check_liveness(name, str(names))
        return Declaration(kind, " ".join(reason.split()), None if names is None else str(names), self.places.of(name))

    def _check_rule(self, name: str, text: str, how: str) -> None:
        """Refuse an unknown rule, or an action that does not contain the rule.

        ``name``: the declaration. ``text``: the rule it names. ``how``: "removes" or "is covered by".
        """
        if not self.whole:
            return
        label, at, action = text.partition("@")
        found = next((rule for rule in self.rules if rule.label == label), None)
        if found is None:
            known = [rule.label for rule in self.rules] + ([] if at or how != "removes" else list(self.variants))
            what = "rule" if at or how != "removes" else "rule or variant"
            hint = did_you_mean(label, known, f"it has: {', '.join(known) or 'none'}", cutoff=0.5)
            self.places.refuse(name, f"the model has no {what} {label!r}", hint)
        if at and action not in found.actions:
            served = ", ".join(found.actions)
            self.places.refuse(name, f"{label} does not stand in an action {action!r}", f"it serves: {served}")

    def _check_liveness(self, name: str, text: str) -> None:
        known = [spelling for prop in self.properties if prop.kind in LIVENESS for spelling in (prop.name, *prop.ids)]
        if text not in known and not LIVENESS_ID.fullmatch(text):
            hint = f"it has: {', '.join(known)}" if known else "name an id such as LV-01 or LP-02"
            self.places.refuse(name, f"{text!r} is no liveness property of the model", hint)
