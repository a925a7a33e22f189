"""Small protocols with features that engines once got wrong: each function writes fields, actions and properties.

Each piece draws its variations: a condition, a literal, the form of a test. Most properties of the pieces hold in small
scopes, and some in all; a proof must not claim a property that is false in larger scopes.
"""

from __future__ import annotations

from tests.differential.bodies import indented
from tests.differential.vocabulary import BOOL, Field, optional
from tests.generated.setting import Params, Piece, Setting

FAR = (2**31, 2**32, 2**33 + 1, 2**62, 2**63, 2**64)
"""Numbers near the limits of words."""


def mostly_true(make: Setting, clock: str, at: str, sort: str, nat: str) -> str:
    """A condition over a Nat that is mostly always true; ``e`` is a parameter of that Nat, ``at`` a map to it."""
    low, high, far = make.choices.between(1, 3), make.choices.between(0, 4), make.choices.one(FAR)
    return make.one(
        f"{clock} > -{low}",
        f"-{low} < {clock}",
        f"e >= -{low}",
        f"{clock} != -{low}",
        f"{clock} + 1 > -{low}",
        f"max(({at}[x] for x in {sort} if x != n), default=-{low}) >= -{low}",
        f"min(({at}[x] for x in {sort}), default={nat}({high})) <= {nat}({high})",
        f"max((t for t in {nat} if t >= {clock}), default={nat}(0)) >= {clock}",
        f"max((max(({at}[x] for x in {sort}), default=-1) for y in {sort} if y != m), default=-{low}) < {high}",
        f"max((max((t for t in {nat} if t <= u), default={nat}(0)) for u in {nat}), default={nat}(0)) >= e",
        f"min(({at}[x] for x in {sort} if {at}[x] > {nat}(0)), default=e) >= -{low}",
        f"e * {far} >= 0",
        f"e * {far} < {far} * 5",
        f"e * {far} + e * {far} >= e",
        f"e < {far}",
        f"e != {nat}({far})",
        f"e <= {nat}({high})",
        f"not any(t > {nat}({high}) for t in {nat})",
        f"count({at}[x] == {at}[y] for x in {sort} for y in {sort} if x != y) >= {high}",
        f"count({at}[x] == e for x in {sort}) >= {low}",
        f"sum({at}[x] for x in {sort}) >= 0",
        f"abs({clock} - e) <= {high}",
        f"max({clock}, e, {nat}({low})) >= {nat}({low})",
    )


def stain(make: Setting) -> None:
    """A bad effect on two elements if a condition holds; most of the conditions always hold."""
    sort, nat = make.sort(), make.nat()
    clock = make.field("clock", (), nat, f"{nat}(0)")
    bad = make.field("bad", (sort,), BOOL, "False")
    at = make.field("at", (sort,), nat, f"{nat}(0)") if make.choices.chance(50) else clock
    cond = mostly_true(make, clock, at, sort, nat)
    if at == clock:
        cond = cond.replace(f"{clock}[x]", clock).replace(f"{clock}[y]", clock)
        moved = make.one(f"{clock} = e", f"{clock} = {clock} + 1", f"{clock} = max(e, {clock})")
        make.action("tick", (("e", nat),), [make.require(f"e > {clock}"), moved])
    else:
        make.action("put", (("n", sort), ("e", nat)), [make.require(f"e >= {at}[n]"), f"{at}[n] = e"])
    body = [make.require(cond), make.require("n != m" if make.choices.chance(70) else "n != m or n == m")]
    if make.choices.chance(50):
        body += [f"if {clock} == {nat}(0):", f"    {bad}[n] = True"]
    else:
        body += [f"{bad}[m] = True"]
    params = (("n", sort), ("m", sort), ("e", nat)) if "e" in cond.replace("self", "") else (("n", sort), ("m", sort))
    make.action("go", params, body)
    make.claim("invariant", "quiet", f"not any({bad}[x] for x in {sort})")
    make.claim("step", "kept", f"all({bad}[x] for x in {sort} if {bad.replace('self', 'old')}[x])")


