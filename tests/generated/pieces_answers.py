"""Small protocols whose messages carry a truth value: votes and their refusals."""

from __future__ import annotations

from tests.differential.vocabulary import BOOL
from tests.generated.setting import Piece, Setting


def ballots(make: Setting) -> None:
    """Nodes answer with a vote or a refusal; what an answer says is a part of its key, a value, or a condition."""
    sort, nat = make.sort(), make.nat()
    answer = make.record("Answer", {"src": sort, "granted": BOOL, "at": nat})
    pair = make.record("Pair", {"up": BOOL, "sure": BOOL})
    sent = make.field("sent", (answer,), BOOL, "False", of_records=True)
    pool = make.choices.chance(50)
    held = make.pool("held", answer, make.nat()) if pool else make.bag("held", answer, make.nat())
    known = make.field("known", (pair,), BOOL, "False", of_records=True)
    voted = make.field("voted", (sort,), BOOL, "False")
    claim = make.one(f"not {voted}[n]", f"{voted}[n]", f"any(k.granted for k in {sent})", "True", "n == n")
    make.action("answer", (("n", sort), ("t", nat)), [f"{sent}[{answer}(n, {claim}, t)] = True", f"{voted}[n] = True"])
    opposite = f"{answer}(m.src, not m.granted, m.at)"
    take = make.choices.one(
        (
            [make.require(f"m in {sent} and {opposite} not in {sent}"), f"{voted}[m.src] = m.granted"],
            [make.require(f"m.granted or {voted}[m.src]"), f"{sent}[m] = False", f"{sent}[{opposite}] = True"],
            [make.require(f"m in {sent}"), f"{known}[{pair}(m.granted, m not in {held})] = True"],
        )
    )
    make.action("take", (("m", answer),), take)
    hold = f"{held}[m] = True" if pool else f"{held}.add(m)"
    make.action("hold", (("m", answer),), [make.require(f"m in {sent} and m not in {held}"), hold])
    spread = make.choices.one(
        (
            [f"for k in {sent}:", "    if k.granted == f.up:", f"        {sent}[k] = False"],
            [f"for g in {pair}:", "    if g.up != f.sure:", f"        {known}[g] = {voted}[n]"],
            [make.require(f"f in {known}"), f"{known}[f] = False", f"{voted}[n] = f.sure"],
        )
    )
    make.action("spread", (("n", sort), ("f", pair)), spread)
    make.claim("invariant", "few", f"count(f in {known} for f in {pair}) <= {make.choices.between(1, 4)}")
    make.claim("invariant", "truthful", f"all({voted}[k.src] or not k.granted for k in {sent})")
    make.claim("witness", "both", f"any(k.granted and {answer}(k.src, False, k.at) in {sent} for k in {sent})")


ANSWERS: tuple[Piece, ...] = (ballots,)
