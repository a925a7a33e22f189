"""Lemmas for the proof of `wal_retention`, beside its invariants."""

from __future__ import annotations

from holdfast.lang import lemma
from models.wal_retention import Batch, WalRetention


class WalRetentionProof(WalRetention):
    """WalRetention with the lemmas that make its invariants inductive."""

    @lemma
    def kept_is_uploaded(self) -> bool:
        """The 30 s begin with the upload."""
        return all(self.uploaded[b] for b in Batch if self.kept[b])

    @lemma
    def trimmed_is_kept(self) -> bool:
        """A link is trimmed only after the 30 s."""
        return all(self.kept[b] for b in Batch if self.trimmed[b])
