"""Small protocols with whole maps: quorums, tables that an action gets at once, and starts that choose a map."""

from __future__ import annotations

from tests.differential.vocabulary import BOOL, optional
from tests.generated.setting import Piece, Setting


def quorum(make: Setting) -> None:
    """Members vote, and a set of them decides."""
    sort = make.sort()
    kind = make.one(BOOL, sort)
    none = "False" if kind == BOOL else "None"
    vote = make.field("vote", (sort,), BOOL if kind == BOOL else optional(sort), none)
    kept = make.field("kept", (sort,), BOOL, "False")
    given = make.one("n != m", f"{kept}[n]", "True") if kind == BOOL else "m"
    own = make.require(f"not {vote}[n]" if kind == BOOL else f"{vote}[n] is None")
    make.action("cast", (("n", sort), ("m", sort)), [own, f"{vote}[n] = {given}"])
    enough = make.helper(
        "enough",
        (("members", f"Rel[{sort}]"),),
        "bool",
        [
            make.one(
                f"return count(members[x] for x in {sort}) >= {make.choices.below(3)}",
                f"return any(members[x] and members[y] and x != y for x in {sort} for y in {sort})",
                f"return not all(members[x] == {kept}[x] for x in {sort})",
            )
        ],
    )
    agreed = f"{vote}[x]" if kind == BOOL else f"{vote}[x] == n"
    decide = [make.require(f"{enough}(quorum)"), make.require(f"all({agreed} for x in quorum)")]
    store = make.choices.one(
        (
            [f"for x in {sort}:", f"    {kept}[x] = quorum[x]"],
            ["for x in quorum:", f"    {kept}[x] = True"],
            ["if quorum[n]:", f"    {kept}[n] = not {kept}[n]"],
        )
    )
    make.action("decide", (("quorum", f"Rel[{sort}]"), ("n", sort)), [*decide, *store])
    make.claim("invariant", "few", f"count({kept}[x] for x in {sort}) <= {make.choices.below(3)}")
    make.claim("witness", "all", f"all({kept}[x] for x in {sort})")


def table(make: Setting) -> None:
    """An action gets a whole table, and reads it at keys that the state holds."""
    sort, nat = make.sort(), make.nat()
    held = make.one(sort, nat) if (make.sizes[nat] + 1) ** make.sizes[sort] <= 9 else sort
    value = make.one(held, optional(held)) if make.sizes[sort] <= 2 else held
    at = make.field("at", (), optional(sort), "None")
    got = make.field("got", (sort,), optional(held), "None")
    body = make.choices.one(
        (
            [
                f"v = {at}",
                "if v is not None:",
                f"    {got}[n] = table[v]",
                "else:",
                f"    {at} = n",
            ],
            [make.require(f"table[n] != {got}[n]"), f"for x in {sort}:", f"    {got}[x] = table[x]"],
            [
                make.require(f"{at} is None or table[{at}] == {got}[n]"),
                f"{at} = n",
                f"{got}[n] = table[n]",
            ],
        )
    )
    make.action("fill", (("table", f"Map[{sort}, {value}]"), ("n", sort)), body)
    few = make.sizes[sort] * (make.sizes[nat] + 1) <= 4
    marks, others = (f"Rel[{sort}, {nat}]", f", {nat}(0)") if few else (f"Rel[{sort}]", "")
    clear = [make.require(f"marks[n{others}]"), f"{at} = None"]
    if make.choices.chance(50):
        clear += [f"for x in {sort}:", f"    if marks[x{others}]:", f"        {got}[x] = None"]
    make.action("clear", (("marks", marks), ("n", sort)), clear)
    make.claim("invariant", "some", f"{at} is None or any({got}[x] is None for x in {sort})")
    make.claim("witness", "full", f"all({got}[x] is not None for x in {sort})")


def chosen(make: Setting) -> None:
    """The start chooses a map and a relation."""
    sort, nat = make.sort(), make.nat()
    kind = make.one(sort, optional(sort), BOOL)
    place = make.field("place", (sort,), kind, "True")
    near = make.field("near", (sort,), BOOL, "True")
    clock = make.field("clock", (), nat, f"{nat}(0)")
    make.start[:2] = [f"{place}.choose()", f"{near}.choose()"]
    if make.choices.chance(60):
        cond = make.one(f"any({near}[x] for x in {sort})", f"all({place}[x] == {place}[y] or {near}[x] for x in {sort}"
                        f" for y in {sort})")  # fmt: skip
        make.start.append(make.require(cond))
    move = make.choices.one(
        (
            [make.require(f"{near}[n] and {place}[n] != {place}[m]"), f"{place}[n] = {place}[m]"],
            [f"{near}[n] = {place}[m] == {place}[n]", f"{clock} += 1"],
            [f"if {near}[m]:", f"    {place}[m] = {place}[n]", "else:", f"    {clock} += 1"],
        )
    )
    make.action("move", (("n", sort), ("m", sort)), move)
    make.claim("invariant", "apart", f"any({place}[x] != {place}[y] or x == y for x in {sort} for y in {sort})")
    make.claim("witness", "far", f"not any({near}[x] for x in {sort}) or {clock} > 0")


def copies(make: Setting) -> None:
    """Messages in a bag: they are sent again, lost and received."""
    sort, nat = make.sort(), make.nat()
    sent = make.bag("sent", sort, nat)
    got = make.field("got", (sort,), BOOL, "False")
    guard = make.one(f"n not in {sent}", f"n in {sent} or n not in {got}", f"{sent}[n] < e")
    make.action("send", (("n", sort), ("e", nat)), [make.require(guard), f"{sent}.add(n)"])
    receive = make.choices.one(
        (
            [make.require(f"n in {sent}"), f"{sent}.remove(n)", f"{got}[n] = n not in {sent}"],
            [f"{sent}.remove(n)", f"{got}[n] = n in {sent}"],
            [f"for x in {sent}:", "    if x != n:", f"        {sent}.remove(x)", f"{got}[n] = True"],
        )
    )
    make.action("receive", (("n", sort),), receive)
    if make.choices.chance(40):
        make.action(
            "lose", (("lost", f"Rel[{sort}]"),), [f"for x in {sent}:", "    if x in lost:", f"        {sent}.remove(x)"]
        )
    make.claim("invariant", "few", f"sum({sent}[x] for x in {sort}) <= {make.choices.between(1, 3)}")
    make.claim(
        "step",
        "one",
        make.one(
            f"all(x in {sent} or x in {got} for x in {sent.replace('self', 'old')})",
            f"count(x in {sent} for x in {sort}) < 3",
        ),
    )
    make.claim("witness", "twice", f"any({sent}[x] > 1 or x in {got} for x in {sent})")


MAPS: tuple[Piece, ...] = (quorum, table, chosen, copies)
