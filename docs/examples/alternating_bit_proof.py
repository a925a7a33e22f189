"""Lemmas for the proof of the alternating bit protocol, for any number of items and places on the wires."""

from __future__ import annotations

from alternating_bit import AlternatingBit, Place

from holdfast.lang import lemma


class Lemmas(AlternatingBit):
    """What the wires hold: old packets before new ones."""

    def is_taken(self) -> bool:
        """Whether the receiver has the item that the sender sends."""
        return self.expected != self.bit

    @lemma
    def received_so_far(self) -> bool:
        """The receiver has all items before the one that the sender sends, or that one as well."""
        waits = self.expected == self.bit and len(self.received) == self.sending
        return waits or (self.is_taken() and len(self.received) == self.sending + 1)

    @lemma
    def new_or_old(self) -> bool:
        """A packet holds the item that the sender sends, or the one before."""
        return all(self.is_new(i) or self.is_old(i) for i in Place if i < len(self.packets))

    def is_new(self, i: Place) -> bool:
        """Whether a packet holds the item that the sender sends."""
        packet = self.packets[i]
        return packet is not None and packet.bit == self.bit and packet.item == self.sending

    def is_old(self, i: Place) -> bool:
        """Whether a packet holds the item before."""
        packet = self.packets[i]
        return packet is not None and packet.bit != self.bit and packet.item + 1 == self.sending

    @lemma
    def old_packets_first(self) -> bool:
        """Behind a new packet there are only new ones; once its item is taken, there are no others."""
        ordered = all(
            self.is_new(j) for i in Place for j in Place if i < j and j < len(self.packets) and self.is_new(i)
        )
        return ordered and (not self.is_taken() or all(self.is_new(i) for i in Place if i < len(self.packets)))

    @lemma
    def old_acks_first(self) -> bool:
        """An acknowledgement of the item that the sender sends has only such ones behind it, and the item is taken."""
        all_of_item = all(
            self.acks[j] == self.bit
            for i in Place
            for j in Place
            if i < j and j < len(self.acks) and self.acks[i] == self.bit
        )
        return all_of_item and (self.is_taken() or all(self.acks[i] != self.bit for i in Place))
