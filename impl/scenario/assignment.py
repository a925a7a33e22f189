"""The operations on brokers and partitions (reassignment.md 2, 4, 6, 7)."""

from __future__ import annotations

from msgspec.structs import replace

from impl.controller import partitions
from impl.scenario.inject import RECOVERY
from impl.scenario.session import Arguments, Perform, Result, ScenarioSession, written


def _broker(session: ScenarioSession, a: Arguments) -> Result:
    return session.run(lambda view: partitions.set_broker(view, a["node"], a["state"]))


def _drain(session: ScenarioSession, a: Arguments) -> Result:
    return session.run(lambda view: partitions.drain(view, a["node"]), moved=0)


def _create_topic(session: ScenarioSession, a: Arguments) -> Result:
    return session.run(lambda view: partitions.create_topic(view, a["topic"], a["partitions"], a["elastic"]))


def _alter(session: ScenarioSession, a: Arguments) -> Result:
    return session.run(lambda view: partitions.alter(view, a["topics"]), topics=[], rows={})


def _list(session: ScenarioSession, a: Arguments) -> Result:
    return session.run(lambda view: partitions.list_reassignments(view, a["topics"]))


def _isr(session: ScenarioSession, a: Arguments) -> Result:
    return session.run(
        lambda view: partitions.alter_partition(
            view,
            a["topic"],
            a["partition"],
            a["broker"],
            a["isr"],
            a["leader_epoch"],
            a["partition_epoch"],
            a["version"],
        )
    )


def _elect(session: ScenarioSession, a: Arguments) -> Result:
    return session.answer(session.controller.elect(a["topic"], a["partition"], a["kind"]))


def _tick(session: ScenarioSession, a: Arguments) -> Result:
    outcomes = session.controller.tick(a["advance_ms"])
    records = tuple(record for _, outcome in outcomes for record in outcome.records)
    return {"fired": [name for name, _ in outcomes], **written(records)}


def _fail_over(session: ScenarioSession, _: Arguments) -> Result:
    session.controller.fail_over()
    return written(())


def _partition(session: ScenarioSession, a: Arguments) -> Result:
    row = session.controller.image.partitions.get((a["topic"], a["partition"]))
    if row is None:
        return {}
    return {
        "replicas": list(row.replicas),
        "isr": list(row.isr),
        "leader": row.leader,
        "adding": list(row.adding_replicas),
        "removing": list(row.removing_replicas),
        "leader_epoch": row.leader_epoch,
        "partition_epoch": row.partition_epoch,
        "recovery": RECOVERY[row.leader_recovery_state],
        "original": None if row.original is None else list(row.original),
        "marker": row.marker,
    }


def _config(session: ScenarioSession, a: Arguments) -> Result:
    given = {name: value for name, value in a.items() if value is not None}
    session.controller.profile = replace(session.controller.profile, **given)
    return {}


PERFORM: dict[str, Perform] = {
    "broker": _broker,
    "drain": _drain,
    "create_topic": _create_topic,
    "alter": _alter,
    "list": _list,
    "isr": _isr,
    "elect": _elect,
    "tick": _tick,
    "controller_failover": _fail_over,
    "partition": _partition,
    "config": _config,
}
