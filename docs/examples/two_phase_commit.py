"""Two-phase commit: participants vote, a coordinator decides, and nobody ends otherwise than anybody else.

Messages are relations that never shrink, so they may be lost, late and repeated. A participant may abort on its own
until it has voted. Left out: what becomes of a participant that waits for ever.
"""

from __future__ import annotations

from typing import Self

from holdfast.lang import Model, Rel, Scope, Sort, action, init, invariant, lemma, require, step, witness


class Participant(Sort): ...


class TwoPhaseCommit(Model):
    """One transaction, any number of participants."""

    voted: Rel[Participant]
    """The participant has promised to commit, and has said so."""
    committed: Rel[Participant]
    aborted: Rel[Participant]
    decided_commit: bool
    decided_abort: bool

    tiny = Scope({Participant: 3})

    @init
    def nothing_yet(self) -> None:
        """Nobody has said anything."""
        self.voted.fill(False)
        self.committed.fill(False)
        self.aborted.fill(False)
        self.decided_commit = False
        self.decided_abort = False

    @action
    def vote(self, p: Participant) -> None:
        """A participant promises to commit."""
        require(not self.aborted[p], "TP-01")
        self.voted[p] = True

    @action
    def give_up(self, p: Participant) -> None:
        """A participant aborts on its own; after its promise it may not."""
        require(not self.voted[p], "TP-02")
        self.aborted[p] = True

    @action
    def decide(self, commit: bool) -> None:
        """The coordinator decides once: to commit only if everybody has promised."""
        require(not self.decided_commit and not self.decided_abort, "TP-03")
        require(not commit or all(self.voted[p] for p in Participant), "TP-04")
        if commit:
            self.decided_commit = True
        else:
            self.decided_abort = True

    @action
    def hear(self, p: Participant) -> None:
        """A participant hears of the decision, and obeys."""
        require(self.decided_commit or self.decided_abort, "TP-05")
        if self.decided_commit:
            self.committed[p] = True
        else:
            self.aborted[p] = True

    @invariant
    def all_agree(self) -> bool:
        """TP-10. No participant commits while another one aborts."""
        return not any(self.committed[p] for p in Participant) or not any(self.aborted[p] for p in Participant)

    @step
    def final(self, old: Self) -> bool:
        """TP-11. Nobody takes back how it ended."""
        return all(self.committed[p] or not old.committed[p] for p in Participant) and all(
            self.aborted[p] or not old.aborted[p] for p in Participant
        )

    @lemma
    def one_decision(self) -> bool:
        """The coordinator decides one thing."""
        return not self.decided_commit or not self.decided_abort

    @lemma
    def commit_was_promised(self) -> bool:
        """A decision to commit, which whoever has committed has heard, has the promise of everybody."""
        return (self.decided_commit and all(self.voted[p] for p in Participant)) or not (
            self.decided_commit or any(self.committed[p] for p in Participant)
        )

    @lemma
    def promises_are_kept(self) -> bool:
        """Who has promised to commit aborts only if that was decided."""
        return all(not self.aborted[p] or self.decided_abort for p in Participant if self.voted[p])

    @witness
    def done(self) -> bool:
        """Everybody has committed."""
        return all(self.committed[p] for p in Participant)
