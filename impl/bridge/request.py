"""A request: one operation of the language of scenario files, which a session can perform and a file can state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from impl.errors import E
from impl.scenario.runner import PERFORM
from impl.scenario.session import Result, ScenarioSession
from impl.scenario.vocabulary import OPERATIONS


@attrs.frozen
class OperationRequest:
    """An operation with the arguments that a file would give.

    ``answer``: the keys that lead to the error in the result; none if the operation cannot be refused. ``again``:
    whether it repeats the request before it, which must then change nothing.
    """

    op: str
    arguments: Mapping[str, Any]
    answer: tuple[str, ...] = ("error",)
    again: bool = False

    def perform(self, session: ScenarioSession) -> Result:
        """Perform the operation in a session, and return its result."""
        operation = OPERATIONS[self.op]
        fields = operation.arguments | operation.variants.get(self.arguments.get("record", ""), {})
        unknown = self.arguments.keys() - fields.keys()
        assert not unknown, f"{self.op} has no argument {unknown}"
        return PERFORM[self.op](
            session, {name: self.arguments.get(name, each.default) for name, each in fields.items()}
        )

    def error(self, result: Result) -> E:
        """The error in a result of the operation."""
        found: Any = result
        for key in self.answer:
            found = found[key]
        return E[found] if self.answer else E.NONE


Query = tuple[OperationRequest, Mapping[str, Any]]
"""A request that changes nothing, with the result that a model expects."""


@attrs.frozen
class ControllerAnswer:
    """An answer of a controller: an error, named values, and whether the controller wrote records.

    ``sent``: the requests that were performed.
    """

    error: E
    values: Mapping[str, Any] = attrs.field(factory=dict)
    wrote: bool = False
    sent: tuple[OperationRequest, ...] = ()


def send(session: ScenarioSession, requests: Iterable[OperationRequest]) -> ControllerAnswer:
    """Send requests up to the first that is refused. The answer is the last one; it has the values of all.

    A repetition adds the value ``again``: the records that it wrote.
    """
    values: dict[str, Any] = {}
    done: list[OperationRequest] = []
    error, wrote = E.NONE, False
    for request in requests:
        result = request.perform(session)
        error, records = request.error(result), result["records"]
        values |= {"again": records} if request.again else result
        wrote = bool(records)
        done.append(request)
        if error is not E.NONE:
            break
    return ControllerAnswer(error, values, wrote, tuple(done))
