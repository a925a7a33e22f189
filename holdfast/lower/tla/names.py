"""Chooses the names of generated TLA+: different from its keywords, from its standard operators, and from each other.

In TLA+ a parameter or a bound variable may not have the name of a state variable or an operator in sight. So every name
of a generated text comes from ``TlaNames.take``, which gives no name twice.
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
"""The operators that Integers, FiniteSets and TLC define."""

CONFIGURATION = frozenset(
    """
    ACTION_CONSTRAINT ACTION_CONSTRAINTS ALIAS CHECK_DEADLOCK CONSTANT CONSTANTS CONSTRAINT CONSTRAINTS INIT INVARIANT
    INVARIANTS NEXT PERIODIC POSTCONDITION PROPERTIES PROPERTY SPECIFICATION SYMMETRY TYPE TYPE_CONSTRAINT VIEW
    _PERIODIC _POSSIBLE _RL_REWARD
    """.split()  # noqa: SIM905 - as above
)
"""The keywords of a configuration: TLC would read an invariant named VIEW as the beginning of a view."""

MODULES = frozenset(
    """
    Apalache Bags DyadicRationals FiniteSets FiniteSetsExt FoldsT Functions Integers Json Naturals Option Peano
    ProtoReals Randomization RealTime Reals Sequences SequencesExt SVG TLAPS TLC TLCExt Toolbox Variants
    """.split()  # noqa: SIM905 - as above
)
"""The modules that come with the TLA+ tools. TLC would read a file of such a name instead of the module."""

RESERVED = frozenset(
    "Init Next Spec Fairness FairSpec vars TypeOK Nil NotStuck Holds Least Greatest Sum SumOver Abs".split()  # noqa: SIM905
)
"""The names that every generated module may define itself."""


class TlaNames:
    """The names that are taken in one module, or in one operator of it."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = {*KEYWORDS, *STANDARD, *CONFIGURATION, *RESERVED, *taken}

    def within(self) -> TlaNames:
        """A copy for an inner part, which may not use the outer names; the copy does not change these."""
        return TlaNames(self.taken)

    def module(self, wanted: str) -> str:
        """A name for a module; it differs from standard modules even on a disk that ignores upper and lower case."""
        plain = identifier(wanted)
        standard = {name.casefold() for name in MODULES}
        return self.take(f"{plain}_model" if plain.casefold() in standard else plain)

    def take(self, wanted: str) -> str:
        """The wanted name, with a number behind it if it is taken."""
        plain = identifier(wanted)
        name, number = plain, 2
        while name in self.taken:
            name, number = f"{plain}_{number}", number + 1
        self.taken.add(name)
        return name


def identifier(text: str) -> str:
    """The text as a name of TLA+: ASCII letters, digits and underscores, with at least one letter."""
    name = "".join(c if c.isascii() and (c.isalnum() or c == "_") else f"u{ord(c):x}" for c in text)
    # TLA+ reads WF_ and SF_ as the beginning of a fairness condition.
    plain = any(c.isalpha() for c in name) and not name.startswith(("WF_", "SF_"))
    return name if plain else f"x{name}"


def unused(wanted: str, taken: Iterable[str]) -> str:
    """The wanted text, with underscores behind it as long as it is taken."""
    known = set(taken)
    while wanted in known:
        wanted += "_"
    return wanted


def camel(text: str) -> str:
    """The text in camel case, for an operator: ``SendClose`` for ``send_close``."""
    return "".join(part[:1].upper() + part[1:] for part in text.split("_")) or text
