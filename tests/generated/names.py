"""Names chosen to collide with generated names: functions, constants, operators, symbols."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tests.differential.vocabulary import Choices


def words(text: str) -> tuple[str, ...]:
    """The words of a text."""
    return tuple(re.findall(r"\w+", text))


MEMBERS = words("""
of_all self max min one deadlock canonical successors invariants finals witnesses premises triggers load put hashed
listed explore best rows notes s t o k out c found once Init Next vars Spec TypeOK Nil Inv CHOOSE state old_clock
next prime size bound all any abs count sum value some zero least Nodes node Node_0 n1 t1 i1 steps bump peek poke
wrapped np jit CUT HIT TAKEN WORDS none lo hi go_idempotent tiny_scope Fairness UNCHANGED Sequences EXCEPT budget
""")
"""Names for fields and methods: one name each, as in Python."""

LIKELY = words("of_all self max min one deadlock canonical successors")
"""Names that some engine once took for its own."""

LOCALS = words("""
s t o k c out rows notes found one other self_ n_ s0 t0 o0 args state init clock f0 f1 bad at1 next prime x_1
least size np HIT Nil Init deadlock act1 rel1 clock1 left new k0 j h i0 label cell Next vars LET IN old_clock
""")
"""Names for parameters and locals; a field may have the same name."""

FIXED = words("""
A B Bag C E Enum Era FAR False Flag Gap Ghost Int Item LATE Map Mode Model Nat Node None Pool Record Rel Role Scope
Self Seq Sort Tick True __future__ abs action add all always_eventually and annotations any append assume bool budgets
choose class clear count def default elif else enum error eventually_always fair fill final first for from given hi
holdfast idempotent if import in init int invariant is lang last leads_to lemma len lo max min not of old or pass per
pop_first remove replaces require return rule self slow starts_with step strong sum swift tiny truncate tuple typing
variant weak witness
""")
"""Words that keep their names: words of Python and of the language, types, and words of scopes."""


def colliding(text: str, choices: Choices) -> str:
    """The model with some of its names consistently replaced by colliding names."""
    head, _, body = text.partition("class Era(Nat): ...\n")
    plain = re.sub(r'"""(?s:.*?)"""', "", body)
    declared = set(re.findall(r"^    (\w+):", plain, re.MULTILINE)) | set(re.findall(r"\bdef (\w+)", plain))
    classes = set(re.findall(r"^class (\w+)", plain, re.MULTILINE))
    known = dict.fromkeys(re.findall(r"\b[A-Za-z_]\w*\b", re.sub(r'"[A-Z]+-\w[^"]*"', "", plain)))
    free = [word for word in known if word not in {*FIXED, *classes}]
    members = [word for word in free if word in declared]
    others = [word for word in free if word not in declared]
    renamed: dict[str, str] = {}
    exchange(members, [name for name in MEMBERS if name not in declared], LIKELY, choices, renamed, plain)
    # If a member is called like a parameter, no other parameter may take that name beside it.
    taken = {renamed.get(word, word) for word in members if is_both(word, plain)}
    called = [name for word in members if (name := renamed.get(word, word)) not in {*FIXED, *taken}]
    exchange(others, [name for name in (*LOCALS, *called) if name not in taken], called, choices, renamed, plain)
    body = re.sub(r"\b[A-Za-z_]\w*\b", lambda match: renamed.get(match[0], match[0]), body)
    return f"{head}class Era(Nat): ...\n{body}"


def exchange(
    mine: Sequence[str],
    pool: Sequence[str],
    likely: Sequence[str],
    choices: Choices,
    renamed: dict[str, str],
    text: str,
) -> None:
    """Rename some of the words to names of the pool, each to one; half of them get likely names."""
    known, used = set(re.findall(r"\w+", text)), re.sub(r"(?m)^    \w+: .*$", "", text)
    fresh = [name for name in dict.fromkeys(pool) if name not in mine]
    for word in mine:
        possible = [name for name in fresh if name not in {*known, *FIXED}] if is_both(word, used) else fresh
        if possible and choices.chance(40):
            favoured = [name for name in likely if name in possible] if choices.chance(50) else []
            renamed[word] = choices.one(favoured or possible)
            fresh.remove(renamed[word])


def is_both(word: str, text: str) -> bool:
    """Whether a name is used for a member and for a local."""
    return bool(re.search(rf"\.{word}\b|\bdef {word}\b", text) and re.search(rf"(?<![.\w\"]){word}\b(?!\()", text))
