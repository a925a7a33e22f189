"""After each step the image is rebuilt twice, from the log and from a snapshot, and compared with the controller's."""

from __future__ import annotations

from typing import Any

from impl.metadata.image import Image
from impl.metadata.log import replay
from impl.metadata.snapshot import decode, encode, load, snapshot
from impl.scenario.session import ScenarioSession

TABLES = (
    *("streams", "ranges", "stream_objects", "set_objects", "nodes", "entries", "objects", "kv", "brokers"),
    *("topics", "partitions", "ids", "opened_on"),
)


def check_replay(session: ScenarioSession, _: int) -> str | None:
    """The first table in which a rebuilt image differs, in words; None if there is none.

    As built, a snapshot has no failover flag (AM-02); the flags are left out then.
    """
    log, as_built = session.controller.log, session.controller.profile.as_built
    whole = log.begin == 0  # else a controller took over with a snapshot (AM-02)
    problem = _compare("the log", session.controller.image, replay(log.batches)) if whole else None
    if problem is not None:
        return problem
    rebuilt = load(decode(encode(snapshot(session.controller.image, as_built))))
    return _compare("a snapshot", session.controller.image, rebuilt, flags="AM-02" not in as_built)


def _compare(source: str, image: Image, rebuilt: Image, *, flags: bool = True) -> str | None:
    for name in TABLES:
        ours, theirs = _rows(image, name, flags=flags), _rows(rebuilt, name, flags=flags)
        if ours != theirs:
            key = next(key for key in {**ours, **theirs} if ours.get(key) != theirs.get(key))
            return f"the image that {source} makes has {name}[{key}] = {theirs.get(key)}, not {ours.get(key)}"
    return None


def _rows(image: Image, name: str, *, flags: bool) -> dict[Any, Any]:
    """The rows of a table. An empty row is left out: it means the same as a missing one."""
    rows = {key: row for key, row in getattr(image, name).items() if row != {}}
    if name == "nodes" and not flags:
        return {key: row.epoch for key, row in rows.items()}
    return rows