def tell_apart(make: Setting) -> None:
    """A parameter that differs from a field of its type, in an action whose name is not taken."""
    sort, nat = make.sort(), make.nat()
    clock, bad = make.field("clock", (), nat, f"{nat}(0)"), make.field("bad", (sort,), BOOL, "False")
    test = make.one(f"e != {clock}", f"e > {clock}", f"e == {clock} and n != m", f"{clock} + 1 == e")
    body = [make.require(make.one("n != m", "n != m or m == n")), f"if {test}:", f"    {bad}[n] = True"]
    if make.number == 1 and test == f"e != {clock}":
        # The parameter has the field's name.
        name = clock.removeprefix("self.")
        body[1] = f"if {name} != {clock}:"
        make.action("self", ((name, nat), ("n", sort), ("m", sort)), body, exact=True)
    else:
        make.action("go", (("e", nat), ("n", sort), ("m", sort)), body)
    if make.choices.chance(50):
        make.action("move", (("e", nat),), [f"{clock} = {make.one('e', f'{clock} + 1', f'{nat}(0)')}"])
    make.claim("invariant", "quiet", f"not any({bad}[x] for x in {sort})")
    make.claim("step", "rises", f"{clock} >= {clock.replace('self', 'old')}")


def members(make: Setting) -> None:
    """The greatest member of a relation that starts full, over a Nat that is mostly used in arithmetic."""
    nat, sort = make.nat(), make.sort()
    rel = make.field("rel", (nat,), BOOL, make.one("True", "True", "False"))
    clock = make.field("clock", (), nat, f"{nat}(0)")
    make.action("tick", (), [f"{clock} = {clock} + 1"] if make.choices.chance(70) else [f"{clock} = {nat}(1)"])
    if make.choices.chance(50):
        make.action("leave", (("e", nat),), [f"{rel}[e] = {make.one('True', 'False')}"])
    most = make.choices.between(1, 4)
    fold = make.one(
        f"max((t for t in {nat} if {rel}[t]), default={nat}(0)) <= {nat}({most})",
        f"max((t for t in {nat} if {rel}[t]), default=-1) <= {most}",
        f"min((t for t in {nat} if {rel}[t]), default={nat}(0)) <= {nat}({most})",
        f"max((t for t in {nat} if {rel}[t] or t == {clock}), default={nat}(0)) >= {clock}",
        f"max((max((u for u in {nat} if {rel}[u] and u <= t), default={nat}(0)) for t in {nat}), default=-1) <= {most}",
        f"max((max((t for t in {nat} if {rel}[t]), default=-1) for x in {sort}), default=-1) <= {most}",
        f"max(({nat}(1) for x in {sort} if {rel}[{nat}(0)]), default={nat}(0)) >= {clock}",
        f"max(({nat}(1) for k in Mode), default={nat}(0)) >= {clock}",
        f"count({rel}[t] for t in {nat}) <= {most}",
    )
    make.claim("invariant", "small", fold)


def both(make: Setting) -> None:
    """A helper compares two Optionals once neither is None."""
    kind, key = make.one(make.sort(), make.nat()), make.sort()
    single = make.choices.chance(60)
    if single:
        left = make.field("left", (), optional(kind), "None")
        right = make.field("right", (), optional(kind), "None")
    else:
        held = make.field("held", (key,), optional(kind), "None")
        left, right = f"{held}[n]", f"{held}[m]"
    met = make.field("met", (), BOOL, "False")
    params: Params = () if single else (("n", key), ("m", key))
    body = make.choices.one(
        (["return n == m"], ["if n == m:", "    return True", "return False"], ["return not n != m"])
    )
    same = make.helper("same", (("n", kind), ("m", kind)), "bool", body)
    test = make.one(
        f"{left} is not None and {right} is not None and {same}({left}, {right})",
        f"{right} is not None and {left} is not None and {same}({left}, {right})",
        f"not ({left} is None or {right} is None) and {same}({left}, {right})",
        f"{left} is not None and ({right} is not None and {same}({right}, {left}))",
        f"{left} is not None and {right} is not None and {left} == {right}",
    )
    then = [f"{met} = True"]
    make.action(
        "go", params, [make.require(test), *then] if make.choices.chance(70) else [f"if {test}:", *indented(then)]
    )
    put = [f"{left} = v"] if single else [f"{held}[n] = v"]
    make.action("put", (("v", kind),) if single else (("n", key), ("v", kind)), put)
    if single and make.choices.chance(50):
        make.action("take_up", (("v", kind),), [f"{right} = v"])
    if make.choices.chance(40):
        make.action("forget", params, [f"{left} = None"])
    make.claim("invariant", "never_met", f"not {met}")
    if single:
        make.claim("invariant", "told", f"{left} is not None or {right} is not None or not {met}")
        make.claim("step", "lasting", f"self.left{make.number} == old.left{make.number} or {left} is not None")


