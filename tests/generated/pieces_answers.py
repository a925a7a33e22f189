"""Small protocols with records that carry a truth value, as messages and as values of fields."""

from __future__ import annotations

from tests.differential.vocabulary import BOOL, GAP, optional
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


def holders(make: Setting) -> None:
    """Nodes hold records, which may be None: they take, swap and drop them."""
    sort, nat = make.sort(), make.nat()
    vote = make.record("Vote", {"src": sort, "granted": BOOL, "at": nat})
    mark = make.record("Mark", {"granted": BOOL, "at": nat, "by": GAP})
    last = make.field("last", (), mark, f"{mark}(False, {nat}(0), Gap(1))", of_records=True)
    held = make.field("held", (sort,), f"{vote} | None", "None", of_records=True)
    best = make.field("best", (), f"{vote} | None", "None", of_records=True)
    at = make.one(f"{last}.at", f"{last}.at + 1", f"{nat}(0)")
    made = f"{vote}(n, {make.one(f'{last}.granted', f'not {last}.granted', 'True')}, {at})"
    guard = make.require(make.one(f"{held}[n] is None", f"{held}[n] is None or {held}[n] != {best}", f"{best} is None"))
    crossed = f"{last} = {mark}({last}.at == 0, {nat}(1) if {last}.granted else {nat}(0), 0 - {last}.by)"
    again = make.one(crossed, f"{best} = {held}[n]", f"{held}[n] = {best}")
    new = make.helper("new", (("n", sort),), vote, [f"return {made}"])
    own = make.helper(
        "own_vote",
        (("n", sort),),
        optional(vote),
        [f"if {held}[n] is None or {held}[n].src != n:", f"    return {best}", f"return {held}[n]"],
    )
    make.action("vote", (("n", sort),), [guard, f"{held}[n] = {new}(n)", again])
    pass_on = make.choices.one(
        (
            [f"mine = {held}[n]", f"{held}[n] = {own}(m)", f"{held}[m] = mine"],
            [f"if {best} is not None:", f"    {held}[{best}.src] = {best}", f"    {best} = {held}[n]"],
            [f"for x in {sort}:", f"    if {held}[x] == {best} and x != n:", f"        {held}[x] = None"],
        )
    )
    make.action("pass_on", (("n", sort), ("m", sort)), pass_on)
    drop = make.choices.one(
        (
            [
                make.require(f"{held}[v.src] == v"),
                f"{held}[v.src] = None",
                f"{last} = {mark}(v.granted, v.at, {last}.by - 1)",
            ],
            [make.require(f"{best} != v"), f"{best} = v", f"{held}.fill({make.one('v', 'None', best)})"],
        )
    )
    make.action("drop", (("v", vote),), drop)
    make.claim("invariant", "own", f"all({held}[x] is None or {held}[x].src == x for x in {sort})")
    make.claim("invariant", "low", make.one(f"{best} is None or {best}.at <= {last}.at", f"{last}.at == 0"))
    make.claim("invariant", "own_is_new", f"all({new}(x).src == x and {own}(x) != {new}(x) for x in {sort})")
    make.claim("witness", "full", f"all({held}[x] is not None for x in {sort}) and {last}.granted")


ANSWERS: tuple[Piece, ...] = (ballots, holders)
