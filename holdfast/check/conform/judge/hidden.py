"""Hidden steps: actions that a log does not show, tried before the events that they may matter to.

A hidden step and an event are independent if neither writes a field that the other reads, writes or tells. Independent
steps can be swapped. So a hidden step can be moved to just before the next event or hidden step that depends on it.
Trying it only there loses no run.
"""

from __future__ import annotations

from holdfast.ir.errors import UsageError
from holdfast.ir.expr import Read
from holdfast.ir.stmt import Assign, Fill, Stmt, expressions, statements
from holdfast.ir.system import Action, System
from holdfast.lower.python.prune import prune

IN_A_ROW = 4
"""The limit of hidden steps inserted before one event."""


class HiddenActions:
    """The hidden actions of a model. Raises UsageError for an unknown action, and for an action that counts on."""

    def __init__(
        self, system: System, names: tuple[str, ...], dropped: frozenset[str], counted: dict[str, tuple[str, ...]]
    ) -> None:
        known = {action.name: action for action in system.actions}
        for name in names:
            if name not in known:
                raise UsageError(f"{system.name} has no action {name} to be hidden; it has {', '.join(known)}")
            if name in counted:
                raise UsageError(
                    f"{name} cannot be hidden: it counts {', '.join(counted[name])} on, and no log would tell to what; "
                    "let the log write its events"
                )
        self.actions = tuple(known[name] for name in dict.fromkeys(names))
        self._reads = {action.name: _read(prune(action.body, dropped)) for action in system.actions}
        self._writes = {action.name: _written(prune(action.body, dropped)) for action in system.actions}
        self._relevant: dict[tuple[str, frozenset[str]], tuple[Action, ...]] = {}

    def before(self, action: str, told: frozenset[str]) -> tuple[Action, ...]:
        """The hidden actions that may matter to an event of ``action`` that tells the fields ``told``."""
        found = self._relevant.get((action, told))
        if found is None:
            reads, writes = set(self._reads.get(action, ())) | told, set(self._writes.get(action, ()))
            chosen: list[Action] = []
            # A hidden action also matters if a chosen one depends on it, so grow the set until nothing is added.
            while more := [each for each in self.actions if each not in chosen and self._depends(each, reads, writes)]:
                chosen += more
                reads = reads.union(*(self._reads[each.name] for each in more))
                writes = writes.union(*(self._writes[each.name] for each in more))
            found = self._relevant[action, told] = tuple(each for each in self.actions if each in chosen)
        return found

    def _depends(self, hidden: Action, reads: set[str], writes: set[str]) -> bool:
        """Whether the order of a hidden step and of steps that read and write these fields matters."""
        written = self._writes[hidden.name]
        return bool(written & (reads | writes) or self._reads[hidden.name] & writes)


def _read(body: tuple[Stmt, ...]) -> frozenset[str]:
    return frozenset(part.var for part in expressions(body) if isinstance(part, Read))


def _written(body: tuple[Stmt, ...]) -> frozenset[str]:
    return frozenset(stmt.var for stmt in statements(body) if isinstance(stmt, Assign | Fill))
