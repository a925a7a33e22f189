"""Compares object stores: the same operations, drawn from a seed, and writers who race for one key.

``python -m tests.impl.store_comparison`` compares the simulator's store with moto's server and Ceph's gateway, and
renews the table in ``docs/stores.md``.
"""

from __future__ import annotations

import logging
import os
import random
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from hashlib import md5
from pathlib import Path

import attrs
import msgspec

from impl.store.interface import (
    Answer,
    Conflict,
    Delete,
    Get,
    List,
    Missing,
    ObjectData,
    ObjectPage,
    ObjectStore,
    Operation,
    Put,
    PutResult,
    Unsure,
)
from impl.store.memory import MemoryStore

OPERATIONS, SEED = 2_000, 1
KEYS = tuple(f"{folder}{number}" for folder in ("", "a/", "a/b/", "c d/") for number in range(4))
SIZES = (0, 1, 2, 100, 5_000)
RACES, RACERS = 40, 8
PAGE = Path(__file__).parents[2] / "docs" / "stores.md"
BEGIN, END = "<!-- table -->", "<!-- end of the table -->"

NOTHING, OWN = "0" * 32, "own"
"""An etag that no object of a run has; and what stands for the etag that the store itself gave to the object."""


@attrs.frozen
class DrawnOperation:
    """An operation, and the situation in which it comes, in words. ``after``: the object of a put's key after it."""

    operation: Operation
    situation: str
    after: bytes | None = None


def drawn(count: int, seed: int) -> Iterator[DrawnOperation]:
    """Operations on a bucket that was empty. What the simulator's store holds decides what the next ones are."""
    chance, store = random.Random(seed), MemoryStore()
    for number in range(count):
        key = chance.choice(KEYS)
        held = store.objects.get(key)
        there = "no object" if held is None else "an object"
        drawing = (_plain_put, _put_new, _put_replacing, _get, _get, _list, _delete)[chance.randrange(7)]
        operation, what = drawing(chance, key, held, number)
        store.execute(msgspec.structs.replace(operation, replaces=_etag(held)) if _is_own(operation) else operation)
        yield DrawnOperation(operation, what.format(there=there), store.objects.get(key))


def _is_own(operation: Operation) -> bool:
    return isinstance(operation, Put) and operation.replaces == OWN


def _etag(held: bytes | None) -> str:
    return md5(held or b"", usedforsecurity=False).hexdigest()


Drawn = tuple[Operation, str]
Held = bytes | None


def _data(chance: random.Random, number: int) -> bytes:
    return (b"%d." % number * 5_000)[: chance.choice(SIZES)]


def _plain_put(chance: random.Random, key: str, _: Held, number: int) -> Drawn:
    return Put(key, _data(chance, number)), "put, {there} there"


def _put_new(chance: random.Random, key: str, _: Held, number: int) -> Drawn:
    return Put(key, _data(chance, number), new=True), "put if there is none, {there} there"


def _put_replacing(chance: random.Random, key: str, held: Held, number: int) -> Drawn:
    if held is None or chance.random() < 0.4:
        return Put(key, _data(chance, number), replaces=NOTHING), "put if the etag is another, {there} there"
    return Put(key, _data(chance, number), replaces=OWN), "put if the etag is the one that the store gave"


