"""Small protocols with pools: few messages under way, and tokens that change hands."""

from __future__ import annotations

from tests.differential.vocabulary import BOOL
from tests.generated.setting import Piece, Setting


def post(make: Setting) -> None:
    """Letters of which few are under way, or of which all may be sent at once."""
    sort, nat = make.sort(), make.nat()
    letter = make.record("Letter", {"src": sort, "dst": make.sort(), "at": nat})
    sent = make.pool("sent", letter, make.nat())
    got = make.field("got", (sort,), BOOL, "False")
    guard = make.one(f"m not in {sent}", f"not {got}[m.src]", f"not any(k.src == m.src for k in {sent})")
    make.action("send", (("m", letter),), [make.require(guard), f"{sent}[m] = True"])
    receive = make.choices.one(
        (
            [make.require(f"m in {sent}"), f"{sent}[m] = False", f"{got}[m.src] = True"],
            [make.require(f"{sent}[m]"), f"{got}[m.src] = not {got}[m.src]"],
            [f"{sent}[m] = {got}[m.src]", f"{got}[m.src] = True"],
        )
    )
    make.action("receive", (("m", letter),), receive)
    flood = make.choices.one(
        (
            [make.require(f"{got}[n]"), f"{sent}.fill(True)"],
            [f"for k in {sent}:", "    if k.src != n:", f"        {sent}[k] = False"],
            [make.require(f"not {got}[n]"), f"{sent}.fill(False)", f"{got}[n] = True"],
        )
    )
    make.action("flood", (("n", sort),), flood)
    make.claim("invariant", "few", f"count(k in {sent} for k in {letter}) <= {make.choices.between(0, 2)}")
    make.claim("witness", "two", f"any(k != m for k in {sent} for m in {sent})")


def tokens(make: Setting) -> None:
    """Tokens that nodes take, give and pass on: a step may hold more than the bound before its last write."""
    sort = make.sort()
    held = make.pool("held", sort, make.nat())
    last = make.field("last", (sort,), BOOL, "False")
    give = [make.require(f"{held}[n] and n != m"), f"{held}[m] = True", f"{held}[n] = False"]
    make.action("give", (("n", sort), ("m", sort)), give if make.choices.chance(60) else [give[0], give[2], give[1]])
    take = make.choices.one(
        (
            [make.require(f"n not in {held}"), f"{held}[n] = True"],
            [f"{held}[n] = not {last}[n]", f"{last}[n] = n in {held}"],
            [f"for x in {sort}:", f"    {held}[x] = x == n or {held}[x]"],
            [f"for x in {sort}:", f"    {held}[x] = not {held}[x]", f"{last}[n] = True"],
        )
    )
    make.action("take", (("n", sort),), take)
    if make.choices.chance(50):
        make.action("drop", (), [f"for x in {held}:", f"    {held}[x] = {last}[x]"])
    make.claim(
        "invariant",
        "some",
        make.one(f"not all(x in {held} for x in {sort})", f"count(x in {held} for x in {sort}) <= 1"),
    )
    make.claim(
        "step",
        "passed",
        f"all(x in {held} or not {last}[x] for x in {held.replace('self', 'old')})",
    )
    make.claim("witness", "busy", f"any(x in {held} for x in {sort})")


POOLS: tuple[Piece, ...] = (post, tokens)
