"""The tables of reassignment.md: topics, reassignments and cancels, AlterPartition, elections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import msgspec

from impl.controller.view import Profile
from impl.errors import E
from impl.metadata.image import Image
from impl.oracles.answers.checks import differs, owner
from impl.oracles.answers.expected_answer import OPEN, Effect, ExpectedAnswer, refused
from impl.records import PARTITION_TAG, TOPIC_TAG, Partition, StreamState, Tag
from impl.wire import AlterPartition, AlterReassignments, CreateTopic, ElectLeader

NOBODY = -1


def _state(image: Image, broker: int) -> str:
    return image.brokers.get(broker, "gone")


def _some_active(image: Image, brokers: Iterable[int]) -> bool:
    return any(_state(image, broker) == "active" for broker in brokers)


def topic_created(image: Image, asked: CreateTopic) -> ExpectedAnswer:
    """RA-42 of every partition. A partition of an elastic topic has one replica."""
    if any(topic == asked.topic for topic, _ in image.partitions):
        return refused(E.TOPIC_ALREADY_EXISTS)
    if any(_is_wrong(image, replicas) or (asked.elastic and len(replicas) != 1) for replicas in asked.partitions):
        return refused(E.INVALID_REPLICA_ASSIGNMENT)

    def effect(after: Image) -> Iterator[str]:
        for number, replicas in enumerate(asked.partitions):
            row = after.partitions.get((asked.topic, number))
            found = None if row is None else (row.replicas, row.isr, row.leader)
            yield from differs(f"new partition {asked.topic}-{number}", found, (replicas, replicas, replicas[0]))

    return ExpectedAnswer(errors=(E.NONE,), effect=effect)


def _is_wrong(image: Image, replicas: Sequence[int]) -> bool:
    """RA-42."""
    twice = len(set(replicas)) < len(replicas)
    return not replicas or twice or any(_state(image, broker) == "gone" for broker in replicas)


# Reassignments --------------------------------------------------------------------------------------------------


def altered(image: Image, profile: Profile, asked: AlterReassignments) -> ExpectedAnswer:
    """RA-01 to RA-48, CA-20 to CA-44. Each partition has a row in the answer, whatever the others have."""
    rows: dict[str, str] = {}
    effects: list[Effect] = []
    for topic, partitions in asked.topics.items():
        for number, replicas in partitions.items():
            row = image.partitions.get((topic, number))
            error, effect = E.UNKNOWN_TOPIC_OR_PARTITION, None
            if row is not None and replicas is None:
                error, effect = _cancelled(image, profile, row)
            elif row is not None:
                error, effect = _started(image, profile, row, replicas or ())
            rows[f"{topic}-{number}"] = error.name
            effects += [] if effect is None else [effect]
    return ExpectedAnswer(
        errors=(E.NONE,),
        values={"rows": rows},
        writes=None if E.NONE.name in rows.values() else False,
        effect=lambda after: (said for effect in effects for said in effect(after)),
    )


def moved_back(image: Image, profile: Profile, stream: int) -> Effect | None:
    """ST-16. The effect of a move of a stream's partition to the owner of the stream; None without a partition."""
    tags = {tag.key: tag.value for tag in image.streams[stream].tags}
    if not tags.keys() >= {TOPIC_TAG, PARTITION_TAG}:
        return None
    back: dict[int, tuple[int, ...] | None] = {int(tags[PARTITION_TAG]): (owner(image, stream),)}
    return altered(image, profile, AlterReassignments({tags[TOPIC_TAG]: back})).effect


def _is_elastic(image: Image, row: Partition) -> bool:
    return image.topics.get(row.topic, False)


def _started(image: Image, profile: Profile, row: Partition, replicas: tuple[int, ...]) -> tuple[E, Effect | None]:
    if not _is_elastic(image, row):
        if _is_wrong(image, replicas):
            return E.INVALID_REPLICA_ASSIGNMENT, None
        return E.NONE, _lists_started(row, replicas) if profile.cancel == "H" else None
    barred = ("gone", "fenced", "shutting_down") if profile.handshake == "G0" else ("gone", "fenced")
    if len(replicas) != 1 or _state(image, replicas[0]) in barred:  # RA-02
        return E.INVALID_REPLICA_ASSIGNMENT, None
    epoch, leader = row.leader_epoch + 1, NOBODY  # RA-04
    if replicas == row.replicas:  # RA-03
        epoch, leader = row.leader_epoch, row.leader

    def effect(after: Image) -> Iterator[str]:
        here = after.partitions[row.topic, row.partition]
        found, wanted = (here.replicas, here.isr, here.leader, here.leader_epoch), (replicas, replicas, leader, epoch)
        yield from differs(f"moved partition {row.topic}-{row.partition}", found, wanted)

    return E.NONE, effect


