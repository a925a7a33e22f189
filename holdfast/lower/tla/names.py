"""Names of TLA+: free of its words, of what its modules define, and of one another.

TLA+ lets no bound name be that of anything else in sight, so a parameter or a quantified variable may hide neither a
state variable nor an operator.
"""

from __future__ import annotations

from collections.abc import Iterable

KEYWORDS = frozenset(
    """
    ACTION ASSUME ASSUMPTION AXIOM BOOLEAN BY CASE CHOOSE CONSTANT CONSTANTS COROLLARY DEF DEFINE DEFS DOMAIN ELSE
    ENABLED EXCEPT EXTENDS FALSE HAVE HIDE IF IN INSTANCE LAMBDA LEMMA LET LOCAL MODULE NEW OBVIOUS OMITTED ONLY OTHER
    PICK PROOF PROPOSITION PROVE QED RECURSIVE STATE STRING SUBSET SUFFICES TAKE TEMPORAL THEN THEOREM TRUE UNCHANGED
    UNION USE VARIABLE VARIABLES WITH WITNESS
    """.split()  # noqa: SIM905 - a list of sixty strings is no easier to read
)

STANDARD = frozenset(
    """
    Nat Int Infinity Cardinality IsFiniteSet Print PrintT Assert JavaTime TLCGet TLCSet Permutations SortSeq
    RandomElement Any ToString TLCEval TLCExt
    """.split()  # noqa: SIM905 - as above
)
"""What Integers, FiniteSets and TLC define."""

RESERVED = frozenset(
    "Init Next Spec Fairness FairSpec vars TypeOK Nil NotStuck Holds Least Greatest Sum SumOver Abs".split()  # noqa: SIM905
)
"""What every generated module may define itself."""


class Names:
    """The names taken so far, in one module or in one operator of it."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = {*KEYWORDS, *STANDARD, *RESERVED, *taken}

    def within(self) -> Names:
        """The names for the inside of what these are for."""
        return Names(self.taken)

    def take(self, wanted: str) -> str:
        """The wanted name, or with a number where that is taken."""
        plain = identifier(wanted)
        name, number = plain, 2
        while name in self.taken:
            name, number = f"{plain}_{number}", number + 1
        self.taken.add(name)
        return name


def identifier(text: str) -> str:
    """The text as a name of TLA+: ASCII letters, digits and underscores, with a letter among them."""
    name = "".join(c if c.isascii() and (c.isalnum() or c == "_") else f"u{ord(c):x}" for c in text)
    # WF_ and SF_ begin fairness conditions, and a name needs a letter.
    plain = any(c.isalpha() for c in name) and not name.startswith(("WF_", "SF_"))
    return name if plain else f"x{name}"


def camel(text: str) -> str:
    """``send_close`` as an operator is called: ``SendClose``."""
    return "".join(part[:1].upper() + part[1:] for part in text.split("_")) or text
