"""Small protocols with sequences: queues, logs that are copied and cut back, and sequences at computed keys."""

from __future__ import annotations

from tests.differential.bodies import indented
from tests.differential.vocabulary import BOOL, optional
from tests.generated.setting import Piece, Setting


def queue(make: Setting) -> None:
    """One queue, which takes requests at its end and serves them from its front."""
    sort, index = make.sort(), make.nat()
    entry = make.one(sort, BOOL, index) if make.sizes[index] <= 2 else BOOL
    waiting = make.sequence("waiting", (), entry, index)
    served = make.field("served", (), optional(entry), "None")
    asked = {sort: "n", BOOL: f"{waiting}.first is None", index: make.one("e", f"{index}(0)", "e + 1", f"{waiting}[e]")}
    params = (("n", sort), ("e", index))
    value = asked[entry]
    twice = f"v not in {waiting}" if entry != BOOL else f"len({waiting}) != {waiting}[0]" if entry == index else "True"
    body = [f"{waiting}.append({value})"]
    if value == f"{waiting}[e]":
        body = [
            f"v = {waiting}[e]",
            "if v is not None:",
            f"    {waiting}.append(v)",
            "else:",
            f"    {waiting}.append(e)",
        ]
    elif entry == sort and make.choices.chance(40):
        body = [make.require(twice.replace("v", value, 1)), *body]
    make.action("ask", params, body)
    serve = make.choices.one(
        (
            [f"{served} = {waiting}.first", f"{waiting}.pop_first()"],
            [make.require(f"{waiting}.first is not None"), f"{served} = {waiting}[0]", f"{waiting}.pop_first()"],
            [f"{waiting}.pop_first()", f"{served} = {waiting}.first"],
            [f"if len({waiting}) > 1:", f"    {waiting}.pop_first()", "else:", f"    {served} = {waiting}.last"],
        )
    )
    make.action("serve", (), serve)
    if make.choices.chance(50):
        kept = make.one("e", f"len({waiting}) - 1", "1", "e - 1", f"max(e, len({waiting}) - 1)")
        make.action("drop", (("e", index),), [make.one(f"{waiting}.truncate({kept})", f"{waiting}.clear()")])
    make.claim("invariant", "packed", _packed(waiting, index))
    old = waiting.replace("self", "old")
    make.claim(
        "step",
        "moved",
        make.one(
            f"len({waiting}) <= len({old}) + 1",
            f"{waiting}.starts_with({old}) or {old}.starts_with({waiting}) or {waiting}.first == {old}[1]",
            f"{waiting} != {old} or {waiting}.last == {old}.last",
        ),
    )
    make.claim("witness", "full", f"len({waiting}) == {index}.last and {waiting}.first != {waiting}.last")