def _lists_started(row: Partition, replicas: tuple[int, ...]) -> Effect:
    """CA-27, RA-44."""
    running = bool(row.adding_replicas or row.removing_replicas)
    original = row.original if running else row.replicas
    # Without the list of the first start, the replicas that it has not added are left (CA-04).
    before = original or [each for each in row.replicas if each not in row.adding_replicas]
    removing = tuple(sorted(set(row.replicas) - set(replicas)))
    adding = tuple(sorted(set(replicas) - set(before)))
    started = msgspec.structs.replace(
        row, replicas=replicas + removing, adding_replicas=adding, removing_replicas=removing
    )
    completion = _completion(started, row.isr)
    stay = started.replicas if completion is None else completion[1]
    wanted: tuple[tuple[int, ...] | None, ...] = (stay, adding, removing, original)
    if completion is not None or not (adding or removing):
        wanted = (stay, (), (), None)

    def effect(after: Image) -> Iterator[str]:
        here = after.partitions[row.topic, row.partition]
        found = here.replicas, here.adding_replicas, here.removing_replicas, here.original
        yield from differs(f"reassigned partition {row.topic}-{row.partition}", found, wanted)

    return effect


def _cancelled(image: Image, profile: Profile, row: Partition) -> tuple[E, Effect | None]:
    if _is_elastic(image, row):
        return _move_cancelled(image, row)
    if not (row.adding_replicas or row.removing_replicas):  # CA-20, RA-40
        return E.NO_REASSIGNMENT_IN_PROGRESS, None
    kept = tuple(broker for broker in row.replicas if broker not in row.adding_replicas)  # CA-21
    if profile.cancel == "H":
        kept = row.original or ()  # CA-27
    if not kept:
        return E.INVALID_REPLICA_ASSIGNMENT, None
    isr = tuple(broker for broker in row.isr if broker in kept)
    unclean = not isr
    isr = isr or kept[:1]
    if unclean and not profile.unclean_election:  # CA-22
        return E.INVALID_REPLICA_ASSIGNMENT, None
    if profile.cancel == "H" and _costs_too_much(image, profile, row, kept, isr):
        return E.INVALID_REPLICA_ASSIGNMENT, None
    # CA-25: as built, such a revert is not marked.
    marked = row.leader_recovery_state if not unclean or profile.cancel != "H" else 1
    return E.NONE, partial(_is_reverted, row=row, replicas=kept, isr=isr, recovery=marked)


def _costs_too_much(
    image: Image, profile: Profile, row: Partition, kept: tuple[int, ...], isr: tuple[int, ...]
) -> bool:
    """CA-26."""
    offline = not _some_active(image, kept) and _some_active(image, row.isr)
    return offline or len(isr) < profile.min_insync <= len(row.isr)


def _is_reverted(
    after: Image, row: Partition, replicas: tuple[int, ...], isr: tuple[int, ...], recovery: int
) -> Iterator[str]:
    """CA-21, CA-24, CA-27. Unless an election has left the ISR, it is what the cancel has kept of it."""
    here = after.partitions[row.topic, row.partition]
    name = f"{row.topic}-{row.partition}"
    found = here.replicas, here.adding_replicas, here.removing_replicas, here.original
    yield from differs(f"cancelled partition {name}", found, (replicas, (), (), None))
    if here.isr != (here.leader,) or here.leader in isr:
        state = here.isr, here.leader_recovery_state
        wanted = [(isr, recovery)] + ([((here.leader,), 1)] if here.leader != NOBODY else [])
        if state not in wanted:
            yield f"the ISR and recovery of cancelled partition {name} are {state}, and had to be one of {wanted}"


def _move_cancelled(image: Image, row: Partition) -> tuple[E, Effect | None]:
    """CA-40 to CA-44."""
    if row.marker is None:  # CA-41, CA-42
        return E.NO_REASSIGNMENT_IN_PROGRESS, None
    origin = row.original[0] if row.original else NOBODY
    state = _state(image, origin)
    if state == "gone" or (state != "active" and _some_active(image, row.replicas)):  # CA-43
        return E.INVALID_REPLICA_ASSIGNMENT, None
    tags = {Tag(TOPIC_TAG, row.topic), Tag(PARTITION_TAG, str(row.partition))}
    streams = [(number, each) for number, each in image.streams.items() if tags <= set(each.tags)]
    closed = all(each.state is StreamState.CLOSED for _, each in streams)
    held = all(each.state is StreamState.OPENED and owner(image, number) == origin for number, each in streams)
    leader = origin if state == "active" and (closed or held) else NOBODY

    def effect(after: Image) -> Iterator[str]:
        here = after.partitions[row.topic, row.partition]
        found = here.replicas, here.isr, here.leader, here.marker, here.leader_epoch
        wanted = (origin,), (origin,), leader, None, row.leader_epoch + 1
        yield from differs(f"cancelled partition {row.topic}-{row.partition}", found, wanted)

    return E.NONE, effect