def ghosts(make: Setting) -> None:
    """History in ghosts, partly through a local; a computed number must not be stored in a ghost."""
    nat, sort = make.nat(), make.sort()
    done, when = make.field("done", (), BOOL, "False"), make.field("when", (), nat, f"{nat}(0)")
    last = make.field("last", (), optional(nat), "None", ghost=True)
    seen = make.field("seen", (sort,), BOOL, "False", ghost=True)
    other = make.field("other", (nat,), optional(nat), "None", ghost=True) if make.choices.chance(30) else ""
    note = make.helper("note", (("v", optional(nat)),), "None", [f"{last} = v"])
    value = "e + 1" if make.choices.chance(20) else "e"
    written = make.choices.weighted(
        [
            (2, [f"{last} = e"]),
            (2, [f"x: {nat} | None = {value}", f"{last} = x"]),
            (2, [f"{note}({value})"]),
            (1, [f"{last} = {last}"]),
        ]
    )
    more = [f"if {last} is None:", f"    {seen}[n] = True"] if make.choices.chance(40) else [f"{seen}[n] = True"]
    more += [f"{other}[e] = {last}"] if other else []
    body = [f"{when} = e", *written, *more, f"{done} = True"]
    make.action("go", (("e", nat), ("n", sort)), body)
    make.claim("invariant", "low", f"{when} < {nat}({make.choices.between(1, 3)})")
    if make.choices.chance(60):
        make.claim("invariant", "noted", f"not {done} or {last} is not None")
    if make.choices.chance(30):
        make.claim("final", "ended", make.one(f"any({seen}[x] for x in {sort})", f"{last} is not None", f"{done}"))
    if make.choices.chance(40):
        make.claim(
            "leads_to", "comes", f"not {done}, {make.one(done, f'{seen}[n]')}", (("n", sort),), "tuple[bool, bool]"
        )


def late(make: Setting) -> None:
    """A computed number passes through an Optional local; the compiler must refuse it as a key."""
    nat = make.nat()
    clock, rel = make.field("clock", (), nat, f"{nat}(0)"), make.field("rel", (nat,), BOOL, "False")
    value = f"e {make.one('+', '-')} {make.choices.between(1, 2)}"
    used = f"{rel}[x] = True" if make.choices.chance(20) else f"{clock} = x"
    body = make.choices.one(
        (
            [f"x: {nat} | None = {value}", "if x is not None:", f"    {used}"],
            [f"x: {nat} | None = (e if e > {nat}(0) else None)", "if x is None:", "    return", used],
            [f"{clock} = {value}", f"{rel}[{clock}] = True"],
        )
    )
    make.action("go", (("e", nat),), body)
    make.claim("invariant", "unmarked", f"not any({rel}[t] for t in {nat} if t > {clock})")
    make.claim("witness", "moved", f"{clock} == {nat}({make.choices.between(0, 3)})")