def logs(make: Setting) -> None:
    """A log for each element: others copy it, and it may lose its end."""
    sort, index = make.sort(), make.nat()
    entry = make.one(BOOL, sort) if make.sizes[sort] * make.sizes[index] <= 4 else BOOL
    log = make.sequence("log", (sort,), entry, index)
    params = (("n", sort), ("m", sort), ("e", index))
    value = (
        make.one("n", "m") if entry == sort else make.one("n == m", f"{log}[m] == {log}[n]", f"{log}[n].last is None")
    )
    own = "x" if entry == sort else f"{log}[x].last is None"
    grow = make.choices.one(
        (
            [f"{log}[n].append({value})"],
            [f"for x in {sort}:", f"    {log}[x].append({own})"],
            [f"if {log}[n] == {log}[m] and n != m:", f"    {log}[n].append({value})"],
            [
                f"v = {log}[n].last",
                "if v is None:",
                f"    {log}[n].append({value})",
                "else:",
                f"    {log}[m].append(v)",
            ],
        )
    )
    make.action("grow", params[:2], grow)
    follow = [f"{log}[n] = {log}[m]"]
    if make.choices.chance(60):
        follow = [make.require(f"{log}[m].starts_with({log}[n])"), *follow]
    make.action("follow", params[:2], follow)
    lose = make.choices.one(
        (
            [f"{log}[n].truncate(e)"],
            [f"{log}[n].truncate(len({log}[n]) - 1)"],
            [f"{log}[n].pop_first()"],
            [make.require(f"{log}[n][e] is not None"), f"{log}[n].truncate(e)"],
            [f"if {log}[n][e - 1] == {log}[m][e - 1]:", *indented([f"{log}[n].clear()"])],
        )
    )
    make.action("lose", params, lose)
    helper = make.helper("top", (("n", sort), ("e", index)), optional(entry), [f"return {log}[n][len({log}[n]) - 1]"])
    if make.choices.chance(40):
        make.action(
            "all_empty",
            (("e", index),),
            [make.require(f"any({log}[x][e] is not None for x in {sort})"), f"{log}.clear()"],
        )
    make.claim("invariant", "packed", f"all({_packed(f'{log}[x]', index)} for x in {sort})")
    make.claim(
        "invariant",
        "agree",
        make.one(
            f"all({log}[x] == {log}[y] or {log}[x] != {log}[y] for x in {sort} for y in {sort})",
            f"all({log}[x].starts_with({log}[y]) or {log}[y].starts_with({log}[x]) for x in {sort} for y in {sort})",
            f"all({helper}(x, t) == {log}[x].last for x in {sort} for t in {index})",
            f"all({log}[x][t] == {log}[y][t] for x in {sort} for y in {sort} for t in {index})",
            f"all({log}[x][t + 1] is None or {log}[x][t] is not None for x in {sort} for t in {index})",
            f"all(({log}[x][t - 1] is None) == (t > len({log}[x])) for x in {sort} for t in {index} if t > 0)",
        ),
    )
    old = log.replace("self", "old")
    make.claim("step", "kept", f"all({log}[x].starts_with({old}[x]) or len({log}[x]) < len({old}[x]) for x in {sort})")
    make.claim("witness", "grown", f"any(len({log}[x]) == {make.choices.between(1, 2)} for x in {sort})")


def rows(make: Setting) -> None:
    """Sequences at computed keys, which may lie beyond their bound."""
    nat = make.nat()
    if make.sizes[nat] > 2:
        nat = make.words.nats[-1]
    row = make.sequence("row", (nat,), BOOL, nat)
    at = make.one("e + 1", "e - 1", f"len({row}[e])", f"len({row}[e]) - 1")
    change = make.one(f"{row}[{at}].append({row}[e][0] is None)", f"{row}[{at}].truncate(1)", f"{row}[{at}].clear()")
    make.action("change", (("e", nat),), [change])
    body = make.one(f"{row}[e].append({row}[e + 1].last is None)", f"{row}[e] = {row}[{at}]", f"{row}[{at}] = {row}[e]")
    make.action(
        "copy", (("e", nat),), [make.require(f"{row}[e].last is None or {row}[e].first == {row}[e].last"), body]
    )
    make.action("fill", (("e", nat),), [f"{row}[e].append(len({row}[e]) == e)"])
    make.claim("invariant", "packed", f"all({_packed(f'{row}[t]', nat)} for t in {nat})")
    make.claim(
        "invariant",
        "above",
        make.one(
            f"all(len({row}[t + 1]) >= 0 for t in {nat} if t < {make.sizes[nat]})",
            f"all(True in {row}[t - 1] or t == 1 for t in {nat} if t > 0)",
        ),
    )
    make.claim("witness", "mixed", f"any(True in {row}[t] and False in {row}[t] for t in {nat})")


def _packed(sequence: str, index: str) -> str:
    """A sequence has entries below its length, and none from there on."""
    return f"all(({sequence}[i] is not None) == (i < len({sequence})) for i in {index})"


