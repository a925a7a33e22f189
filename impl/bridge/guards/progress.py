"""The file that keeps what is known of rules, so that a command that was interrupted goes on."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec

from holdfast.ir.errors import UsageError
from holdfast.ir.load import model_folders
from impl.bridge.guards.row import GuardRow
from impl.rules import ROOT


class RunDecisions(msgspec.Struct, frozen=True):
    """A run of the mix: how often each rule decided something, the kinds of faults that happened, what was violated."""

    number: int
    decided: dict[str, int]
    kinds: tuple[str, ...]
    violated: str = ""


class GuardProgress:
    """The file of --resume. Without a file it keeps nothing. Its first line names the code that the rest was made with.

    Raises UsageError for a file of other code.
    """

    def __init__(self, path: Path | None) -> None:
        self.runs: dict[int, RunDecisions] = {}
        self.rows: dict[str, GuardRow] = {}
        self._path = path
        if path is None:
            return
        stamp = _stamp()
        content = path.read_bytes() if path.exists() else b""
        *lines, incomplete = content.split(b"\n")
        try:
            items = [msgspec.json.decode(line, type=dict[str, Any]) for line in lines]
            if content and not (items and "stamp" in items[0]):
                raise msgspec.DecodeError("its first line has no stamp")
            for item in items:
                self._take(item, stamp)
        except msgspec.DecodeError as error:
            raise UsageError(f"{path}: is no file of --resume ({error}); remove it, or name another one") from error
        # Only now, when it is known that the file is one of ours.
        if incomplete:
            path.write_bytes(content.removesuffix(incomplete))
        if not lines:
            self._add({"stamp": stamp})

    def _take(self, found: dict[str, Any], stamp: str) -> None:
        if "stamp" in found and found["stamp"] != stamp:
            raise UsageError(f"{self._path}: was made with other code; remove it, or name another file with --resume")
        if "run" in found:
            run = msgspec.convert(found["run"], RunDecisions)
            self.runs[run.number] = run
        if "row" in found:
            row = msgspec.convert(found["row"], GuardRow)
            self.rows[row.label] = row

    def keep(self, **item: object) -> None:
        """Add a run or a row to the file."""
        self._add(item)

    def _add(self, item: dict[str, object]) -> None:
        if self._path is not None:
            with self._path.open("ab") as file:
                file.write(msgspec.json.encode(item) + b"\n")


def _stamp() -> str:
    """A hash of the implementation without its commands, and of the models."""
    of_impl = (path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] != "cli")
    of_models = (path for folder in model_folders() for path in folder.glob("*.py"))
    digest = hashlib.blake2b(digest_size=8)
    for path in (*sorted(of_impl), *sorted(of_models)):
        digest.update(path.read_bytes())
    return digest.hexdigest()
