"""The report of a run: what happened when, the loads of the brokers over time, and the promises."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from impl.client.history import History
from impl.sim.balance.promises import BROKERS, PROMISES, BrokenPromise, EndLoads
from impl.sim.balance.simulation import BalanceRun
from impl.sim.balance.traffic import WAYS, Traffic
from impl.sim.balance.workload import CHANGE_MS, EMPTY, END_MS, FAILOVER_MS, SCALE
from impl.sim.move.report import rate

STEP_MS = 60_000
"""The time of one row of the table of loads."""
SHOWN = 4
"""How many texts of a broken promise are shown."""
MEANINGS = {
    "even": "in the last minute the traffic of each broker is within the band",
    "kept": "no acknowledged record is lost, doubled or out of order",
    "fast": "each move has ended within 10 s",
    "one planner": "only the leading controller plans, and no round ends early",
}


class BalanceReport(msgspec.Struct, frozen=True):
    """A run with its judgement."""

    run: BalanceRun
    traffic: Traffic
    end: dict[str, EndLoads]
    broken: Sequence[BrokenPromise]


def lines(report: BalanceReport) -> list[str]:
    """The report for people, as lines."""
    run = report.run
    given, rates = run.question.conditions, run.plans
    sent = sum(each.before for each in rates) * SCALE / 1e6
    read = sum(each.before * each.readers for each in rates) * SCALE / 1e6
    return [
        f"Broker {EMPTY} joins three loaded brokers. Seed {run.question.seed}, balancer {run.question.balancer}.",
        f"{len(rates)} partitions take {sent:.1f} MB/s at first, and consumers read {read:.1f} MB/s. Sizes and loads",
        f"are run at a thousandth, and shown in full. Bandwidth {rate(given.bandwidth)}, operation of the store",
        f"{given.store} ms, message {given.message} ms, commit {given.commit} ms, metadata {given.metadata} ms.",
        "",
        *(f"{at / 1_000:7.1f} s  {text}" for at, text in sorted(events(run), key=lambda pair: pair[0])),
        "",
        *_table(report),
        "",
        *_moves(run),
        "",
        *_promises(report.broken),
    ]


def events(run: BalanceRun) -> Iterator[tuple[int, str]]:
    """What happens, with times since the begin of the load."""
    if run.joined is not None:
        yield run.joined - run.begin, f"broker {EMPTY} is active, without a partition"
    yield (
        CHANGE_MS,
        "; ".join(
            f"partition {each.partition} takes {each.after * SCALE / 1e6:.2f} MB/s instead of "
            f"{each.before * SCALE / 1e6:.2f}"
            for each in run.plans
            if each.has_changed
        ),
    )
    yield FAILOVER_MS, "another controller takes over"
    for controller, rounds in run.rounds.items():
        for each in rounds:
            about = f"c{controller} plans {_number(len(each.moves), 'move')}"
            about += f", and sends {each.sent}" if each.sent != len(each.moves) else ""
            yield each.at - run.begin, f"{about}: {each.error}" if each.error else about
    for move in run.moves:
        took = "has not ended" if move.ms is None else f"{move.ms / 1_000:.2f} s"
        yield move.begin - run.begin, f"  partition {move.partition} from {move.source} to {move.target}: {took}"


def _table(report: BalanceReport) -> Iterator[str]:
    """The mean loads by minute."""
    yield f"{'MB/s of broker':16}" + "".join(f"{f'{way} {each}':>8}" for way in WAYS for each in BROKERS)
    for begin in range(0, END_MS, STEP_MS):
        loads = [report.traffic.load(way, each, begin, begin + STEP_MS) for way in WAYS for each in BROKERS]
        name = f"  {begin // 1_000} to {(begin + STEP_MS) // 1_000} s"
        yield f"{name:16}" + "".join(f"{load / 1e6:8.2f}" for load in loads)
    bands = [f"{way} {end.band.low / 1e6:.2f} to {end.band.high / 1e6:.2f}" for way, end in report.end.items()]
    yield f"  the band at the end: {', '.join(bands)}"


def _moves(run: BalanceRun) -> Iterator[str]:
    times = [each.ms for each in run.moves if each.ms is not None]
    if not times:
        yield "No partition has moved."
        return
    span = f"{min(times) / 1_000:.2f} to {max(times) / 1_000:.2f} s"
    yield f"{_number(len(run.moves), 'move')}: each takes {span} from its commit to the election of its target."
    yield f"The longest wait of a producer for an answer was {longest_wait(run.history) / 1_000:.2f} s."


def _promises(found: Sequence[BrokenPromise]) -> Iterator[str]:
    for name in PROMISES:
        texts = [each.text for each in found if each.name == name]
        yield f"  {name:12} {'broken' if texts else 'holds':7} {MEANINGS[name]}"
        yield from (f"{'':15}{text}" for text in texts[:SHOWN])
        if len(texts) > SHOWN:
            yield f"{'':15}and {len(texts) - SHOWN} more; --json has all"


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def longest_wait(history: History) -> int:
    """The longest time from the begin of a send to its answer, in milliseconds."""
    begun = {op.index: op.at for op in history.ops if op.kind == "invoke" and op.f == "send"}
    return max((op.at - begun[op.index] for op in history.ops if op.kind == "ok" and op.f == "send"), default=0)


def data(report: BalanceReport) -> dict[str, object]:
    """The report for programs. Times are in milliseconds since the begin of the load, loads in bytes per second."""
    run = report.run
    return {
        "scenario": "balance",
        "seed": run.question.seed,
        "balancer": run.question.balancer,
        "without": list(run.question.without),
        "conditions": msgspec.structs.asdict(run.question.conditions),
        "scale": SCALE,
        "partitions": [
            {
                "partition": each.partition,
                "before": each.before * SCALE,
                "after": each.after * SCALE,
                "readers": each.readers,
            }
            for each in run.plans
        ],
        "joined": None if run.joined is None else run.joined - run.begin,
        "changed": CHANGE_MS,
        "failover": FAILOVER_MS,
        "rounds": [
            {
                "controller": controller,
                "at": each.at - run.begin,
                "eligible": list(each.eligible),
                "planned": len(each.moves),
                "sent": each.sent,
                "dropped": each.dropped,
                "error": each.error,
            }
            for controller, rounds in run.rounds.items()
            for each in rounds
        ],
        "moves": [
            {
                "partition": each.partition,
                "from": each.source,
                "to": each.target,
                "begin": each.begin - run.begin,
                "ms": each.ms,
            }
            for each in run.moves
        ],
        "loads": [
            {
                "begin": begin,
                "end": begin + STEP_MS,
                **{
                    way: {broker: report.traffic.load(way, broker, begin, begin + STEP_MS) for broker in BROKERS}
                    for way in WAYS
                },
            }
            for begin in range(0, END_MS, STEP_MS)
        ],
        "end": {way: msgspec.to_builtins(end) for way, end in report.end.items()},
        "longest_wait": longest_wait(run.history),
        "promises": {name: [each.text for each in report.broken if each.name == name] for name in PROMISES},
    }
