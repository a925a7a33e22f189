"""Turns what happens to one partition, and to one process that reads it, into steps of `snapshot_read`.

The steps are those of the variant ``log_grain``. Offsets are those of the data stream. What is confirmed and uploaded
is read from acks and from the controller's batches, and the end of a WAL from its objects. Some lines do not stand at
the point of their own effect:

- An append begins where it is acknowledged, or where a recovery has uploaded it, or where a snapshot shows it.
- An upload for which the reader has asked ends where all that was confirmed then is uploaded.
- The reader replays nothing where its next record, or the next snapshot, passes over offsets.
- The leader epochs of the log are one more than those of the system. In the model, 0 is no epoch.
- An answer that the reader does not take has no lines, and no request has a line unless it asks for an upload.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from impl.broker.messages import PartitionSnapshot, StepEvent
from impl.broker.wal_format import folder_of
from impl.sim.conformance.leader_changes import Key, LeaderChange
from impl.sim.conformance.wal_ends import WalEnds
from impl.sim.event_log import SentSnapshots
from impl.sim.links import CHANNEL_FOLDER

ShownEvent = tuple[int, str, LeaderChange | SentSnapshots | StepEvent]
"""The index of the event in the run, its source, and what it is."""


class FollowedMain(msgspec.Struct):
    """What the reader has of a main. ``position`` and ``wal_end`` are the model's.

    ``session``: the process and the number, None for none. ``opened_at``: the end of the partition when the main has
    opened it last; what lies below is not in its WAL. ``needed``: what has to be uploaded before the main shows the
    partition again; None if the reader waits for nothing. ``left``: the number of snapshots of the partition in the
    last answer that the reader has not applied yet. ``taken``: the event at which the reader has taken its last answer.
    ``last``: the last snapshot with which the main shows the partition.
    """

    node: int
    session: tuple[str, int] | None = None
    position: int = 0
    wal_end: int = 0
    opened_at: int = 0
    needed: int | None = None
    left: int = 0
    taken: int = 0
    last: PartitionSnapshot | None = None

    @property
    def name(self) -> str:
        """The name of the main in the log."""
        return f"n{self.node}"


class ShownLines:
    """``found``: the lines, each with the index of its event. ``own``: the events of the reader.

    ``failed``: the reads that the store does not answer, each with the index of its event and its key.
    """

    def __init__(
        self, key: Key, stream: int, wals: WalEnds, own: Sequence[ShownEvent], failed: Sequence[tuple[int, str]]
    ) -> None:
        self.found: list[tuple[int, dict[str, Any]]] = []
        self._key, self._stream, self._wals, self._own, self._failed = key, stream, wals, own, failed
        self._index = 0
        self._mains: dict[int, FollowedMain] = {}
        self._begun: dict[int, tuple[str, SentSnapshots, int]] = {}
        """By number: the answers with a new session that are on their way. Each has the process that has sent it, and
        what has to be uploaded.
        """
        self._leader = -1
        self._appended = self._confirmed = self._uploaded = 0

    def take(self, index: int, source: str, subject: LeaderChange | SentSnapshots | StepEvent) -> None:
        """Turn an event into steps."""
        self._index = index
        match subject:
            case LeaderChange("elected", epoch):
                self._step("elect", e=epoch + 1, post={"epoch": epoch + 1})
            case LeaderChange("opened", node):
                self._leader = node
                self._main(node).opened_at = self._uploaded
                self._step("move", m=self._main(node).name)
            case LeaderChange("acked", end):
                self._confirm(end)
            case LeaderChange(_, end):
                self._upload(end)
            case SentSnapshots():
                self._send(source, subject)
            case StepEvent("take_answer", values):
                self._take_answer(self._main(values["main"]), values["id"])
            case StepEvent("keep", values) if values["stream"] == self._stream:
                self._keep(self._main(values["main"]), values["base"], values["end"], values["first"])
            case StepEvent("evict", values) if values["stream"] == self._stream:
                self._step("evict", o=values["end"], asks=self._asks(values["main"]))
            case StepEvent("apply", values) if values["of"] == self._key:
                self._apply(self._main(values["main"]), values["shown_by"], refused=values["refused"])
            case StepEvent("end_session", values):
                self._end_session(self._main(values["main"]))

    def _main(self, node: int) -> FollowedMain:
        return self._mains.setdefault(node, FollowedMain(node))

    def _step(self, action: str, **fields: Any) -> None:
        self.found.append((self._index, {"action": action, **fields}))

    # The leader and its log -----------------------------------------------------------------------------------

    def _append(self, end: int) -> None:
        if end > self._appended:
            self._appended = end
            self._step("append", o=end)

    def _confirm(self, end: int) -> None:
        self._append(end)
        if end > self._confirmed:
            self._confirmed = end
            self._step("confirm", o=end)

    def _upload(self, end: int) -> None:
        self._confirm(end)
        self._uploaded = end
        self._step("upload", o=end, post={"uploaded": end})
        for main in self._mains.values():
            if main.session:
                self._end_upload(main)

    def _end_upload(self, main: FollowedMain) -> None:
        if main.needed is not None and main.needed <= self._uploaded:
            main.needed = None
            self._step("end_upload", m=main.name)

    # Answers of mains -----------------------------------------------------------------------------------------

    def _send(self, process: str, answer: SentSnapshots) -> None:
        main = self._main(answer.node)
        if (process, answer.session) != main.session:
            self._begun[answer.id] = process, answer, self._due(answer.node)
            return
        if answer.commit:
            main.needed = max(main.needed or 0, self._due(answer.node))
            self._step("ask_upload", m=main.name)
            self._end_upload(main)
        end = max(main.wal_end, self._wal_end(main, process, answer))
        given = self._given(answer)
        if given:
            self._collect(main, given[-1])
            self._step("answer", m=main.name, o=end)
        elif end > main.wal_end:
            self._step("extend", m=main.name, o=end)
        main.wal_end, main.left = end, len(given)

    def _wal_end(self, main: FollowedMain, process: str, answer: SentSnapshots) -> int:
        """The end of the partition's records that are in the WAL below the end in an answer, or were there before."""
        return max(main.opened_at, self._wals.end(process, self._stream, answer.wal_end))

    def _due(self, node: int) -> int:
        """What a main uploads if it is asked now."""
        return self._confirmed if node == self._leader else 0

    def _given(self, answer: SentSnapshots) -> list[PartitionSnapshot]:
        """The snapshots of the partition, a removal first."""
        given = [each for each in answer.partitions if (each.topic, each.partition) == self._key]
        return sorted(given, key=lambda each: each.operation != "REMOVE")

    def _collect(self, main: FollowedMain, snapshot: PartitionSnapshot) -> None:
        if snapshot.operation == "REMOVE":
            self._step("collect_removal", m=main.name)
            return
        main.last = snapshot
        end = _end(snapshot)
        self._append(end)
        self._step("collect", m=main.name, e=snapshot.leader_epoch + 1, o=end)

    # The reader -----------------------------------------------------------------------------------------------

    def _take_answer(self, main: FollowedMain, number: int) -> None:
        main.taken = self._index
        if number not in self._begun:
            return
        process, answer, main.needed = self._begun.pop(number)
        self._end_session(main)
        main.session = process, answer.session
        main.position = main.wal_end = self._wal_end(main, process, answer)
        self._step("open_session", m=main.name, o=main.wal_end)
        self._end_upload(main)

    def _end_session(self, main: FollowedMain) -> None:
        if main.session:
            main.session, main.left = None, 0
            self._step("lose_session", m=main.name)

    def _keep(self, main: FollowedMain, base: int, end: int, first: int) -> None:
        self._pass_over(main, base)
        self._step("replay", m=main.name, o=base, to=end, first=first, trimmed=False)
        main.position = end

    def _pass_over(self, main: FollowedMain, end: int) -> None:
        if end <= main.position:
            return
        folders = folder_of(main.node), CHANNEL_FOLDER
        if any(main.taken <= index < self._index and key.startswith(folders) for index, key in self._failed):
            self._step("fail_replay", m=main.name, to=end)
        else:
            self._step("replay", m=main.name, o=main.position, to=end, first=end, trimmed=True)
        main.position = end

    def _apply(self, main: FollowedMain, shown_by: int | None, *, refused: bool) -> None:
        main.left -= 1
        if main.left and not refused:
            return  # A removal, and the partition comes again.
        self._pass_over(main, main.wal_end)
        post: dict[str, Any] = {"shown_by": None if shown_by is None else f"n{shown_by}"}
        if shown_by is not None and main is self._main(shown_by) and main.last is not None and not refused:
            post |= {"shown_epoch": main.last.leader_epoch + 1, "end": _end(main.last)}
        self._step("apply", m=main.name, post=post)
        if refused:
            main.session, main.left = None, 0

    def _asks(self, node: int) -> bool:
        """Whether the reader asks a main for an upload after this event.

        The next answer may be that to an older request. A new session asks for an upload, too.
        """
        answers = 0
        for index, _, subject in self._own:
            match subject:
                case StepEvent("end_session", values) if index > self._index and values["main"] == node:
                    return True
                case SentSnapshots() if index > self._index and subject.node == node:
                    answers += 1
                    if subject.commit or answers == 2:
                        return subject.commit
        return True


def _end(snapshot: PartitionSnapshot) -> int:
    """The offset of the data stream at which a snapshot ends."""
    return snapshot.segments[-1][2] if snapshot.segments and snapshot.stream >= 0 else 0