def _get(chance: random.Random, key: str, held: Held, _: int) -> Drawn:
    if chance.random() < 0.4:
        return Get(key), "get, {there} there"
    size = len(held or b"")
    begin = chance.choice((0, 1, size // 2, max(0, size - 1), size, size + 10))
    end = chance.choice((None, begin + 1, begin + 50, size + 100))
    end = end if end is None or end > begin else None
    where = "within it" if begin < size else "at its end or beyond" if begin else "from the start of nothing"
    bounded = "without an end" if end is None else "with an end"
    return Get(key, begin, end), f"get a range {bounded}, {where}, {{there}} there"


def _list(chance: random.Random, key: str, _: Held, __: int) -> Drawn:
    folder = chance.choice(("", "a/", "a/b/", "c d/", "none/"))
    if chance.random() < 0.5:
        return List(folder), "list a folder"
    return List(folder, key), "list a folder from a key on"


def _delete(chance: random.Random, key: str, _: Held, __: int) -> Drawn:
    if chance.random() < 0.5:
        return Delete((key,)), "delete, {there} there"
    return Delete(tuple(sorted(chance.sample(KEYS, 3)))), "delete three keys"


def told(answer: Answer) -> str:
    """An answer in words, without the text of an error, which every store words in its own way."""
    match answer:
        case PutResult(etag):
            return f"stored {_short(etag)}"
        case ObjectData(data, etag):
            return f"{len(data)} bytes {_etag(data)[:6]} of {_short(etag)}"
        case ObjectPage(entries, more):
            names = ", ".join(f"{each.key} {each.size}" for each in entries)
            return f"listed {names}{' and more' if more else ''}"
        case Missing() | Conflict() | Unsure():
            return type(answer).__name__.lower()
    return "deleted"


def _short(etag: str) -> str:
    """The begin of an etag, without the quotes that belong to it in HTTP."""
    return etag.strip('"')[:6]


@attrs.frozen
class StoreDifference:
    """A situation in which stores differ. ``times``: how often they did, ``of``: how often it came.

    ``answers``: of the first such operation, by store.
    """

    situation: str
    times: int
    of: int
    answers: dict[str, str]


def differences(
    stores: Mapping[str, ObjectStore], operations: Sequence[DrawnOperation]
) -> tuple[list[StoreDifference], Counter[str]]:
    """The situations in which the answers of the stores are not all equal; and how often each situation came."""
    came: Counter[str] = Counter()
    times: Counter[str] = Counter()
    first: dict[str, dict[str, str]] = {}
    etags: dict[tuple[str, str], str] = {}
    """By store and key: the etag that the store gave last."""

    def execute(name: str, operation: Operation) -> str:
        if isinstance(operation, Put) and _is_own(operation):
            operation = msgspec.structs.replace(operation, replaces=etags[name, operation.key])
        answer = stores[name].execute(operation)
        if isinstance(operation, Put) and isinstance(answer, PutResult):
            etags[name, operation.key] = answer.etag
        return told(answer)

    for each in operations:
        came[each.situation] += 1
        answers = {name: execute(name, each.operation) for name in stores}
        if len(set(answers.values())) > 1:
            times[each.situation] += 1
            first.setdefault(each.situation, answers)
            if isinstance(each.operation, Put):
                # The stores are made equal again, so that one difference does not show as many.
                key = each.operation.key
                for name in stores:
                    execute(name, Delete((key,)) if each.after is None else Put(key, each.after))
    return [StoreDifference(name, times[name], came[name], first[name]) for name in sorted(times)], came


def winners(connect: Callable[[], ObjectStore], *, new: bool) -> Counter[int]:
    """How many of RACERS writers were told that they have put the object, by the number of keys.

    ``new``: each puts if there is none; otherwise each puts if the etag is that of the object that is there.
    """
    found: Counter[int] = Counter()
    stores = [connect() for _ in range(RACERS)]
    for race in range(RACES):
        key = f"race{race} {new}"
        first = None if new else stores[0].execute(Put(key, b"first"))
        etag = first.etag if isinstance(first, PutResult) else None
        puts = [Put(key, b"writer %d" % number, new=new, replaces=etag) for number in range(RACERS)]
        answers: list[Answer] = []
        start = threading.Barrier(RACERS)

        def write(
            pair: tuple[ObjectStore, Put], told: list[Answer] = answers, start: threading.Barrier = start
        ) -> None:
            store, put = pair
            start.wait()
            told.append(store.execute(put))

        threads = [threading.Thread(target=write, args=(pair,)) for pair in zip(stores, puts, strict=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found[sum(isinstance(answer, PutResult) for answer in answers)] += 1
    return found


# The table ------------------------------------------------------------------------------------------------------------


def table(stores: Mapping[str, ObjectStore], races: Mapping[str, Callable[[], ObjectStore]]) -> str:
    """The table of the page. ``races``: connects another writer to a store, for each store that has several."""
    found, came = differences(stores, list(drawn(OPERATIONS, SEED)))
    lines = [
        f"{OPERATIONS:,} operations of seed {SEED}, in {len(came)} situations:",
        "",
        f"| situation | differ | {' | '.join(stores)} |",
        f"|---|---:|{'---|' * len(stores)}",
    ]
    for each in found:
        shown = " | ".join(each.answers[name] for name in stores)
        lines.append(f"| {each.situation} | {each.times} of {each.of} | {shown} |")
    if not found:
        lines.append(f"| all | 0 of {OPERATIONS:,} |{' equal |' * len(stores)}")
    lines += ["", f"{RACERS} writers race for each of {RACES} keys:", "", f"| race | {' | '.join(races)} |"]
    lines.append(f"|---|{'---|' * len(races)}")
    for new, name in ((True, "put if there is none"), (False, "put if the etag is the one that the store gave")):
        lines.append(f"| {name} | {' | '.join(_won(winners(connect, new=new)) for connect in races.values())} |")
    return "\n".join(lines)


def _won(found: Counter[int]) -> str:
    return ", ".join(f"{keys} keys with {number} winner{'s' * (number != 1)}" for number, keys in sorted(found.items()))


def main() -> None:
    """Compare three stores, and renew the page."""
    from moto.server import ThreadedMotoServer  # noqa: PLC0415 - an extra

    from impl.store.s3_boto import create_bucket  # noqa: PLC0415 - an extra
    from impl.store.s3_obstore import ObstoreStore  # noqa: PLC0415 - an extra
    from tests.impl.rados_gateway import CREDENTIALS, GatewayError, rados_gateway  # noqa: PLC0415 - Linux only

    os.environ.update(CREDENTIALS)
    with ExitStack() as running:
        try:
            ceph = running.enter_context(rados_gateway())
        except GatewayError as error:
            sys.exit(f"store_comparison: {error}")
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        server.start()
        running.callback(server.stop)
        moto = f"http://127.0.0.1:{server.get_host_and_port()[1]}"
        for url in (moto, ceph):
            create_bucket("stores", url)
        races: dict[str, Callable[[], ObjectStore]] = {
            name: partial(ObstoreStore, "stores", url) for name, url in (("moto", moto), ("Ceph", ceph))
        }
        stores: dict[str, ObjectStore] = {
            "simulator": MemoryStore(),
            **{name: connect() for name, connect in races.items()},
        }
        text = PAGE.read_text(encoding="utf-8")
        before, _, rest = text.partition(BEGIN)
        after = rest.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n{table(stores, races)}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
