"""Read a run from an output of TLC: plain, with ``-tool``, or dumped as JSON (``-dumpTrace json``).

Only the first error trace is read. TLC names the operator of each step, but gives its arguments only in a dump. It
prints no types, so the sorts and types of values stay unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import attrs

from holdfast.ir.errors import Place, UsageError
from holdfast.trace.foreign import ForeignRun, ForeignState
from holdfast.trace.itf_values import MOST_DEPTH, Fun, Listing, Rec, Tree, encode
from holdfast.trace.tla_values import parse_value
from holdfast.trace.trace import Claim

WHOLE = "give the whole output, as TLC wrote it"
"""The remedy for an output that was cut or edited."""

_STATE = re.compile(r"State (\d{1,9}): (<.*>|Stuttering)")
_BACK = re.compile(r"Back to state:? ?(\d{0,9}).*")
_TOOL_STATE = re.compile(r"(\d{1,9}): (<.*>|Stuttering|Back to state.*)")
_BEGIN = re.compile(r"@!@!@STARTMSG (\d{1,9})(?::\d+)? @!@!@")
_END = re.compile(r"@!@!@ENDMSG (\d{1,9}) @!@!@")
_ACTION = re.compile(r"<(\w+)(?:\(.*\))? line \d+.*?(?: of module (\w+))?>")
_ASSIGNED = re.compile(r"(?:/\\ )?([A-Za-z_]\w*) = (.*)", re.DOTALL)
_VIOLATED = re.compile(r"(Invariant|Action property) (.+?) is violated(?: by the initial state)?[.:]")
_PROCESSED = re.compile(r"^Semantic processing of module (\w+)", re.MULTILINE)
_DEADLOCK = "Deadlock reached."

STATE, STUTTERING, BACK = 2217, 2218, 2122
INITIALLY = 2107
"""TLC's message numbers. INITIALLY reports an initial state that violates an invariant, and contains that state."""


def looks_like_tlc(text: str) -> bool:
    """Whether the text is an output of TLC, with or without a run in it."""
    return "@!@!@STARTMSG" in text or re.search(r"^(TLC2 Version|State \d+: <)", text, re.MULTILINE) is not None


def tlc_run(text: str, path: Path) -> ForeignRun:
    """The run that TLC printed; raises UsageError with the file's name if there is none or it is incomplete."""
    lines = text.split("\n")
    parts = _Parts()
    for part in _of_tool(lines, path) if "@!@!@STARTMSG" in text else _of_plain(lines):
        if not parts.add(part):
            break
    if not parts.states:
        raise UsageError(f'{path}: TLC prints no run here; give the output from "Error: Invariant ..." on')
    return _run(parts, path, _PROCESSED.findall(text))


# From lines to parts ---------------------------------------------------------------------------------------------


@attrs.frozen
class _Part:
    """A piece of an error trace: TLC's number of the state, the action that led to it, its lines, and the number of its
    first line in the file.
    """

    kind: Literal["state", "back", "stuttering", "error"]
    number: int = 0
    header: str = ""
    body: tuple[str, ...] = ()
    line: int = 0


@attrs.define
class _Parts:
    """Collects the parts of the first error trace."""

    states: list[_Part] = attrs.field(factory=list)
    loop: int | None = None
    error: str = ""

    def add(self, part: _Part) -> bool:
        """Take one more part; False if another trace begins, or this one is over."""
        if part.kind == "error":
            # The trace shows the first error; later error lines explain it.
            self.error = self.error or part.header
            return not self.states
        if part.kind == "state":
            # TLC numbers the states of a trace from 1; another number means that another trace begins.
            if self.states and part.number != len(self.states) + 1:
                return False
            self.states.append(part)
            return True
        self.loop = len(self.states) - 1 if part.kind == "stuttering" else part.number - 1
        return False


def _of_plain(lines: list[str]) -> Iterator[_Part]:
    """The parts of a plain output."""
    position = 0
    while position < len(lines):
        line = lines[position].rstrip()
        position += 1
        state, back = _STATE.fullmatch(line), _BACK.fullmatch(line)
        if line.startswith("Error: "):
            yield _Part("error", header=line.removeprefix("Error: "))
        if state is not None and state[2] == "Stuttering":
            yield _Part("stuttering")
        elif back is not None:
            yield _Part("back", number=int(back[1] or 1))
        elif state is not None or line.endswith(" is violated by the initial state:"):
            body = _body(lines, position)
            number, header = (int(state[1]), state[2]) if state is not None else (1, "")
            yield _Part("state", number, header, body, position + 1)
            position += len(body)


