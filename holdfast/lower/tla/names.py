"""Names of TLA+: free of its words, of what its modules define, and of one another.

TLA+ lets no bound name be that of anything else in sight, so a parameter or a quantified variable may hide neither a
state variable nor an operator. Every name of a generated text comes from ``TlaNames.take``, which hands out none twice.
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

CONFIGURATION = frozenset(
    """
    ACTION_CONSTRAINT ACTION_CONSTRAINTS ALIAS CHECK_DEADLOCK CONSTANT CONSTANTS CONSTRAINT CONSTRAINTS INIT INVARIANT
    INVARIANTS NEXT PERIODIC POSTCONDITION PROPERTIES PROPERTY SPECIFICATION SYMMETRY TYPE TYPE_CONSTRAINT VIEW
    _PERIODIC _POSSIBLE _RL_REWARD
    """.split()  # noqa: SIM905 - as above
)
"""The words that begin a section of a configuration: an invariant called VIEW would be no invariant, but a view."""

MODULES = frozenset(
    """
    Apalache Bags DyadicRationals FiniteSets FiniteSetsExt FoldsT Functions Integers Json Naturals Option Peano
    ProtoReals Randomization RealTime Reals Sequences SequencesExt SVG TLAPS TLC TLCExt Toolbox Variants
    """.split()  # noqa: SIM905 - as above
)
"""The modules that come with TLA+'s tools. A file of such a name would be read in the place of the module."""

RESERVED = frozenset(
    "Init Next Spec Fairness FairSpec vars TypeOK Nil NotStuck Holds Least Greatest Sum SumOver Abs".split()  # noqa: SIM905
)
"""What every generated module may define itself."""


class TlaNames:
    """The names taken so far, in one module or in one operator of it."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = {*KEYWORDS, *STANDARD, *CONFIGURATION, *RESERVED, *taken}

    def within(self) -> TlaNames:
        """The names for the inside of what these are for."""
        return TlaNames(self.taken)

    def module(self, wanted: str) -> str:
        """A name for a module, whose file is not that of a standard module on any disk, in capitals or not."""
        plain = identifier(wanted)
        standard = {name.casefold() for name in MODULES}
        return self.take(f"{plain}_model" if plain.casefold() in standard else plain)

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


def unused(wanted: str, taken: Iterable[str]) -> str:
    """A text that is none of these: the wanted one, or one with underscores behind it."""
    known = set(taken)
    while wanted in known:
        wanted += "_"
    return wanted


def camel(text: str) -> str:
    """``send_close`` as an operator is called: ``SendClose``."""
    return "".join(part[:1].upper() + part[1:] for part in text.split("_")) or text
