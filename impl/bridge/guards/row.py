"""The rows of the page about the implementation's rules, and the file that stores them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from holdfast.ir.errors import UsageError

FILE = Path(__file__).parents[2] / "guards.json"
"""The stored rows, beside the implementation."""

NOT_TRIED = "not tried"
"""The message of a row whose rule was not tried before a limit came."""

Finder = Literal["oracle", "conform", "machine", "node error", "scenario", ""]


class GuardRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What is known of a rule of the implementation.

    - ``decided``: how often it decided something in the default mix; ``runs``: in how many runs.
    - ``reached``: the run of the mix that needs the fewest kinds of faults to reach the rule, and ``faults``: these.
      None if no run reached it.
    - ``finder``: what finds its removal: "" if nothing does. ``by``: the oracle or the model that objects.
      ``said``: its message.
    - ``run``: the run of the mix, or the seed of the walk, that shows it. ``file``: the kept run, or the scenario, if a
      file shows it.
    - ``partner``: the rule that decides in its place; then both are removed, and ``run`` shows that.
    - ``part``: the part of a node of which ``run`` is the seed; "" for a run of the mix.
    - ``idle``: no run of the mix decides anything by the rule; ``decided`` and ``runs`` are of runs of parts.
    """

    label: str
    decided: int = 0
    runs: int = 0
    reached: int | None = None
    faults: tuple[str, ...] = ()
    finder: Finder = ""
    by: str = ""
    run: int | None = None
    file: str = ""
    partner: str = ""
    said: str = ""
    part: str = ""
    idle: bool = False

    @property
    def way(self) -> str:
        """How the removal is found: the finder, or "redundant" if another rule decides in its place; "" for not."""
        return "redundant" if self.partner else self.finder


class GuardEvidence(msgspec.Struct, frozen=True):
    """What finds the lack of some rules, as in ``GuardRow``."""

    finder: Finder
    by: str = ""
    run: int | None = None
    file: str = ""
    said: str = ""
    partner: str = ""
    part: str = ""


class GuardStore(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rows of all rules, by label, and the number of runs of the default mix that were made for them."""

    runs: int
    rows: tuple[GuardRow, ...]


def text(store: GuardStore) -> str:
    """The text of the file: a line for each row, so that a change shows only the rows that changed."""
    rows = ",\n".join(f"    {_json(row)}" for row in store.rows)
    return f'{{\n  "runs": {store.runs},\n  "rows": [\n{rows}\n  ]\n}}\n'


def _json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=0).decode()


def read(path: Path = FILE) -> GuardStore:
    """The rows in a file. Raises UsageError for a file that holds none."""
    remedy = "write it anew with `holdfast simulate --update`"
    try:
        return msgspec.json.decode(path.read_bytes(), type=GuardStore)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}; {remedy}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: holds no rows of rules ({error}); {remedy}") from error


def unfound(rows: Iterable[GuardRow]) -> list[str]:
    """The rules whose removal nothing finds."""
    return [row.label for row in rows if not row.finder]
