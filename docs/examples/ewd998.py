"""Termination detection in a ring: a token finds out whether all nodes rest and no message is on its way.

S. Safra's algorithm, as E. W. Dijkstra tells it in EWD 998 (1987). A node counts up for each message that it sends,
and down for each that it receives. The token adds up the counts on its way from the last node to the first one. A
node that has received a message is black, and makes the token black: then the first node sends it around once more.
"""

from __future__ import annotations

from holdfast.lang import (
    Flag,
    Int,
    Map,
    Model,
    Nat,
    Rel,
    Ring,
    Scope,
    action,
    init,
    invariant,
    leads_to,
    liveness,
    outcomes,
    require,
    rule,
    witness,
)


class Node(Ring): ...


class Messages(Nat): ...


class Balance(Int, lo=-9, hi=9): ...


class TerminationDetection(Model):
    """A ring of nodes, the messages on their way, and the token."""

    active: Rel[Node]
    inbox: Map[Node, Messages]
    """How many messages are on their way to a node."""
    balance: Map[Node, Balance]
    """The number of messages that a node has sent, minus the number that it has received."""
    black: Rel[Node]
    """The node has received a message since it had the token."""
    holder: Node
    """Who has the token."""
    total: Balance
    """The sum that the token carries."""
    token_black: bool
    """The token is black, so its sum shows nothing."""
    detected: bool
    sender_blackens: Flag
    """Who sends becomes black, and not who receives: the rule of EWD 840, where a message takes no time."""

    tiny = Scope({Node: 2, Messages: 2}, budgets={"send": 2})
    default = Scope({Node: 3, Messages: 2}, budgets={"send": 2})
    deep = Scope({Node: 7, Messages: 9}, budgets={"send": 9}, depth=200)

    @init
    def all_work(self) -> None:
        """Every node is active, nothing is sent, and the first node has the token."""
        self.active.fill(True)
        self.inbox.fill(Messages(0))
        self.balance.fill(Balance(0))
        self.black.fill(False)
        self.holder = Node.first
        self.total = Balance(0)
        self.token_black = True
        self.detected = False

    @action
    def send(self, n: Node, m: Node) -> None:
        """An active node sends a message to another one."""
        require(self.active[n] and n != m)
        self.inbox[m] += 1
        if rule("count_sent"):
            self.balance[n] += 1
        if self.sender_blackens:
            self.black[n] = True

    @action
    def receive(self, n: Node) -> None:
        """A message wakes its receiver."""
        require(self.inbox[n] > 0)
        self.inbox[n] -= 1
        self.active[n] = True
        if rule("count_received"):
            self.balance[n] -= 1
        if rule("blacken_receiver", not self.sender_blackens):
            self.black[n] = True

    @action
    def rest(self, n: Node) -> None:
        """A node has nothing more to do until a message comes."""
        self.active[n] = False

    @action(fair="weak")
    def pass_on(self) -> None:
        """A node at rest adds its balance and its colour to the token, turns white, and hands the token on."""
        n = self.holder
        require(n != Node.first)
        require(not self.active[n], "pass_at_rest")
        if rule("blacken_token", self.black[n]):
            self.token_black = True
        self.total += self.balance[n]
        if rule("whiten"):
            self.black[n] = False
        self.holder = n.previous

    @action(fair="weak")
    def probe(self) -> None:
        """The first node has not learnt enough, and sends a new token around."""
        require(self.holder == Node.first)
        require(not self.conclusive(), "probe_in_doubt")
        self.holder = Node.last
        self.total = Balance(0)
        self.token_black = False
        if rule("whiten_first"):
            self.black[Node.first] = False

    @action(fair="weak")
    def detect(self) -> None:
        """The first node tells everybody that the work is over."""
        require(self.holder == Node.first)
        require(not self.active[Node.first], "first_rests")
        require(not self.black[Node.first], "first_is_white")
        require(not self.token_black, "token_is_white")
        require(self.total + self.balance[Node.first] == 0, "sum_is_zero")
        self.detected = True

    def conclusive(self) -> bool:
        """Whether the first node has learnt that the work is over."""
        clean = not self.black[Node.first] and not self.token_black
        return clean and not self.active[Node.first] and self.total + self.balance[Node.first] == 0

    def terminated(self) -> bool:
        """Whether every node rests, and no message is on its way."""
        return not any(self.active[n] or self.inbox[n] > 0 for n in Node)

    @invariant
    def detection_is_right(self) -> bool:
        """TD-01. Once termination is detected, every node rests and no message is on its way."""
        return not self.detected or self.terminated()

    @leads_to
    def detects(self) -> tuple[bool, bool]:
        """TD-02. Termination is detected."""
        return self.terminated(), self.detected

    @witness
    def detected_after_messages(self) -> bool:
        """Termination is detected after a node other than the first one has sent and received."""
        return self.detected and any(self.balance[n] != 0 for n in Node if n != Node.first)

    @witness
    def false_hope(self) -> bool:
        """The sum is zero at the first node, and a colour prevents the detection."""
        even = self.total + self.balance[Node.first] == 0
        return self.holder == Node.first and even and not self.active[Node.first] and not self.terminated()

    mutants = outcomes({
        "whiten": liveness("TD-02", "a node that has received once makes every token black"),
        "whiten_first": liveness("TD-02", "a first node that has received once learns nothing from any token"),
        "probe_in_doubt": liveness("TD-02", "the first node sends a new token around before it tells anybody"),
    })  # fmt: skip
