"""The alternating bit protocol: items arrive in order and once, though the wires lose, and the sender repeats.

K. A. Bartlett, R. A. Scantlebury and P. T. Wilkinson, *A note on reliable full-duplex transmission over half-duplex
links* (CACM 1969). The sender puts a bit on each item and sends it until the receiver acknowledges that bit; then it
turns to the next item and the other bit. The receiver takes an item only with the bit that it expects. A wire keeps
the order and holds a few packets; it may lose its first one at any time. A number stands for the content of an item.
"""

from __future__ import annotations

from enum import Enum

from holdfast.lang import (
    Model,
    Nat,
    Record,
    Scope,
    Seq,
    action,
    always_eventually,
    init,
    invariant,
    require,
    rule,
    variant,
    witness,
)


class Bit(Enum):
    EVEN = 0
    ODD = 1


class Item(Nat): ...


class Place(Nat): ...


class Packet(Record):
    """What the sender puts on the wire."""

    bit: Bit
    item: Item


class AlternatingBit(Model):
    """The two ends, and the wires between them."""

    sending: Item
    """The item that the sender sends; the last one stands for the end."""
    bit: Bit
    expected: Bit
    packets: Seq[Packet, Place]
    acks: Seq[Bit, Place]
    received: Seq[Item, Item]

    tiny = Scope({Item: 3, Place: 2})
    default = Scope({Item: 4, Place: 4})
    deep = Scope({Item: 40, Place: 8}, depth=400)

    @init
    def start_empty(self) -> None:
        """Nothing is on its way."""
        self.sending = Item(0)
        self.bit = Bit.EVEN
        self.expected = Bit.EVEN
        self.packets.clear()
        self.acks.clear()
        self.received.clear()

    @action(fair="weak")
    def send(self) -> None:
        """The sender sends its item, perhaps again."""
        require(self.sending != Item.last and len(self.packets) < Place.last)
        self.packets.append(Packet(self.bit, self.sending))

    @action(fair="strong")
    def receive(self) -> None:
        """The receiver takes a packet from the wire, and acknowledges its bit."""
        packet = self.packets.first
        require(packet is not None and len(self.acks) < Place.last)
        if packet is not None:
            self.packets.pop_first()
            self.accept(packet)

    @variant("reorders", replaces="receive")
    def receive_last(self) -> None:
        """The wire delivers the last packet first."""
        packet = self.packets.last
        require(packet is not None and len(self.acks) < Place.last)
        if packet is not None:
            self.packets.truncate(len(self.packets) - 1)
            self.accept(packet)

    def accept(self, packet: Packet) -> None:
        """Acknowledge a packet, and take its item if it is new."""
        self.acks.append(packet.bit)
        if rule("drop_repeated", packet.bit != self.expected):
            return
        self.received.append(packet.item)
        if rule("expect_other_bit"):
            self.expected = self.other(self.expected)

    @action(fair="strong")
    def acknowledge(self) -> None:
        """The sender takes an acknowledgement from the wire."""
        ack = self.acks.first
        require(ack is not None)
        self.acks.pop_first()
        if rule("skip_old_ack", ack != self.bit):
            return
        self.sending += 1
        if rule("change_bit"):
            self.bit = self.other(self.bit)

    def other(self, bit: Bit) -> Bit:
        """The bit that follows."""
        return Bit.ODD if bit == Bit.EVEN else Bit.EVEN

    @action
    def lose_packet(self) -> None:
        """A packet is lost."""
        require(len(self.packets) > 0)
        self.packets.pop_first()

    @action
    def lose_ack(self) -> None:
        """An acknowledgement is lost."""
        require(len(self.acks) > 0)
        self.acks.pop_first()

    @invariant
    def in_order(self) -> bool:
        """AB-01. The items that the receiver has are the first ones, in order, each once."""
        return all(self.received[i] == i for i in Item if i < len(self.received))

    @invariant
    def not_ahead(self) -> bool:
        """AB-02. The sender turns to the next item when the receiver has this one."""
        return self.sending <= len(self.received) and len(self.received) <= self.sending + 1

    @always_eventually
    def all_received(self) -> bool:
        """AB-03. All items are received at last."""
        return len(self.received) == Item.last

    @witness
    def sent_again(self) -> bool:
        """The wire holds the same packet twice, and the receiver has the item already."""
        return self.packets.first == self.packets[1] and len(self.received) > self.sending