def _body(lines: list[str], start: int) -> tuple[str, ...]:
    """The lines of a state: all lines up to the first blank line."""
    end = start
    while end < len(lines) and lines[end].strip():
        end += 1
    return tuple(lines[start:end])


def _of_tool(lines: list[str], path: Path) -> Iterator[_Part]:
    """The parts of an output with ``-tool``: messages between a begin and an end. Other lines are skipped."""
    position = 0
    while position < len(lines):
        begin = _BEGIN.fullmatch(lines[position].strip())
        position += 1
        if begin is None:
            continue
        first = position
        while position < len(lines) and _END.fullmatch(lines[position].strip()) is None:
            position += 1
        if position == len(lines):
            raise UsageError(f"{path}:{first}: the message {begin[1]} of TLC does not end; was the file truncated?")
        yield from _message(int(begin[1]), lines[first:position], first)


def _message(number: int, lines: list[str], first: int) -> Iterator[_Part]:
    head = lines[0].strip() if lines else ""
    body = _body(lines, 1)
    if number == INITIALLY or _VIOLATED.match(head) or head == _DEADLOCK or head.startswith("Temporal propert"):
        yield _Part("error", header=head)
    if number == INITIALLY:
        yield _Part("state", 1, "", body, first + 2)
    elif number in (STATE, STUTTERING, BACK):
        found = _TOOL_STATE.fullmatch(head)
        if found is None:
            return
        if number == STATE:
            yield _Part("state", int(found[1]), found[2], body, first + 2)
        else:
            yield _Part("stuttering" if number == STUTTERING else "back", int(found[1]))


# From parts to a run ---------------------------------------------------------------------------------------------


def _run(parts: _Parts, path: Path, modules: list[str]) -> ForeignRun:
    # TLC processes the root module last. If no module line was printed, the steps name the module of their operator.
    states, module = [], modules[-1] if modules else ""
    for index, part in enumerate(parts.states):
        values = _values(part, path)
        named = _ACTION.fullmatch(part.header)
        module = module or (named[2] if named is not None and named[2] else "")
        action = named[1] if named is not None else ("init" if index == 0 else None)
        states.append(_state(index, values, action))
    if parts.loop is not None and not 0 <= parts.loop < len(states):
        raise UsageError(f"{path}: the run goes back to state {parts.loop + 1}, and has {len(states)} states; {WHOLE}")
    return _foreign(path, module, states, parts.loop, parts.error)


def _values(part: _Part, path: Path) -> dict[str, Tree]:
    """The variables of a state. Each begins a line; the further lines of a long value are indented."""
    entries: list[tuple[int, str]] = []
    for offset, line in enumerate(part.body):
        if entries and line[:1].isspace():
            entries[-1] = (entries[-1][0], f"{entries[-1][1]}\n{line}")
        else:
            entries.append((part.line + offset, line))
    found: dict[str, Tree] = {}
    for number, text in entries:
        assigned = _ASSIGNED.fullmatch(text.rstrip())
        if assigned is None:
            raise UsageError(f"{path}:{number}: {text[:60]!r} is no line of a state; write /\\ variable = value")
        try:
            found[assigned[1]] = parse_value(assigned[2])
        except UsageError as error:
            raise UsageError(f"{path}:{number}: {assigned[1]}: {error}; {WHOLE}") from None
    if not found:
        raise UsageError(f"{path}:{part.line}: state {part.number} has no variables; was the file truncated?")
    return found


def _state(
    index: int, values: Mapping[str, Tree], action: str | None, args: tuple[tuple[str, Tree], ...] = ()
) -> ForeignState:
    meta: dict[str, Any] = {"index": index}
    meta |= {} if action is None else {"action": action}
    meta |= {"args": {name: encode(value) for name, value in args}} if args else {}
    return ForeignState(values, {"#meta": meta} | {name: encode(of) for name, of in values.items()}, action, args)