def work(make: Setting) -> None:
    """Each request is served eventually, if the server is fair."""
    sort, nat = make.sort(), make.nat()
    asked, done = make.field("asked", (sort,), BOOL, "False"), make.field("done", (sort,), BOOL, "False")
    on = make.field("on", (), BOOL, make.one("True", "False")) if make.choices.chance(60) else ""
    clock = make.field("clock", (), nat, f"{nat}(0)") if make.choices.chance(30) else ""
    ask = [
        make.require(f"not {asked}[n]"),
        f"{asked}[n] = True",
        *([f"{done}[n] = False"] if make.choices.chance(50) else []),
    ]
    make.action("ask", (("n", sort),), ask)
    body = [make.require(f"{asked}[n]"), *([make.require(on)] if on else [])]
    body += [f"{clock} = {clock} + 1"] if clock else []
    body += [f"{done}[n] = True", *([f"{asked}[n] = False"] if make.choices.chance(60) else [])]
    per = make.one("", ', per=("n",)', ', per=("n",)')
    make.action("serve", (("n", sort),), body, f'@action(fair="{make.one("weak", "strong")}"{per})')
    if on:
        fair = make.one("@action", "@action", '@action(fair="weak")', '@action(idempotent="INV-15")')
        switch = make.action("switch", (), [f"{on} = not {on}"] if "idem" not in fair else [f"{on} = True"], fair)
        if make.choices.chance(30):
            make.budgets[switch] = make.choices.below(3)
    ways = [f"{asked}[n], {done}[n]", f"{asked}[n], not {asked}[n]", f"{asked}[n] and not {done}[n], {done}[n]"]
    make.claim("leads_to", "comes", make.choices.one(ways), (("n", sort),), "tuple[bool, bool]")
    if make.choices.chance(30):
        make.claim(
            "leads_to",
            "all_come",
            f"any({asked}[x] for x in {sort}), any({done}[x] for x in {sort})",
            (),
            "tuple[bool, bool]",
        )
    if make.choices.chance(30):
        make.claim("final", "over", f"all({done}[x] for x in {sort})")
    # ``asked`` comes and goes, and ``done`` may stay.
    again = (f"{done}[n]", f"not {asked}[n]", f"{asked}[n] and not {done}[n]", f"{done}[n] or not {asked}[n]")
    for kind in ("always_eventually", "eventually_always"):
        if make.choices.chance(60):
            make.claim(kind, kind.partition("_")[0], make.choices.one(again), (("n", sort),))


def order(make: Setting) -> None:
    """A rule that always holds stands before one that does not."""
    first, second = make.sort(), make.sort()
    rel = make.field("rel", (first,), BOOL, "False")
    held = make.field("held", (first,), optional(second), "None")
    well = make.field("well", (second,), BOOL, make.one("True", "True", "False"))
    rules = [make.require(f"{well}[v]"), make.require(f"not {rel}[n]")]
    if make.choices.chance(50):
        rules.reverse()
    make.action("go", (("n", first), ("v", second)), [*rules, f"{rel}[n] = True", f"{held}[n] = v"])
    make.action("undo", (("v", second),), [f"{well}[v] = True"])
    make.claim("invariant", "kept", f"all({held}[x] is not None for x in {first} if {rel}[x])")
    make.claim("witness", "full", f"all({rel}[x] for x in {first})")


def alarm(make: Setting) -> None:
    """A clock runs to its end, which may be a final state or a deadlock."""
    nat, most = make.nat(), make.choices.between(0, 3)
    clock = make.field("clock", (), nat, f"{nat}(0)")
    cond = make.one(f"e == {clock} + 1", f"e > {clock}", f"e >= {clock}")
    make.action("tick", (("e", nat),), [make.require(f"{cond} and {clock} < {nat}({most})"), f"{clock} = e"])
    exact = make.number == 1 and cond == f"e == {clock} + 1"
    name = "deadlock" if exact else "silent"
    make.claim(make.one("invariant", "lemma"), name, f"{clock} != {nat}({make.choices.between(0, 3)})", exact=exact)
    make.claim("final", "over", f"{clock} == {nat}({make.choices.between(0, 3)})")
    make.claim(f'step(of="tick{make.number}")', "up", f"e > {clock.replace('self', 'old')}", (("e", nat),))


