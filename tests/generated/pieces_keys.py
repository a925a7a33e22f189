"""Small protocols whose keys are computed: logs, rings and tables that are read one cell further.

A key beyond its bound cuts a step, and makes a property false. Each engine has its own way to do that.
"""

from __future__ import annotations

from tests.differential.bodies import indented
from tests.differential.vocabulary import BOOL, optional
from tests.generated.setting import Piece, Setting


def log(make: Setting) -> None:
    """A log for each element, which is appended and truncated at its end."""
    sort, nat = make.sort(), make.nat()
    entry = make.one(BOOL, optional(sort)) if make.sizes[sort] * (make.sizes[nat] + 1) <= 4 else BOOL
    length = make.field("length", (sort,), nat, f"{nat}(0)")
    log_ = make.field("log", (sort, nat), entry, "False" if entry == BOOL else "None")
    value = make.one("True", f"{length}[m] == {length}[n]") if entry == BOOL else make.one("n", "m")
    end, last = make.one(f"{length}[n]", f"{length}[n] + 0"), f"{length}[n] - 1"
    append = [f"{log_}[n, {end}] = {value}", f"{length}[n] = {length}[n] + 1"]
    if make.choices.chance(40):
        append = [f"i = {length}[n] + {make.choices.between(0, 1)}", f"{log_}[n, i] = {value}", f"{length}[n] += 1"]
    make.action("append", (("n", sort), ("m", sort)), append)
    empty = "False" if entry == BOOL else "None"
    guard = make.one(
        f"{length}[n] > 0",
        f"{length}[n] > 0 and {_is_set(f'{log_}[n, {last}]', entry)}",
        f"not {length}[n] == 0 and not {_is_set(f'{log_}[n, {last}]', entry)}",
        f"{length}[n] == 0 or {_is_set(f'{log_}[n, {last}]', entry)}",
        f"{_is_set(f'{log_}[n, {last}]', entry)}",
        f"all({_is_set(f'{log_}[x, {length}[x] - 1]', entry)} for x in {sort} if {length}[x] > 0)",
        f"any({_is_set(f'{log_}[x, {length}[x] - 1]', entry)} for x in {sort})",
        f"count({_is_set(f'{log_}[x, {length}[x]]', entry)} for x in {sort} if x != n) == 0",
    )
    body = [make.require(guard), f"{log_}[n, {last}] = {empty}", f"{length}[n] -= 1"]
    make.action("truncate", (("n", sort),), body)
    reached = f"all({_is_set(f'{log_}[x, i]', entry)} for x in {sort} for i in {nat} if i < {length}[x])"
    make.claim("invariant", "filled", reached)
    claim = make.one(
        f"all({_is_set(f'{log_}[x, {length}[x] - 1]', entry)} for x in {sort} if {length}[x] > 0)",
        f"all({_is_set(f'{log_}[x, {length}[x] - 1]', entry)} for x in {sort})",
        f"all({length}[x] == 0 or not {_is_set(f'{log_}[x, {length}[x] - 1]', entry)} for x in {sort})",
        f"all(not {_is_set(f'{log_}[x, {length}[x]]', entry)} for x in {sort})",
    )
    make.claim("invariant", "ended", claim)
    old = length.replace("self", "old")
    make.claim("step", "kept", f"all({length}[x] >= {old}[x] or {old}[x] - 1 == {length}[x] for x in {sort})")
    make.claim("witness", "two", f"any({_is_set(f'{log_}[x, {length}[x] - 2]', entry)} for x in {sort})")


def ring(make: Setting) -> None:
    """A token that moves to the next place, and to the first one after the last."""
    nat = make.nat()
    token = make.field("token", (), nat, f"{nat}(0)")
    seen = make.field("seen", (nat,), BOOL, "False")
    step = make.choices.between(1, 2)
    body = [f"{seen}[{token}] = True"]
    move = make.choices.one(
        (
            [f"{seen}[{token} + {step}] = False", f"{token} = {token} + {step}"],
            [f"if {seen}[{token} + 1]:", f"    {token} = {nat}(0)", "else:", f"    {token} += 1"],
            [f"{token} = {token} + 1 if not {seen}[{token} + {step}] else {nat}(0)"],
            [make.require(f"not {seen}[{token} + {step}]"), f"{token} += 1"],
        )
    )
    make.action("pass_on", (), [*body, *move] if make.choices.chance(70) else [*move, *body])
    make.action("back", (), [f"{seen}[{token} - 1] = {make.one('False', 'True')}"])
    make.claim("invariant", "behind", make.one(f"{token} == 0 or {seen}[{token} - 1]", f"{seen}[{token} - 1]"))
    make.claim("invariant", "ahead", f"not any({seen}[t + 1] for t in {nat} if t >= {token} and t < {make.sizes[nat]})")
    make.claim("witness", "round", f"{token} == 0 and {seen}[{token} + {make.sizes[nat]}]")


def further(make: Setting) -> None:
    """A key that is a cell and something more; a helper hides it, and a loop writes it."""
    sort, nat = make.sort(), make.nat()
    place = make.field("place", (sort,), optional(nat), "None")
    owner = make.field("owner", (nat,), optional(sort), "None")
    more = make.one("1", "e", "-1", f"count({owner}[t] == n for t in {nat})")
    helper = make.helper("free", (("n", sort), ("e", nat)), "bool", [f"return {owner}[e + 1] is None"])
    body = make.choices.one(
        (
            [f"{owner}[e + {more}] = n"],
            [make.require(f"{helper}(n, e)"), f"{owner}[e + 1] = n"],
            [f"if e == {nat}(0) or {helper}(n, e):", *indented([f"{owner}[e] = n"])],
            [f"v = {place}[n]", "if v is not None:", f"    {owner}[v + {more}] = n", "else:", f"    {place}[n] = e"],
            [f"for x in {sort}:", f"    {place}[x] = e if {owner}[e + {more}] == x else None"],
        )
    )
    make.action("go", (("n", sort), ("e", nat)), body)
    if make.choices.chance(50):
        make.action("leave", (("n", sort), ("e", nat)), [f"{owner}[e - 1] = None", f"{place}[n] = None"])
    make.claim("invariant", "once", f"all({owner}[t] != {owner}[t + 1] for t in {nat} if t < {make.sizes[nat]})")
    lone = make.one(
        f"all({owner}[t] is None or {owner}[t - 1] is None for t in {nat} if t > 0)",
        f"all({owner}[t] is None or {owner}[t - 1] is None for t in {nat})",
        f"any({owner}[t + 1] is None for t in {nat})",
    )
    make.claim("invariant", "lone", lone)


def _is_set(cell: str, kind: str) -> str:
    return cell if kind == BOOL else f"{cell} is not None"


KEYED: tuple[Piece, ...] = (log, log, log, ring, ring, further, further)