def _foreign(path: Path, module: str, states: list[ForeignState], loop: int | None, error: str) -> ForeignRun:
    model = module or path.stem
    heading = {
        "#meta": {
            "format": "ITF",
            "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
            "source": f"{model}.tla",
            "status": "violation" if error else "ok",
            "description": f"Read from an output of TLC. {error}".strip(),
        },
        "vars": list(dict.fromkeys(name for state in states for name in state.values)),
    }
    for index, state in enumerate(states):
        missing = [name for name in heading["vars"] if name not in state.values]
        if missing:
            raise UsageError(f"{path}: state {index + 1} has no value of {', '.join(missing)}; was the file truncated?")
    return ForeignRun(path, model, heading, tuple(states), loop, _claim(error, path))


def _claim(error: str, path: Path) -> Claim | None:
    """The claim that TLC reports as violated; None for temporal properties, which TLC does not name."""
    violated, at = _VIOLATED.match(error), Place(str(path), 1)
    if error == _DEADLOCK:
        return Claim("deadlock", "deadlock", (), "", at)
    if violated is None:
        return None
    return Claim(violated[2], "invariant" if violated[1] == "Invariant" else "step", (), "", at)


# Dumps as JSON -----------------------------------------------------------------------------------------------------


def is_tlc_dump(data: Mapping[str, Any]) -> bool:
    """Whether a JSON object is a dump of TLC."""
    return "counterexample" in data or ("state" in data and "action" in data)


def tlc_dump_run(data: Mapping[str, Any], path: Path) -> ForeignRun:
    """The run that TLC dumped as JSON; raises UsageError with the file's name if the object is no such dump."""
    try:
        return _of_dump(data.get("counterexample", data), path)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        raise UsageError(
            f"{path}: is no dump of TLC; give one such as "
            '{"counterexample": {"state": [[1, {...}], ...], "action": [[[1, {...}], {...}, [2, {...}]], ...]}}'
        ) from None


def _of_dump(data: Mapping[str, Any], path: Path) -> ForeignRun:
    numbered = {int(number): values for number, values in data["state"]}
    if not numbered:
        raise UsageError(f"{path}: TLC dumped a counterexample without a state, as it found none; give another file")
    if sorted(numbered) != list(range(1, len(numbered) + 1)):
        raise UsageError(f"{path}: the states of the dump are not numbered from 1 on: {sorted(numbered)[:8]}; {WHOLE}")
    last, loop, module = len(numbered), None, ""
    taken: dict[int, Mapping[str, Any]] = {}
    for (source, _), action, (target, _) in data["action"]:
        # Steps lead to greater numbers. Only the step from the last state may lead back; it closes the loop.
        if target > source:
            taken[int(target)] = action
        elif source == last and 1 <= target <= last:
            loop = int(target) - 1
        else:
            raise UsageError(f"{path}: an action of the dump leads from state {source} to {target}; {WHOLE}")
        module = module or str((action.get("location") or {}).get("module", ""))
    states = []
    for number in range(1, last + 1):
        values = {name: _tree(value, path, 0) for name, value in numbered[number].items()}
        action = taken.get(number, {})
        params = action.get("parameters") or action.get("parameter") or {}
        args = (
            tuple((name, _tree(value, path, 0)) for name, value in params.items()) if isinstance(params, dict) else ()
        )
        states.append(_state(number - 1, values, action.get("name") or ("init" if number == 1 else None), args))
    return _foreign(path, module, states, loop, "")


def _key(text: str, path: Path) -> Tree:
    try:
        return parse_value(text, member=True)
    except UsageError as error:
        raise UsageError(f"{path}: {error}; {WHOLE}") from None


def _tree(value: Any, path: Path, depth: int) -> Tree:
    """The tree of a value in a dump. JSON has no sets or functions: TLC writes a set as an array, and a function as an
    object whose names are the texts of its keys.
    """
    if depth > MOST_DEPTH:
        raise UsageError(f"{path}: a value nests deeper than {MOST_DEPTH} levels; {WHOLE}")
    match value:
        case bool() | int() | str():
            return value
        case list():
            return Listing(tuple(_tree(item, path, depth + 1) for item in value))
        case dict():
            items = [(name, _tree(item, path, depth + 1)) for name, item in value.items()]
            if all(name.isidentifier() for name in value):
                return Rec(tuple(items))
            return Fun.of((_key(name, path), item) for name, item in items)
        case _:
            raise UsageError(f"{path}: {value!r} is no value that TLC writes; {WHOLE}")
