"""The log of mutation: a file with a line for each established fact, so that a later command can resume from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import attrs

from holdfast import __version__
from holdfast.check.json_values import MERGED, as_json, from_json, sealed, unsealed
from holdfast.check.mutate.result import MutantFacts, OperatorRow, ProofRow
from holdfast.ir.errors import UsageError

VERSION = 4

Key = tuple[str, str]
"""A model, and the fingerprint of everything that its facts depend on."""


@attrs.frozen
class StoredProof:
    """The prover's row of a mutant. ``lemmas`` is the fingerprint of the model with its lemmas."""

    lemmas: str
    row: Annotated[ProofRow, MERGED]


class MutationLog:
    """The facts about mutants in a file, by model. Without a file (None) it stores nothing.

    An incomplete last line is dropped, and its mutant is tried again. Raises UsageError for a file that cannot be read,
    for one that is not such a log, and for one that was altered: each line has a digest of its content.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._known: dict[Key, dict[str, MutantFacts]] = {}
        self._operators: dict[Key, dict[tuple[str, str, int], OperatorRow]] = {}
        self._proofs: dict[Key, dict[tuple[str, str], ProofRow]] = {}
        if path is not None and path.exists():
            self._read(path)

    def known(self, target: str, fingerprint: str) -> dict[str, MutantFacts]:
        """The facts about a model's mutants. Raises UsageError if the file has another version of the model only."""
        # Facts about another version of the model must not be mixed with new ones.
        found = self._known.get((target, fingerprint))
        if found is None and any(name == target for name, _ in self._known):
            raise UsageError(
                f"{self.path}: what it holds of {target} is of another version of the model, or of other scopes; "
                "remove the file, or name another one with --resume"
            )
        return dict(found or {})

    def keep(self, target: str, fingerprint: str, facts: MutantFacts) -> None:
        """Add the facts of a mutant to the file. If a mutant has several lines, the last one counts."""
        self._add(target, fingerprint, as_json(facts))

    def operator(self, target: str, fingerprint: str, where: str, change: str, number: int) -> OperatorRow | None:
        """The row of an operator mutant, or None if the file has none."""
        return self._operators.get((target, fingerprint), {}).get((where, change, number))

    def keep_operator(self, target: str, fingerprint: str, row: OperatorRow) -> None:
        """Add the row of an operator mutant. Undecided ones are not stored, so that they are tried again."""
        known = self._operators.setdefault((target, fingerprint), {})
        key = (row.where, row.change, row.number)
        if row.way != "undecided" and key not in known:
            known[key] = row
            self._add(target, fingerprint, {"operator": as_json(row)})

    def proof(self, target: str, fingerprint: str, lemmas: str, mutant: str) -> ProofRow | None:
        """The prover's row of a mutant, or None; ``lemmas`` is the fingerprint of the model with its lemmas."""
        return self._proofs.get((target, fingerprint), {}).get((lemmas, mutant))

    def keep_proof(self, target: str, fingerprint: str, lemmas: str, row: ProofRow) -> None:
        """Add the prover's row of a mutant. Open ones are not stored, so that they are asked again."""
        if row.open is None:
            self._proofs.setdefault((target, fingerprint), {})[lemmas, row.mutant] = row
            self._add(target, fingerprint, {"proof": as_json(StoredProof(lemmas, row))})

    def _add(self, target: str, fingerprint: str, content: dict[str, Any]) -> None:
        if self.path is None:
            return
        row = {"version": VERSION, "holdfast": __version__, "target": target, "fingerprint": fingerprint, **content}
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(sealed(row)) + "\n")
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
                version, holdfast = row["version"], row["holdfast"]
                if (version, holdfast) != (VERSION, __version__):
                    raise ValueError(f"it is of version {version!r} of such logs, of holdfast {holdfast}")
                row = unsealed(row)
                del row["version"], row["holdfast"]
                self._note(row)
            except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
                raise UsageError(
                    f"{path}:{number}: is no line of a log of mutants ({error}); name another file with --resume"
                ) from error
        if lines[-1]:
            # A command was killed while it wrote. Remove the half line, or the next one would be appended to it.
            path.write_text("".join(f"{line}\n" for line in lines[:-1]), encoding="utf-8")

    def _note(self, row: dict[str, Any]) -> None:
        """Take over the content of a line. Raises AttributeError, KeyError, TypeError or ValueError for others."""
        key = (from_json(str, row.pop("target")), from_json(str, row.pop("fingerprint")))
        if "operator" in row:
            found = from_json(OperatorRow, row["operator"])
            self._operators.setdefault(key, {})[found.where, found.change, found.number] = found
        elif "proof" in row:
            proof = from_json(StoredProof, row["proof"])
            self._proofs.setdefault(key, {})[proof.lemmas, proof.row.mutant] = proof.row
        else:
            facts = from_json(MutantFacts, row)
            self._known.setdefault(key, {})[facts.mutant.name] = facts
