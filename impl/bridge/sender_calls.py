"""The calls of a model's actions, as their senders choose them: without the parameters that the controller decides."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import attrs

from holdfast.lower.layout import Layout, Value
from holdfast.lower.python.interpreter import Args


@attrs.frozen
class SenderCall:
    """One call. ``named``: the sender's arguments, by the names of the parameters. ``codes``: the codes of all full
    tuples of arguments that they become with the controller's choices.
    """

    named: dict[str, Value]
    codes: list[Args]


SenderCalls = dict[str, dict[tuple[Value, ...], SenderCall]]
"""All calls in a scope: by action, then by the values of the sender's arguments."""


def calls_of(layout: Layout, decided: Mapping[str, tuple[str, ...]]) -> SenderCalls:
    """All calls in the scope of a layout. ``decided``: by action, the parameters that the controller chooses."""
    found: SenderCalls = {}
    for action in layout.system.actions:
        theirs = decided.get(action.name, ())
        calls = found[action.name] = {}
        for codes in product(*(range(layout.codes(param.type)) for param in action.params)):
            args = layout.decode_args(action, codes)
            sent = {name: value for name, value in args.items() if name not in theirs}
            calls.setdefault(tuple(sent.values()), SenderCall(sent, [])).codes.append(codes)
    return found
