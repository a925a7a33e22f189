"""The states of objects, from the preparation to the deletion (streams.md 4).

Left out: times. A deadline (OB-01), or a retention (OB-05), may be over at any moment.
"""

from __future__ import annotations

from enum import Enum
from typing import Self

from holdfast.lang import Map, Model, Sort, action, init, leads_to, require, step


class ObjectError(Enum):
    """The error codes of a refused commit of an object (streams.md 16)."""

    OBJECT_NOT_EXIST = 504
    COMPACTED_OBJECTS_NOT_FOUND = 508


class Object(Sort):
    """An object, known by its id. An id is given out once (ID-01)."""


class Life(Enum):
    """The state of an object (streams.md 1)."""

    UNINITIALIZED = "its id has not been given out"
    PREPARED = "a broker may write it"
    COMMITTED = "metadata refers to it"
    MARK_DESTROYED = "it will be deleted"
    DESTROYED = "it is deleted, and its record is gone"


class ObjectTable(Model):
    """The objects that the controller knows."""

    life: Map[Object, Life]
    """The state of the object."""

    @init
    def start_objects(self) -> None:
        """No id has been given out."""
        self.life.fill(Life.UNINITIALIZED)

    def may_be_marked(self, o: Object) -> bool:
        """OB-03. Whether o exists and is not marked destroyed yet."""
        return self.life[o] in (Life.PREPARED, Life.COMMITTED)

    def check_known(self, o: Object) -> None:
        """A broker writes an object only while it is prepared."""
        require(self.life[o] == Life.PREPARED, "OB-01")

    def check_prepared(self, o: Object) -> None:
        """An object that has expired, or that another one has replaced, is not committed any more."""
        require(self.life[o] == Life.PREPARED, "OB-02", error=ObjectError.OBJECT_NOT_EXIST)  # G-22

    @action
    def prepare(self, o: Object) -> None:
        """The controller gives out the id of a new object."""
        require(self.life[o] == Life.UNINITIALIZED, "ID-01")
        self.life[o] = Life.PREPARED

    @action(fair="weak", per=("o",))
    def expire(self, o: Object) -> None:
        """The deadline of a prepared object passes, and the controller marks it destroyed (OB-04)."""
        require(self.life[o] == Life.PREPARED, "OB-04")
        self.life[o] = Life.MARK_DESTROYED

    def delete_object(self, o: Object) -> None:
        """The controller deletes an object that is marked, and then removes its record."""
        require(self.life[o] == Life.MARK_DESTROYED, "OB-05")
        self.life[o] = Life.DESTROYED

    @step
    def lives_once(self, old: Self) -> bool:
        """INV-12, INV-17. An object goes through its states in order, so an id is given out once."""
        return all(
            (self.life[o] != Life.UNINITIALIZED or old.life[o] == Life.UNINITIALIZED)
            and (self.life[o] != Life.PREPARED or old.life[o] in (Life.UNINITIALIZED, Life.PREPARED))
            and (self.life[o] != Life.COMMITTED or old.life[o] in (Life.PREPARED, Life.COMMITTED))
            and (self.life[o] != Life.MARK_DESTROYED or old.life[o] not in (Life.UNINITIALIZED, Life.DESTROYED))
            and (self.life[o] != Life.DESTROYED or old.life[o] in (Life.MARK_DESTROYED, Life.DESTROYED))
            for o in Object
        )

    @leads_to
    def prepared_ends(self, o: Object) -> tuple[bool, bool]:
        """LV-05. Every PREPARED object is COMMITTED or destroyed some time."""
        return self.life[o] == Life.PREPARED, self.life[o] != Life.PREPARED

    @leads_to
    def marked_is_deleted(self, o: Object) -> tuple[bool, bool]:
        """LV-05. Every object that is marked destroyed is deleted some time."""
        return self.life[o] == Life.MARK_DESTROYED, self.life[o] == Life.DESTROYED