def messages(make: Setting) -> None:
    """Messages that are records: asked by anyone, answered once, lost in a loop."""
    sort, nat = make.sort(), make.nat()
    ask = make.record("Ask", {"src": sort, "when": nat})
    asks = make.field("asks", (ask,), BOOL, "False", of_records=True)
    at = make.field("at", (sort,), nat, f"{nat}(0)")
    when = make.one(f"{at}[n]", "e", "e + 1", f"{at}[n] + 1")
    helper = make.helper("late", (("m", ask), ("n", sort)), "bool", [f"return m.when < {at}[n]"])
    body = make.choices.one(
        (
            [f"{asks}[{ask}(n, {when})] = True"],
            [f"m = {ask}(when={when}, src=n)", f"{asks}[m] = {make.one('True', 'm.src == n', f'not {asks}[m]')}"],
            [make.require(f"all(m.src != n or {helper}(m, n) for m in {asks})"), f"{asks}[{ask}(n, e)] = True"],
        )
    )
    make.action("ask", (("n", sort), ("e", nat)), body)
    take = make.choices.one(
        (
            [make.require(f"{asks}[m] and not {helper}(m, n)"), f"{at}[n] = m.when", f"{asks}[m] = False"],
            [f"if {asks}[m] and m != {ask}(n, {at}[n]):", f"    {at}[m.src] = m.when"],
            [make.require(f"m in {asks}") if make.choices.chance(0) else make.require(f"{asks}[m]"), f"{at}[n] += 1"],
        )
    )
    make.action("take", (("m", ask), ("n", sort)), take)
    lose = make.choices.one(
        (
            [f"for k in {asks}:", "    if k.src == n or k == m:", f"        {asks}[k] = False"],
            [f"for k in {ask}:", f"    {asks}[k] = {asks}[k] and k.when != m.when"],
        )
    )
    make.action("lose", (("n", sort), ("m", ask)), lose)
    claim = make.one(
        f"count(m.when == k.when for m in {asks} for k in {asks} if m != k) <= 2",
        f"all(m.when <= {at}[m.src] or m.when == e for m in {asks} for e in {nat})",
        f"all(m == k or m.src != k.src for m in {asks} for k in {ask} if {asks}[k])",
        f"sum({at}[m.src] for m in {asks}) >= 0",
    )
    make.claim("invariant", "asked", claim)
    old = asks.replace("self", "old")
    make.claim("step", "stays", f"all({asks}[m] or {old}[m] for m in {ask}) or any(k.when == 0 for k in {old})")
    make.claim("witness", "two", f"any(m != k for m in {asks} for k in {asks})")


def entries(make: Setting) -> None:
    """A log of records, and a wire that carries them."""
    sort, nat = make.sort(), make.nat()
    entry = make.record("Entry", {"when": nat, "who": sort})
    log = make.sequence("log", (), entry, nat)
    wire = make.sequence("wire", (), entry, nat)
    clock = make.field("clock", (), nat, f"{nat}(0)")
    new = make.one(f"{entry}({clock}, n)", f"{entry}(who=n, when=e)", f"{entry}({clock} + 1, n)")
    send = [f"v = {new}", make.require(f"v not in {wire}"), f"{wire}.append(v)"]
    make.action("send", (("n", sort), ("e", nat)), send if make.choices.chance(50) else [f"{wire}.append({new})"])
    receive = make.choices.one(
        (
            [
                f"v = {wire}.first",
                f"if v is not None and v != {log}.last:",
                f"    {log}.append(v)",
                f"{wire}.pop_first()",
            ],
            [f"{log} = {wire}", f"{wire}.clear()"],
            [
                f"v = {wire}[e]",
                "if v is not None:",
                f"    {log}.append({entry}(v.when, v.who))",
                "    return",
                f"{clock} = e",
            ],
            [f"if {wire}[e] == {log}[e - 1]:", f"    {wire}.truncate(e)", "else:", f"    {log}.pop_first()"],
        )
    )
    make.action("receive", (("e", nat),), receive)
    top = make.helper("top", (("e", nat),), nat, [f"v = {log}[e]", f"return v.when if v is not None else {nat}(0)"])
    make.action("tick", (("e", nat),), [make.require(f"{top}(e) <= {clock}"), f"{clock} += 1"])
    make.claim("invariant", "packed", _packed(log, nat))
    claim = make.one(
        f"{log} == {wire} or {log} != {wire}",
        f"all({log}[i] is None or {log}[i] != {log}[i + 1] for i in {nat})",
        f"{log}.starts_with({wire}) or len({wire}) > 0",
        f"not {entry}({nat}(0), n) in {wire}".replace("not ", "all(not ") + f" for n in {sort})",
    )
    make.claim("invariant", "logged", claim)
    make.claim("witness", "both", f"{log}.last is not None and {log}.last == {wire}.first")


SEQUENCES: tuple[Piece, ...] = (queue, logs, rows, messages, entries)