# AlterPartition, elections --------------------------------------------------------------------------------------


def isr_altered(image: Image, asked: AlterPartition) -> ExpectedAnswer:
    """RA-10, RA-46, RA-47. RA-10 fails the whole request, so it comes before the checks of the partition."""
    row = image.partitions.get((asked.topic, asked.partition))
    if asked.topic not in image.topics and asked.version > 1:
        return refused(E.UNKNOWN_TOPIC_ID)
    if row is None:
        return refused(E.UNKNOWN_TOPIC_OR_PARTITION)
    if _is_elastic(image, row) and len(asked.isr) != 1:
        return refused(E.INVALID_REPLICA_ASSIGNMENT)
    error = _isr_error(image, row, asked)
    if error is not E.NONE:
        return refused(error)
    isr, replicas = _completion(row, asked.isr) or (asked.isr, row.replicas)
    error = E.NONE
    if row.leader not in replicas:  # RA-46
        error = E.NEW_LEADER_ELECTED if asked.version > 1 else E.FENCED_LEADER_EPOCH

    def effect(after: Image) -> Iterator[str]:
        here = after.partitions[row.topic, row.partition]
        what = f"partition {row.topic}-{row.partition} after a change of its ISR"
        yield from differs(what, (here.isr, here.replicas, here.leader in replicas), (isr, replicas, True))

    return ExpectedAnswer(errors=(error,), effect=effect)


def _completion(row: Partition, isr: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """RA-44, RA-45. The ISR and the replicas after a completion; None unless all replicas that stay are in sync."""
    in_sync, stay = (
        tuple(broker for broker in brokers if broker not in row.removing_replicas) for brokers in (isr, row.replicas)
    )
    running = row.adding_replicas or row.removing_replicas
    return (in_sync, stay) if running and in_sync and set(stay) <= set(in_sync) else None


def _isr_error(image: Image, row: Partition, asked: AlterPartition) -> E:
    leader_epoch = row.leader_epoch if asked.leader_epoch is None else asked.leader_epoch
    epoch = row.partition_epoch if asked.partition_epoch is None else asked.partition_epoch
    if leader_epoch > row.leader_epoch or epoch > row.partition_epoch:
        return E.NOT_CONTROLLER
    if leader_epoch < row.leader_epoch:
        return E.FENCED_LEADER_EPOCH
    if asked.broker != row.leader:
        return E.INVALID_REQUEST
    if epoch < row.partition_epoch:
        return E.INVALID_UPDATE_VERSION
    if not set(asked.isr) <= set(row.replicas) or row.leader not in asked.isr:
        return E.INVALID_REQUEST
    # A partition may go on recovering, and no partition begins to recover by this request.
    if asked.recovery not in (None, 0) and (asked.recovery, row.leader_recovery_state) != (1, 1):
        return E.INVALID_REQUEST
    if all(_state(image, broker) == "active" for broker in asked.isr):
        return E.NONE
    return E.INELIGIBLE_REPLICA if asked.version > 1 else E.OPERATION_NOT_ATTEMPTED


def elected(image: Image, asked: ElectLeader) -> ExpectedAnswer:
    """EL-08, and the order of an election (reassignment.md 1, step 2)."""
    row = image.partitions.get((asked.topic, asked.partition))
    if row is None:
        return refused(E.UNKNOWN_TOPIC_OR_PARTITION)
    if _completion(row, row.isr) is not None:
        # Any change completes the reassignment first, and perhaps nobody who stays may lead (RA-45).
        return OPEN
    if asked.kind == "unclean":
        if row.leader != NOBODY:
            return refused(E.ELECTION_NOT_NEEDED)
        if not _some_active(image, row.replicas):
            return refused(E.ELIGIBLE_LEADERS_NOT_AVAILABLE)
        return ExpectedAnswer(errors=(E.NONE,), effect=_leads(row, row.replicas))
    first = row.replicas[0] if row.replicas else NOBODY
    if row.leader == first and row.replicas:
        return refused(E.ELECTION_NOT_NEEDED)
    if _state(image, first) != "active":
        # A list may have another leader, who stays, or who is to lead no more. The facts have no answer for that.
        return refused(E.PREFERRED_LEADER_NOT_AVAILABLE) if _is_elastic(image, row) else OPEN
    if first not in row.isr:
        return OPEN
    return ExpectedAnswer(errors=(E.NONE,), writes=True, effect=_leads(row, (first,)))


def _leads(row: Partition, brokers: Sequence[int]) -> Effect:
    def effect(after: Image) -> Iterator[str]:
        leader = after.partitions[row.topic, row.partition].leader
        if leader not in brokers:
            yield f"{leader} leads {row.topic}-{row.partition} after an election, and one of {brokers} had to"

    return effect
