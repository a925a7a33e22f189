"""The alternating bit protocol over two lossy FIFO channels of at most two messages.

After L. Lamport, Specifying Systems (2002), chapter 14.
"""

from __future__ import annotations

from typing import Self

from holdfast.lang import Map, Model, Nat, Scope, Sort, action, init, leads_to, require, step


class Data(Sort):
    """What is sent."""


class Len(Nat):
    """How long a channel is, and a place in it."""


class Alternating(Model):
    """A sender and a receiver; a bit tells a repetition from something new."""

    msg_len: Len
    msg_bit: Map[Len, bool]
    msg_data: Map[Len, Data | None]
    ack_len: Len
    ack_bit: Map[Len, bool]
    s_bit: bool
    s_ack: bool
    r_bit: bool
    sent: Data
    rcvd: Data

    tiny = Scope({Data: 2, Len: 2})

    @init
    def begin(self, bit: bool, d: Data, e: Data) -> None:
        self.msg_len = Len(0)
        self.msg_bit.fill(False)
        self.msg_data.fill(None)
        self.ack_len = Len(0)
        self.ack_bit.fill(False)
        self.s_bit = bit
        self.s_ack = bit
        self.r_bit = bit
        self.sent = d
        self.rcvd = e

    def push_msg(self, k: Len) -> None:
        """Append (s_bit, sent); k is the length before."""
        self.msg_bit[k] = self.s_bit
        self.msg_data[k] = self.sent
        self.msg_len = self.msg_len + 1

    def drop_msg(self, at: Len) -> None:
        """Remove the message at this place, of a queue of two at most."""
        if at == 0:
            self.msg_bit[Len(0)] = self.msg_bit[Len(1)]
            self.msg_data[Len(0)] = self.msg_data[Len(1)]
        self.msg_bit[Len(1)] = False
        self.msg_data[Len(1)] = None
        self.msg_len = self.msg_len - 1

    def drop_ack(self, at: Len) -> None:
        if at == 0:
            self.ack_bit[Len(0)] = self.ack_bit[Len(1)]
        self.ack_bit[Len(1)] = False
        self.ack_len = self.ack_len - 1

    @action
    def snd_new_value(self, d: Data, k: Len) -> None:
        require(self.s_ack == self.s_bit, "BIT-01")
        require(k == self.msg_len, "BIT-10")
        self.sent = d
        self.s_bit = not self.s_bit
        self.push_msg(k)

    @action(fair="weak")
    def resnd_msg(self, k: Len) -> None:
        require(self.s_ack != self.s_bit, "BIT-11")
        require(k == self.msg_len, "BIT-12")
        self.push_msg(k)

    @action(fair="strong")
    def rcv_msg(self) -> None:
        data = self.msg_data[Len(0)]
        require(data is not None, "BIT-13")
        self.r_bit = self.msg_bit[Len(0)]
        if data is not None:
            self.rcvd = data
        self.drop_msg(Len(0))

    @action(fair="weak")
    def snd_ack(self, k: Len) -> None:
        require(k == self.ack_len, "BIT-14")
        self.ack_bit[k] = self.r_bit
        self.ack_len = self.ack_len + 1

    @action(fair="strong")
    def rcv_ack(self) -> None:
        require(self.ack_len > 0, "BIT-15")
        self.s_ack = self.ack_bit[Len(0)]
        self.drop_ack(Len(0))

    @action
    def lose_msg(self, i: Len) -> None:
        require(i < self.msg_len, "BIT-16")
        self.drop_msg(i)

    @action
    def lose_ack(self, i: Len) -> None:
        require(i < self.ack_len, "BIT-17")
        self.drop_ack(i)

    @step(of="rcv_ack")
    def delivered(self, old: Self) -> bool:
        """BIT-20. What is acknowledged has been received."""
        return old.s_ack == old.s_bit or self.s_ack != self.s_bit or self.rcvd == self.sent

    @leads_to
    def arrives(self, d: Data) -> tuple[bool, bool]:
        """BIT-21. What is sent is received."""
        return self.sent == d and self.s_bit != self.s_ack, self.rcvd == d
