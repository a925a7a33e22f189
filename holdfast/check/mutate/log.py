"""What mutation has established, on file: a line for each fact, so that a later run goes on from there."""

from __future__ import annotations

import json
from pathlib import Path

from holdfast.check.mutate.result import Facts, facts_from_json, facts_to_json
from holdfast.ir.errors import UsageError

VERSION = 1


class MutationLog:
    """The facts of a file, by model; None is no file, and remembers nothing.

    Raises UsageError for a file that cannot be read, and for one that is no such log. A last line that was cut off in
    the middle is left out: that mutant is tried again.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._known: dict[tuple[str, str], dict[str, Facts]] = {}
        if path is not None and path.exists():
            self._read(path)

    def known(self, target: str, fingerprint: str) -> dict[str, Facts]:
        """The facts of a model's mutants. Raises UsageError where the file knows the model in another version."""
        found = self._known.get((target, fingerprint))
        if found is None and any(name == target for name, _ in self._known):
            raise UsageError(
                f"{self.path}: what it holds of {target} is of another version of the model, or of other scopes; "
                "remove the file, or name another one with --resume"
            )
        return dict(found or {})

    def keep(self, target: str, fingerprint: str, facts: Facts) -> None:
        """Add a fact; of one mutant the last one counts."""
        if self.path is None:
            return
        row = {"version": VERSION, "target": target, "fingerprint": fingerprint, **facts_to_json(facts)}
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        except OSError as error:
            raise UsageError(f"{self.path}: cannot be written: {error.strerror}; choose another file") from error

    def _read(self, path: Path) -> None:
        if not path.is_file():
            raise UsageError(f"{path}: is no file; name another one with --resume")
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no text"
            raise UsageError(f"{path}: cannot be read: {reason}; name another file with --resume") from error
        lines = text.split("\n")
        for number, line in enumerate(lines[:-1], start=1):
            try:
                row = json.loads(line)
                if row["version"] != VERSION:
                    raise ValueError(f"its version is {row['version']!r}")
                facts = facts_from_json(row)
                key = (str(row["target"]), str(row["fingerprint"]))
            except (KeyError, TypeError, ValueError, RecursionError) as error:
                raise UsageError(
                    f"{path}:{number}: is no line of a log of mutants ({error}); name another file with --resume"
                ) from error
            self._known.setdefault(key, {})[facts.mutant.name] = facts
        if lines[-1]:
            # A run that was killed while it wrote: the next line must not be added to half of this one.
            path.write_text("".join(f"{line}\n" for line in lines[:-1]), encoding="utf-8")
