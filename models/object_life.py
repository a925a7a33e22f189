"""Objects from their preparation to their deletion: WAL uploads, and compactions that replace what was uploaded.

One node writes one stream (streams.md 5, 13). It prepares an object, writes it, and asks the controller to commit it.
The request may arrive at any time and any number of times. Meanwhile the object may expire, and the controller deletes
it. A compaction reads committed objects and writes their content into a new one, which replaces them.

A node may close the stream above its committed data (a fast close). Then it has an entry: what it still has to upload.
The model joins the close with the next open of the node, which needs a drained entry. So the stream is always open, and
no other node writes it.

Left out: trims and deletes of streams (CS-07, CS-20, CS-21); the checks of the node (CS-01); the order of objects
(CS-04); changes of attributes (OB-06); stream objects and their compaction (CS-07, CO-01 to CO-06).

Where this differs from streams.md:

- G-30: a compaction cannot move the end of the stream, since its output does not end above it, and an end only moves up
  (ID-05). Without CS-35 the start of an entry moves back (INV-08), and the same data is uploaded again (INV-06).
- G-54: two compactions of one object lose nothing, but a deleted object is marked again (INV-12). An input is lost if a
  compaction that fails has marked others of its inputs (`marks_one_by_one`).
"""

from __future__ import annotations

from typing import Self

from holdfast.lang import Ghost, Map, Rel, Scope, action, count, init, invariant, require, rule, step, variant, witness
from models.parts.errors import E
from models.parts.objects import Life, Object, ObjectError, ObjectTable
from models.parts.streams import Offset


