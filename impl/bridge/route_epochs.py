"""A scenario file of a run of ``route_epoch``: what controller, mains and proxies do with route epochs.

The other pairings drive a controller beside the model. Here no part of the implementation is asked: each operation
expects what the model with all rules says. An epoch of the model is one greater than in zone-routing.md 4, and 0 is any
epoch below the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.ir.errors import UsageError
from holdfast.lower.layout import Value
from holdfast.lower.outcome import Taken
from holdfast.lower.python.interpreter import Interpreter
from impl.bridge.request import OperationRequest
from impl.bridge.statement import Statement
from impl.errors import E
from impl.zone.commit_manager import STAGES
from impl.zone.route_epochs import BUMP_MS, FIRST

MODEL = "route_epoch"
PROXIES = 100
"""The number of a node before the first proxy. Mains count from 1."""
FAILED = {"error": E.UNKNOWN_SERVER_ERROR.name, "read": False}
"""The answer of a main to a request that is fenced, or whose record cannot be read (ZR-26)."""


class RouteEpochRun:
    """A run in the model with all rules, and the steps of a file that do the same.

    ``machine``: that model. ``state``: its present state.
    """

    def __init__(self, machine: Interpreter, start: bytes) -> None:
        self.state = start
        self._machine = machine
        self._actions = {action.name: action for action in machine.system.actions}
        self._clock = BUMP_MS
        self._running: dict[str, int] = {}
        """By main: the epoch whose commit waits for the links in its WAL."""
        self._entries: dict[str, set[int]] = {main: set() for main in self._keys("up")}
        """By main: the epochs of which its commit manager has an entry, which a tick removes if the epoch is over."""

    def setup(self) -> list[Statement]:
        """The first record of the controller, mains with streams, and channels with the epoch before (ZR-58)."""
        steps = [self._tick(writes=True)]
        steps += [self._node(main) for main in self._keys("up")]
        proxies = self._keys("channel_epoch")
        return steps + [
            _step("next_epoch", proxy=_number(each), epoch=self._epoch("channel_epoch", each)) for each in proxies
        ]

    def take(self, action: str, args: Mapping[str, Value]) -> list[Statement]:
        """Take an action of the run; returns the steps that do the same, none if no operation does.

        Where the model with all rules refuses the action, the steps expect what it does instead. Raises UsageError for
        what no operation expresses.
        """
        named = {name: str(value) for name, value in args.items()}
        match action:
            case "bump":
                return self._bump()
            case "commit":
                return [self._tick(writes=self._commit())]
            case "learn":
                return self._learn(named["m"], args["f"])
            case "apply":
                self._do(action, args)
                return [_step("deliver", node=_number(named["p"]))]
            case "send" | "write_locally":
                return self._append(action, args)
            case "admit" | "refuse":
                return self._forward(named["r"], named["m"])
            case "answer" | "fail":
                return self._finish(action, named["r"])
            case "publish":
                return self._publish(named["m"])
            case "crash" | "recover" | "join" | "open_streams" | "close_streams":
                return self._come_or_go(action, named["m"])
        self._do(action, args)
        return []

    def closing(self) -> list[Statement]:
        """The steps that show what else the run has changed: a bump, the reports of all mains, and a commit."""
        steps = self._bump() if self._after("bump", {}) else []
        for main in [each for each in self._keys("up") if self._value("up", each)]:
            steps += self._learn(main, self._value("fenced"))
            # Otherwise it may report, and the model does not say what: ``_publish`` would refuse the run.
            if not self._newest(main) or not self._entries_after_tick(main):
                steps += self._publish(main)
        return [*steps, self._tick(writes=self._commit())]

    # The controller ---------------------------------------------------------------------------------------------

    def _bump(self) -> list[Statement]:
        self._commit()  # in one record (ZR-55)
        if not self._do("bump", {}):
            raise UsageError(f"bump(): this step of the run leaves scope {self._machine.scope.name}; use a larger one")
        self._clock += BUMP_MS
        return [self._tick(writes=True)]

    def _commit(self) -> bool:
        """Commit what all have reported; whether there is something to commit."""
        return any(self._do("commit", {"c": epoch}) for epoch in self._epochs())

    def _tick(self, *, writes: bool) -> Statement:
        record = {name: self._epoch(name) for name in ("committed", "fenced", "current")}
        if not self._value("committed"):
            record["committed"] = FIRST.committed
        return _step("epoch_tick", {**record, "records": ["EPOCHS"] if writes else []}, now_ms=self._clock)

    def _come_or_go(self, action: str, main: str) -> list[Statement]:
        if not self._do(action, {"m": main}):
            return []
        steps = [self._node(main)]
        if action == "join":  # The next process begins anew, and knows the newest record (F-14).
            self._running.pop(main, None)
            self._entries[main].clear()
            begun = {"waiting": -1, "committed": -1, "fenced": self._epoch("known", main), "inflight": {}}
            steps.append(_step("commit_state", node=_number(main), **begun))
        return steps

    def _node(self, main: str) -> Statement:
        state = "ACTIVE" if self._value("up", main) else "FENCED"
        return _step("route_node", node=_number(main), state=state, opening=bool(self._value("serving", main)))

    # Proxies and mains ------------------------------------------------------------------------------------------

    def _learn(self, main: str, epoch: Value) -> list[Statement]:
        """A main applies a record: the newest one, or an older one, which only sets up an idle commit manager."""
        fenced, node = self._value("fenced"), _number(main)
        if not (isinstance(epoch, int) and isinstance(fenced, int) and epoch < fenced):
            self._do("learn", {"m": main, "f": fenced})
            return [_step("deliver", node=node)]
        if self._entries[main] or main in self._running:
            problem = "the record is not the newest, and no operation lets a busy main apply it"
            raise UsageError(f"learn({main},{epoch}): {problem}")
        if not self._do("learn", {"m": main, "f": epoch}):
            return []
        reported = self._reported(main)
        last = -1 if reported is None else reported
        return [_step("commit_state", node=node, waiting=last, committed=last, fenced=_zone(epoch), inflight={})]

    def _append(self, action: str, args: Mapping[str, Value]) -> list[Statement]:
        """A record gets the epoch of its channel (M-13). If it is a local one, the main takes it at once (ZR-25)."""
        request, proxy, main = (str(args[name]) for name in ("r", "p", "m"))
        if not self._do("send", {**args, "e": self._value("channel_epoch", proxy)}):
            return []
        given = {"proxy": _number(proxy), "target": _number(main), "record": request}
        steps = [_step("channel_append", {"epoch": self._epoch("tag", request)}, **given)]
        return steps + (self._forward(request, main) if action == "write_locally" else [])

    def _forward(self, request: str, main: str) -> list[Statement]:
        expected: Mapping[str, Any] = FAILED
        epoch = self._epoch("tag", request)
        if self._do("admit", {"r": request, "m": main}):
            trimmed = [self._epoch("trimmed_to", proxy) for proxy in self._members("source", request)]
            if any(self._epoch("goes_with", request) <= each for each in trimmed):
                self._do("fail", {"r": request})
            else:
                expected = {"error": E.NONE.name, "read": True}
        elif not self._do("refuse", {"r": request, "m": main}):
            return []
        self._entries[main].add(epoch)
        sent = {"epoch": epoch, "request": request, "records": [request]}
        return [_step("forward", expected, main=_number(main), **sent)]

    def _finish(self, action: str, request: str) -> list[Statement]:
        mains = self._members("target", request)
        if not self._do(action, {"r": request}):
            return []
        return [_step("finish", {"error": E.NONE.name}, main=_number(main), request=request) for main in mains]

    # Reports ----------------------------------------------------------------------------------------------------

    def _publish(self, main: str) -> list[Statement]:
        """A tick of the commit manager (ZR-59), the end of the commit if nothing keeps it (ZR-60), and the report."""
        if not self._value("known", main):
            return []
        node, steps = _number(main), []
        # A commit that waited for the WAL ends first.
        if main in self._running and self._do("publish", {"m": main, "v": self._running[main] + 1}):
            steps.append(_step("commit_done", {"published": self._running.pop(main)}, node=node))
        steps.append(_step("commit_tick", node=node))
        counted, newest = self._counted(main), self._newest(main)
        self._entries[main] = self._entries_after_tick(main)
        left = {self._value("phase", each) for each in self._requests(main)} & {"LINKED", "UPLOADED"}
        if newest is not None and self._entries[main]:
            problem = "requests of newer epochs came, and the model does not say how far a scan goes then (ZR-59)"
            raise UsageError(f"publish({main},{newest}): {problem}")
        if newest is not None:
            self._do("publish", {"m": main, "v": newest})
            steps.append(_step("commit_done", {"published": _zone(newest)}, node=node))
        elif counted:
            steps.append(_step("commit_done", {"published": None}, node=node))
        elif left:
            self._running.setdefault(main, self._epoch("known", main))
            if left == {"UPLOADED"}:
                steps.append(_step("commit_done", {"published": None}, node=node, stage=STAGES[0]))
        return [*steps, _step("report", {"route_epoch": self._reported(main)}, node=node)]

    def _reported(self, main: str) -> int | None:
        return None if self._value("report", main) is None else self._epoch("report", main)

    def _newest(self, main: str) -> int | None:
        """The newest epoch that a main may report now."""
        return next((each for each in reversed(self._epochs()) if self._after("publish", {"m": main, "v": each})), None)

    def _entries_after_tick(self, main: str) -> set[int]:
        """The entries that a tick leaves: of epochs that are not fenced, or have a request in flight."""
        counted = {self._epoch("tag", each) for each in self._counted(main)}
        return {each for each in self._entries[main] if each > self._epoch("known", main) or each in counted}

    def _requests(self, main: str) -> list[str]:
        return [each for each in self._keys("phase") if main in self._members("target", each)]

    def _counted(self, main: str) -> list[str]:
        """The requests that a main counts as in flight."""
        return [each for each in self._requests(main) if self._value("counted", each)]

    # The model --------------------------------------------------------------------------------------------------

    def _after(self, action: str, args: Mapping[str, Value]) -> bytes | None:
        """The state after an action of the model, if it is possible now."""
        codes = self._machine.layout.encode_args(self._actions[action], args)
        outcome = self._machine.step(self.state, action, codes)
        return outcome.state if isinstance(outcome, Taken) else None

    def _do(self, action: str, args: Mapping[str, Value]) -> bool:
        """Take an action of the model, if it is possible; whether it is."""
        after = self._after(action, args)
        self.state = self.state if after is None else after
        return after is not None

    def _cells(self, field: str) -> dict[tuple[str, ...], Value]:
        """The values of a field by key."""
        layout = self._machine.layout
        cells = [(cell, code) for cell, code in zip(layout.cells, self.state, strict=True) if cell.field.name == field]
        return {tuple(map(str, cell.keys)): layout.decode_value(cell.field.type, code) for cell, code in cells}

    def _value(self, field: str, *keys: str) -> Value:
        return self._cells(field)[keys]

    def _epoch(self, field: str, *keys: str) -> int:
        return _zone(self._value(field, *keys))

    def _keys(self, field: str) -> list[str]:
        """The keys of a field with one key."""
        return [key for (key,) in self._cells(field)]

    def _members(self, field: str, first: str) -> list[str]:
        """The second keys of a relation's members with this first key."""
        return [keys[1] for keys, value in self._cells(field).items() if keys[0] == first and value]

    def _epochs(self) -> range:
        return range(1, self._machine.layout.scope.sizes["Epoch"] + 1)


def _step(op: str, expected: Mapping[str, Any] | None = None, /, **arguments: Any) -> Statement:
    return Statement(OperationRequest(op, arguments), expected or {})


def _number(element: str) -> int:
    """The node of a main or a proxy of the model."""
    return int(element[1:]) + (PROXIES if element.startswith("p") else 0)


def _zone(epoch: Value) -> int:
    """An epoch of the model as in zone-routing.md 4."""
    assert isinstance(epoch, int)
    return epoch - 1
