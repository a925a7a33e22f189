"""Models whose proofs several tests ask for: a lock that needs a lemma, and a trap that needs two steps."""

from __future__ import annotations

from holdfast.check.prove.result import ProofResult, PropertyProof

LOCK = """
inside: Rel[Node]
free: bool
tiny = Scope({Node: 2})
@init
def nobody(self) -> None:
    self.inside.fill(False)
    self.free = True
@action
def enter(self, n: Node) -> None:
    require(self.free, "LK-01")
    self.inside[n] = True
    self.free = False
@action
def leave(self, n: Node) -> None:
    require(self.inside[n], "LK-02")
    self.inside[n] = False
    self.free = True
@invariant
def one_inside(self) -> bool:
    \"\"\"LK-10. At most one node is inside.\"\"\"
    return count(self.inside[n] for n in Node) <= 1
"""
"""A lock that needs a lemma: while it is free nobody is inside."""

LEMMA = """
@lemma
def free_is_empty(self) -> bool:
    return all(not (self.free and self.inside[n]) for n in Node)
"""

TRAP = """
mode: Mode
@init
def fine(self) -> None:
    self.mode = Mode.OK
@action
def stay(self, n: Node) -> None:
    require(self.mode == Mode.OK, "TR-01")
    self.mode = Mode.OK
@action
def fall(self, n: Node) -> None:
    require(self.mode == Mode.TRAP, "TR-02")
    self.mode = Mode.BAD
@invariant
def never_bad(self) -> bool:
    return self.mode != Mode.BAD
"""
"""An unreachable trap: two consecutive states show that nobody falls."""


def proof_of(result: ProofResult, name: str) -> PropertyProof:
    """The result for one property."""
    return next(proof for proof in result.properties if proof.claim.name == name)