class ObjectLife(ObjectTable):
    """The objects of one node, and what they contain of one stream."""

    listed: Rel[Object]
    """The object is one of the node's stream set objects: readers look for data in it."""
    contains: Rel[Object, Offset]
    """The object contains the offset."""
    begin: Map[Object, Offset]
    """The first offset of the object, if it is a WAL upload."""
    end: Map[Object, Offset]
    """The offset after the last one of the object; 0 until it is written."""
    compacts: Rel[Object, Object]
    """The first object is the output of a compaction, and the second one of its inputs."""
    end_offset: Offset
    """The end of the stream."""
    entry_from: Offset
    """Where the entry starts: the next upload starts there."""
    entry_to: Offset
    """Where the entry ends. The entry is active while this lies above its start."""
    uploaded: Ghost[Rel[Offset]]
    """A WAL upload that contains the offset has been committed."""

    tiny = Scope({Object: 3, Offset: 3})
    default = Scope({Object: 4, Offset: 3})
    deep = Scope({Object: 18, Offset: 12}, depth=200)

    @init
    def start_empty(self) -> None:
        """The stream is empty, and the node has written nothing."""
        self.listed.fill(False)
        self.contains.fill(False)
        self.begin.fill(Offset(0))
        self.end.fill(Offset(0))
        self.compacts.fill(False)
        self.end_offset = Offset(0)
        self.entry_from = Offset(0)
        self.entry_to = Offset(0)
        self.uploaded.fill(False)

    def has_entry(self) -> bool:
        """CK-03. Whether the entry is active."""
        return self.entry_from < self.entry_to

    def is_output(self, o: Object) -> bool:
        """Whether o is the output of a compaction."""
        return any(self.compacts[o, i] for i in Object)

    # The node -------------------------------------------------------------------------------------------------

    @action
    def upload(self, o: Object, a: Offset, b: Offset) -> None:
        """The node writes the offsets from a up to b into an object. It may choose any: the controller decides."""
        self.check_known(o)
        require(self.end[o] == Offset(0), "OB-01.once")
        require(a < b, "AM-06")
        for x in Offset:
            if a <= x and x < b:
                self.contains[o, x] = True
        self.begin[o] = a
        self.end[o] = b

    @action
    def compact(self, o: Object, i: Object) -> None:
        """The node writes the content of i into o, the output of a compaction, beside that of earlier inputs."""
        self.check_known(o)
        require(self.end[o] == Offset(0) or self.is_output(o), "OB-01.apart")
        require(self.listed[i], "CP-01")
        for x in Offset:
            if self.contains[i, x]:
                self.contains[o, x] = True
        self.end[o] = max(self.end[o], self.end[i])
        self.compacts[o, i] = True

    @action
    def fast_close(self, b: Offset) -> None:
        """The node closes the stream at b, and opens it again when its entry is drained (ST-35, ST-37, ST-15)."""
        require(not self.has_entry(), "ST-15")
        require(self.end_offset <= b, "ST-35")
        self.entry_from = self.end_offset
        self.entry_to = b
        self.end_offset = b

    # The controller -------------------------------------------------------------------------------------------

    @action(idempotent="INV-15")
    def commit(self, o: Object) -> None:
        """A commit of o arrives (CS-03 to CS-09)."""
        require(self.end[o] > Offset(0), "PL-22")
        if rule("CS-03", self.life[o] == Life.COMMITTED):
            return
        self.check_prepared(o)
        inputs_exist = all(self.may_be_marked(i) for i in Object if self.compacts[o, i])
        require(inputs_exist, "OB-03", error=ObjectError.COMPACTED_OBJECTS_NOT_FOUND)  # G-54
        self.commit_object(o)

    @variant("marks_one_by_one", replaces="commit")
    def commit_one_by_one(self, o: Object) -> None:
        """OB-03 not as a whole: a compaction that fails has marked the inputs that it could."""
        require(self.end[o] > Offset(0), "PL-22")
        if rule("CS-03", self.life[o] == Life.COMMITTED):
            return
        self.check_prepared(o)
        if any(not self.may_be_marked(i) for i in Object if self.compacts[o, i]):
            for i in Object:
                if self.compacts[o, i] and self.may_be_marked(i):
                    self.life[i] = Life.MARK_DESTROYED
            return
        self.commit_object(o)

    def commit_object(self, o: Object) -> None:
        """The object becomes part of the metadata, and replaces its inputs or extends the stream."""
        if not self.is_output(o):
            self.check_continuity(o)
        self.life[o] = Life.COMMITTED
        if rule("CS-05"):
            self.listed[o] = True
        for i in Object:
            if self.compacts[o, i]:
                self.life[i] = Life.MARK_DESTROYED
        if rule("CS-08"):
            for i in Object:
                if self.compacts[o, i]:
                    self.listed[i] = False
        if rule("CS-35", self.is_output(o)):  # G-30
            return
        self.extend_stream(o)

    def extend_stream(self, o: Object) -> None:
        """The entry drains up to the end of o (CS-32, CS-33). Without an entry the stream extends there (CS-06)."""
        if self.has_entry():
            self.entry_from = self.end[o]
        elif self.end_offset < self.end[o]:  # ID-05
            self.end_offset = self.end[o]
        for x in Offset:
            if self.contains[o, x]:
                self.uploaded[x] = True

    def check_continuity(self, o: Object) -> None:
        """A WAL upload starts where the last one ended, and stays within the entry."""
        if self.has_entry():
            require(self.end[o] <= self.entry_to, "CS-22", error=E.OFFSET_NOT_MATCHED)
            require(self.begin[o] == self.entry_from, "CS-23", error=E.OFFSET_NOT_MATCHED)
        else:
            require(self.begin[o] == self.end_offset, "CS-29a", error=E.OFFSET_NOT_MATCHED)

    @action(fair="weak", per=("o",))
    def delete(self, o: Object) -> None:
        """The controller deletes an object (OB-05). Nobody reads its content again, so clearing it merges states."""
        self.delete_object(o)
        for x in Offset:
            self.contains[o, x] = False
        for i in Object:
            self.compacts[o, i] = False
        self.begin[o] = Offset(0)
        self.end[o] = Offset(0)

    # Properties -----------------------------------------------------------------------------------------------

    @invariant
    def listed_is_committed(self) -> bool:
        """INV-12. An object that metadata refers to is COMMITTED, and has been written."""
        return all(self.life[o] == Life.COMMITTED and self.end[o] > Offset(0) for o in Object if self.listed[o])

    @invariant
    def stored_is_known(self) -> bool:
        """OB-05. Nothing is stored for an object whose id has not been given out, or that is deleted."""
        return all(
            self.life[o] not in (Life.UNINITIALIZED, Life.DESTROYED)
            for o in Object
            for x in Offset
            if self.contains[o, x]
        )

    @invariant
    def no_hole(self) -> bool:
        """INV-07. A committed object contains each offset of the stream, unless the node still has to upload it."""
        return all(
            any(self.listed[o] and self.contains[o, x] for o in Object) or (self.entry_from <= x and x < self.entry_to)
            for x in Offset
            if x < self.end_offset
        )

    @invariant
    def listed_is_uploaded(self) -> bool:
        """INV-06. A committed object contains no data but that of committed WAL uploads."""
        return all(self.uploaded[x] for o in Object for x in Offset if self.listed[o] and self.contains[o, x])

    @step(of="commit")
    def uploaded_once(self, old: Self, o: Object) -> bool:
        """INV-06. No two WAL uploads that contain one offset are committed."""
        begins = self.life[o] == Life.COMMITTED and old.life[o] != Life.COMMITTED and not self.is_output(o)
        return all(not old.uploaded[x] for x in Offset if begins and self.contains[o, x])

    @step
    def end_grows(self, old: Self) -> bool:
        """INV-05. The end of the stream never decreases."""
        return self.end_offset >= old.end_offset

    @step
    def entry_only_drains(self, old: Self) -> bool:
        """INV-08. The start of an active entry never decreases, and its end never changes."""
        return not old.has_entry() or (self.entry_from >= old.entry_from and self.entry_to == old.entry_to)

    # Witnesses ------------------------------------------------------------------------------------------------

    @witness
    def replaced(self) -> bool:
        """Both inputs of a compaction are deleted, and its output is part of the metadata."""
        return any(
            self.listed[o] and count(self.compacts[o, i] and self.life[i] == Life.DESTROYED for i in Object) > 1
            for o in Object
        )

    @witness
    def compacted_beside_entry(self) -> bool:
        """A compaction is committed while an entry is active."""
        return self.has_entry() and any(self.listed[o] and self.is_output(o) for o in Object)

    @witness
    def late_output(self) -> bool:
        """A compaction waits for its commit, and another one has replaced its input."""
        return any(
            self.life[o] == Life.PREPARED and self.compacts[o, i] and self.life[i] == Life.MARK_DESTROYED
            for o in Object
            for i in Object
        )
