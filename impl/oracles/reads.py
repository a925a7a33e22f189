"""Polls read only sent values, in the order of offsets, without a gap, and not beyond the confirm offset."""

from __future__ import annotations

from collections.abc import Iterator

from impl.oracles.calls import StreamCalls
from impl.oracles.verdict import Violation


def aborted(stream: StreamCalls) -> Iterator[Violation]:
    """Find read values that were never sent, or sent later, or with another number of records, or whose send failed."""
    sends = {send.value: send for send in stream.sends}
    for poll in stream.polls:
        for batch in poll.read:
            send = sends.get(batch.value)
            if send is None:
                problem = "nobody has sent it"
            elif send.failed:
                problem = "its send has failed"
            elif send.count != batch.end - batch.base:
                problem = f"it was sent with {send.count} records, and read with {batch.end - batch.base}"
            elif send.begun > poll.ended:
                problem = f"it is read at {poll.ended} ms, and sent only at {send.begun} ms"
            else:
                continue
            place = f"at offset {batch.base} of stream {stream.key}"
            yield Violation("aborted", stream.key, f"{poll.process} reads value {batch.value} {place}, but {problem}")


def order(stream: StreamCalls) -> Iterator[Violation]:
    """Find polls that read more than their range in order, or have a gap in it, and processes whose acknowledged sends
    do not have ascending offsets.
    """
    for poll in stream.polls:
        place, fits = poll.begin, True
        for batch in poll.read:
            # The first batch may begin before the range. Each later batch begins where the one before it ends.
            if not batch.base <= place < batch.end or (place > poll.begin and batch.base != place):
                fits = False
                break
            place = batch.end
        if place < poll.end or not fits:
            problem = "has a gap" if place < poll.end else "does not end"
            yield Violation(
                "order",
                stream.key,
                f"{poll.process} reads stream {stream.key} from {poll.begin} to {poll.end} at {poll.ended} ms, and "
                f"the answer {problem} at offset {place}",
            )
    last: dict[str, tuple[int, int]] = {}
    for send in stream.sends:
        if send.batch is not None:
            before = last.get(send.process)
            if before is not None and send.batch.base <= before[0]:
                yield Violation(
                    "order",
                    stream.key,
                    f"{send.process} sent value {before[1]} before value {send.value}, but their offsets in stream "
                    f"{stream.key} do not ascend: {before[0]} and {send.batch.base}",
                )
            last[send.process] = send.batch.base, send.value


def bound(stream: StreamCalls) -> Iterator[Violation]:
    """Find polls that read beyond the confirm offset, or whose confirm offset exceeds the records sent by then."""
    # A send of unknown outcome counts, because its records may be in the log.
    sent = sorted((send.begun, send.count) for send in stream.sends if not send.failed)
    place, total = 0, 0
    for poll in sorted(stream.polls, key=lambda each: each.ended):
        while place < len(sent) and sent[place][0] <= poll.ended:
            total += sent[place][1]
            place += 1
        end = max((batch.end for batch in poll.read), default=0)
        if end > poll.end:
            problem = f"the confirm offset is {poll.end}"
        elif poll.end > total:
            problem, end = f"only {total} records were sent by then", poll.end
        else:
            continue
        text = f"{poll.process} reads stream {stream.key} up to {end} at {poll.ended} ms, but {problem}"
        yield Violation("bound", stream.key, text)
