-------------------------- MODULE alternating_bit --------------------------
\* The alternating bit protocol: the hand-written counterpart of docs/examples/alternating_bit.py.
EXTENDS Naturals, Sequences

CONSTANTS Items, Capacity

VARIABLES
    sending,   \* the item that the sender sends; Items + 1 stands for the end
    bit,       \* the bit that the sender puts on it
    expected,  \* the bit that the receiver expects
    packets,   \* the wire to the receiver
    acks,      \* the wire to the sender
    received   \* the items that the receiver has

vars == <<sending, bit, expected, packets, acks, received>>

Bit == {0, 1}

TypeOK ==
    /\ sending \in 1..(Items + 1)
    /\ bit \in Bit
    /\ expected \in Bit
    /\ packets \in Seq([bit : Bit, item : 1..Items]) /\ Len(packets) <= Capacity
    /\ acks \in Seq(Bit) /\ Len(acks) <= Capacity
    /\ received \in Seq(1..Items)

Init ==
    /\ sending = 1
    /\ bit = 0
    /\ expected = 0
    /\ packets = <<>>
    /\ acks = <<>>
    /\ received = <<>>

\* The sender sends its item, perhaps again.
Send ==
    /\ sending <= Items
    /\ Len(packets) < Capacity
    /\ packets' = Append(packets, [bit |-> bit, item |-> sending])
    /\ UNCHANGED <<sending, bit, expected, acks, received>>

\* The receiver acknowledges the first packet, and takes its item if the bit is the expected one.
Receive ==
    /\ packets # <<>>
    /\ Len(acks) < Capacity
    /\ packets' = Tail(packets)
    /\ acks' = Append(acks, Head(packets).bit)
    /\ IF Head(packets).bit = expected
       THEN /\ received' = Append(received, Head(packets).item)
            /\ expected' = 1 - expected
       ELSE UNCHANGED <<received, expected>>
    /\ UNCHANGED <<sending, bit>>

\* The sender turns to the next item if the first acknowledgement has its bit.
Acknowledge ==
    /\ acks # <<>>
    /\ acks' = Tail(acks)
    /\ IF Head(acks) = bit
       THEN /\ sending' = sending + 1
            /\ bit' = 1 - bit
       ELSE UNCHANGED <<sending, bit>>
    /\ UNCHANGED <<expected, packets, received>>

LosePacket ==
    /\ packets # <<>>
    /\ packets' = Tail(packets)
    /\ UNCHANGED <<sending, bit, expected, acks, received>>

LoseAck ==
    /\ acks # <<>>
    /\ acks' = Tail(acks)
    /\ UNCHANGED <<sending, bit, expected, packets, received>>

Next == Send \/ Receive \/ Acknowledge \/ LosePacket \/ LoseAck

Fairness == WF_vars(Send) /\ SF_vars(Receive) /\ SF_vars(Acknowledge)

Spec == Init /\ [][Next]_vars /\ Fairness

\* The receiver has the first items, in order, each once.
InOrder == \A i \in 1..Len(received) : received[i] = i

\* The sender turns to the next item when the receiver has this one.
NotAhead == Len(received) \in {sending - 1, sending}

AllReceived == []<>(Len(received) = Items)
=============================================================================