def placed(make: Setting) -> None:
    """A given constant, perhaps alone, with an assumption that larger scopes keep."""
    sort, kind = make.sort(), make.sort()
    home = f"self.home{make.number}"
    make.fields.append(Field(home.removeprefix("self."), (sort,), kind, given=True))
    values = "".join(f"{make.choices.below(make.sizes[kind])}, " for _ in range(make.sizes[sort]))
    make.given[home.removeprefix("self.")] = f"({values})"
    body = [make.require(f"{home}[n] == v")]
    if make.choices.chance(75):
        on = make.field("on", (kind,), BOOL, "False")
        body += [f"{on}[v] = True"]
        make.claim("invariant", "homes", f"all(any({home}[x] == v for x in {sort}) for v in {kind} if {on}[v])")
        make.claim("leads_to", "lit", f"{home}[n] == v, {on}[v]", (("n", sort), ("v", kind)), "tuple[bool, bool]")
    else:
        make.claim(
            "leads_to", "comes", f"{home}[n] == v, {home}[n] != v", (("n", sort), ("v", kind)), "tuple[bool, bool]"
        )
    make.action("light", (("n", sort), ("v", kind)), body, '@action(fair="weak", per=("n", "v"))')
    make.claim("invariant", "one_home", f"any({home}[x] == v for x in {sort} for v in {kind})")
    if make.choices.chance(30):
        make.claim("assume", "shared", f"all({home}[x] == {home}[y] for x in {sort} for y in {sort})")


def counting(make: Setting) -> None:
    """Budgets: whether a property is violated depends on how often an action may happen."""
    nat, sort = make.nat(), make.sort()
    gone = make.field("gone", (), nat, f"{nat}(0)")
    lost = make.field("lost", (sort,), BOOL, "False")
    lose = make.action(
        "lose", (("n", sort),), [make.require(f"not {lost}[n]"), f"{lost}[n] = True", f"{gone} = {gone} + 1"]
    )
    make.budgets[lose] = make.choices.between(0, 3)
    if make.choices.chance(60):
        make.action("find", (("n", sort),), [make.require(f"{lost}[n]"), f"{lost}[n] = False"])
    make.claim("invariant", "few", f"count({lost}[x] for x in {sort}) < {make.choices.between(1, 3)}")
    make.claim("invariant", "rare", f"{gone} < {nat}({make.choices.between(1, 3)})")


def repeated(make: Setting) -> None:
    """Actions that claim to be idempotent; some of them are."""
    nat, sort = make.nat(), make.sort()
    held = make.field("held", (sort,), optional(nat), "None")
    body = make.choices.one(
        (
            [f"{held}[n] = e"],
            [make.require(f"{held}[n] is None"), f"{held}[n] = e"],
            [f"v = {held}[n]", "if v is not None and v == e:", f"    {held}[n] = None", "else:", f"    {held}[n] = e"],
            [f"v = {held}[n]", "if v is None:", f"    {held}[n] = e", "    return", f"{held}[n] = None"],
        )
    )
    make.action("set", (("n", sort), ("e", nat)), body, '@action(idempotent="INV-15")')
    make.claim("witness", "all_set", f"all({held}[x] is not None for x in {sort})")


def pairs(make: Setting) -> None:
    """A relation with three keys, two of them of one type."""
    sort, kind = make.sort(), make.one(make.sort(), make.nat(), "Mode")
    if make.sizes[sort] ** 2 * make.sizes.get(kind, 3) > 8:
        kind = sort
    keys = (sort, sort) if make.sizes[sort] > 2 else (sort, kind, sort)
    rel = make.field("rel", keys, BOOL, "False")
    cell, back = ("[n, m]", "[m, n]") if len(keys) == 2 else ("[n, v, m]", "[m, v, n]")
    params: Params = (("n", sort), ("m", sort), *((("v", kind),) if len(keys) == 3 else ()))
    make.action("link", params, [make.require(f"not {rel}{back}"), f"{rel}{cell} = True"])
    over = " ".join(f"for {name} in {of}" for name, of in params)
    make.claim("invariant", "one_way", f"all(not {rel}{back} {over} if {rel}{cell} and n != m)")
    make.claim("invariant", "none_to_itself", f"all(n != m {over} if {rel}{cell})")
    make.claim("step", "lasting", f"all({rel}{cell} {over} if {rel.replace('self', 'old')}{cell})")


PIECES: tuple[Piece, ...] = (
    stain, stain, stain, tell_apart, tell_apart, members, members, both, both, ghosts, ghosts, late, work, work, work,
    order, alarm, alarm, placed, counting, repeated, pairs,
)  # fmt: skip
