"""Statements: the steps of a scenario file, made while a paired run goes on. What they expect, the model expects."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import attrs
import yaml

from impl.bridge.paired_run import PairedCall, PairedRun
from impl.bridge.pairing import Pairing
from impl.bridge.request import OperationRequest
from impl.controller.view import Profile
from impl.errors import E
from impl.scenario.vocabulary import OPERATIONS


@attrs.frozen
class Statement:
    """One step of a file: a request and the expected part of its result. ``remark``: lines of comment above it.

    Without a request it is a remark alone.
    """

    request: OperationRequest | None
    expected: Mapping[str, Any] = attrs.field(factory=dict)
    remark: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """The lines of the file."""
        lines = [f"  # {each}" for each in self.remark]
        if self.request is not None:
            step: dict[str, Any] = {"op": self.request.op, **self.request.arguments}
            lines.append(f"  - {_flow(step | ({'expect': dict(self.expected)} if self.expected else {}))}")
        return lines


def setup_statements(pairing: Pairing, run: PairedRun) -> list[Statement]:
    """The steps that bring a new controller into the initial state of a run."""
    return [Statement(request, _answered(request, E.NONE)) for request in pairing.setup(pairing.cells(run.start))]


def taken(run: PairedRun, call: PairedCall, *, queries: bool = True) -> list[Statement]:
    """Make a call, and return its steps: its requests with the answers of the model, and queries of what has changed.

    ``queries``: whether to add the queries. A step of the model alone has no steps. Raises DisagreementError if the
    controller does not do as the model does.
    """
    pairing, before, state = run.pairing, run.cells, run.state
    choice = pairing.choice(state, call.action, call.values)
    answer = run.take(call)
    if answer is None:
        return []
    rests = not choice.states or run.state == state
    # The run has compared the error with the model's, or with that of an intended difference.
    error = answer.error
    values: Mapping[str, Any] = {}
    if error is E.NONE:
        args = pairing.named(call.action, call.values)
        values = pairing.answer(call.action, before, args, run.cells)[1]
    steps = [Statement(request, _answered(request, E.NONE)) for request in answer.sent[:-1]]
    last = answer.sent[-1]
    known = {name: value for name, value in values.items() if name in OPERATIONS[last.op].results}
    if not choice.states or last.again or (rests and call.action in pairing.silent):
        known["records"] = []
    steps.append(Statement(last, _answered(last, error) | known))
    # In the same state the facts are the same, and no query would show anything.
    changed = pairing.queries(pairing.facts(state), pairing.facts(run.state)) if queries and not rests else []
    for query, told in changed:
        # The run has compared what the model knows of the ranges.
        ranges = {"ranges": query.perform(run.session)["ranges"]} if "owner" in told else {}
        steps.append(Statement(query, {**told, **ranges}))
    return steps


def _answered(request: OperationRequest, error: E) -> dict[str, Any]:
    """The expectation of an error, in the place where the operation answers it; a repetition writes no records."""
    if not request.answer:
        return {}
    found: Any = error.name
    for key in reversed(request.answer):
        found = {key: found}
    told: dict[str, Any] = found
    return told | ({"records": []} if request.again else {})


def grouped(steps: Iterable[Statement]) -> list[str]:
    """The lines of steps. Neighbours that differ in their arguments alone become one step with ``each``."""
    lines: list[str] = []
    group: list[Statement] = []
    for step in steps:
        if group and not _are_alike(group[0], step):
            lines += _together(group)
            group = []
        group.append(step)
    return lines + _together(group)


def _are_alike(first: Statement, step: Statement) -> bool:
    if first.request is None or step.request is None or step.remark:
        return False
    return (first.request.op, first.expected) == (step.request.op, step.expected)


def _together(group: Sequence[Statement]) -> list[str]:
    if len(group) < 2 or group[0].request is None:
        return [line for step in group for line in step.lines()]
    step: dict[str, Any] = {"op": group[0].request.op}
    step |= {"expect": dict(group[0].expected)} if group[0].expected else {}
    each = [_flow(step.request.arguments) for step in group if step.request is not None]
    remark = [f"  # {line}" for line in group[0].remark]
    return [*remark, f"  - {_flow(step).removesuffix('}')}, each: [{', '.join(each)}]}}"]


def document(name: str, profile: Profile, steps: Iterable[Statement], remark: Sequence[str] = ()) -> str:
    """A scenario as a document of a scenario file, with comment lines in front."""
    lines = [f"# {each}" if each else "#" for each in remark]
    lines.append(f"name: {_flow(name)}")
    chosen = {key: getattr(profile, key) for key in ("cancel", "handshake", "timer")}
    if stated := {key: value for key, value in chosen.items() if value != getattr(Profile(), key)}:
        lines.append(f"profile: {_flow(stated)}")
    lines += ["steps:", *grouped(steps)]
    return "\n".join(lines) + "\n"


def _flow(value: Any) -> str:
    """A value as YAML, on one line."""
    return _flow_of(pickle.dumps(_plain(value)))


@lru_cache(maxsize=1 << 14)
def _flow_of(pickled: bytes) -> str:
    """The YAML of a pickled value. Most steps of a suite occur again and again, and YAML takes longer than a step."""
    value = pickle.loads(pickled)  # noqa: S301 - this module has pickled it
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=float("inf"))
    return text.removesuffix("\n").removesuffix("\n...")


def _plain(value: Any) -> Any:
    """A value of lists and maps alone, as YAML has them; sets become sorted lists."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value
