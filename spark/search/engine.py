"""``holdfast check --engine spark``: exhaustive search that keeps its states in files and explores them with Spark.

The search is that of the kernel: the same code checks, finds and shows violations, so the answer is the same to the
last letter. Only the place of the states differs: see ``frontier.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count

import attrs
import psutil

from holdfast.check.budget import Meter, resident_bytes
from holdfast.check.search.engine import Explorer
from holdfast.check.search.kernel_search import KernelSearch
from holdfast.check.temporary_folder import TemporaryFolder
from holdfast.ir.errors import UsageError
from holdfast.lower.python.interpreter import Interpreter
from holdfast.runs.selection import Selection
from spark.cluster.session import start_cluster
from spark.cluster.settings import SparkOptions, read_master, read_setting
from spark.cluster.storage import FileStorage, open_storage
from spark.cluster.workers import Workers
from spark.search.checkpoint import Commits, kept, refuse_used, resume
from spark.search.files import Scratch
from spark.search.frontier import SMALL, SparkStore


class SparkSearch(KernelSearch):
    """A search of the kernel with its states in a storage that all tasks see.

    ``lasting``: keep the search in the storage, as a checkpoint. ``resumed``: continue the search that is kept there.
    """

    store: SparkStore

    def __init__(
        self,
        machine: Interpreter,
        selection: Selection,
        symmetry: bool,
        keep_going: bool,
        meter: Meter,
        *,
        cluster: Workers,
        storage: FileStorage,
        lasting: bool = False,
        resumed: bool = False,
        small: int = SMALL,
    ) -> None:
        self._cluster, self._storage, self._resumed, self._small = cluster, storage, resumed, small
        super().__init__(machine, selection, symmetry, keep_going, meter, cores=1)
        self.checkpoint = Commits() if lasting else None
        meter.memory = ProcessTree()

    def new_store(self, cores: int) -> SparkStore:  # noqa: ARG002 - tasks decide how many
        return SparkStore(self.kernel, self._storage, self._cluster, small=self._small)

    def resume(self) -> bool:
        if self._resumed:
            resume(self)
        return self._resumed

    def explore(self) -> None:
        super().explore()
        self.store.tidy()


@attrs.define
class ProcessTree:
    """The memory of this process and of the processes below it: Java, and with a local master every task.

    Listing the processes is slow, so only every twentieth call does it; the other calls use the last sum.
    """

    questions: int = 0
    children: int = 0

    def __call__(self) -> int:
        """The memory in bytes."""
        if self.questions % 20 == 0:
            self.children = 0
            for child in psutil.Process().children(recursive=True):
                with suppress(psutil.Error):
                    self.children += child.memory_info().rss
        self.questions += 1
        return resident_bytes() + self.children


@contextmanager
def engine(
    *,
    master: str | None = None,
    conf: Sequence[str] = (),
    s3: str | None = None,
    checkpoint: str | None = None,
    resume_from: str | None = None,
) -> Iterator[Explorer]:
    """A context that starts Spark, gives the explorer on it, and ends Spark. Raises UsageError for conflicting options.

    ``checkpoint`` and ``resume_from`` are folders or ``s3://`` addresses. A resumed search continues in the place that
    it resumes from. Without either, the files are in a temporary folder.
    """
    place = resume_from if checkpoint is None else checkpoint
    if resume_from not in (None, place):
        raise UsageError(
            f"--resume {resume_from} goes on in its own folder, and --checkpoint names {checkpoint}; leave it out"
        )
    options = SparkOptions(conf=tuple(read_setting(each) for each in conf))
    if master is not None:
        options = SparkOptions(master, options.conf)
    option = "--resume" if checkpoint is None else "--checkpoint"
    storage = None if place is None else open_storage(place, s3, option)
    if storage is None and s3 is not None:
        raise UsageError("--s3 says where s3://BUCKET/PREFIX lies; name one with --checkpoint")
    if storage is None and not read_master(options.master).on_this_machine:
        raise UsageError(
            f"--master {options.master} has executors on other machines; name a folder that all of them see, or "
            "s3://BUCKET/PREFIX, with --checkpoint"
        )
    if storage is not None:
        if resume_from is not None:
            kept(storage)
        storage.check_writable()
        if resume_from is None:
            refuse_used(storage)
    # One session may search several scopes. Without a checkpoint, each search gets a new folder below `root`.
    root = TemporaryFolder("search")
    numbers = count()

    def explorer(
        machine: Interpreter, selection: Selection, symmetry: bool, keep_going: bool, meter: Meter
    ) -> SparkSearch:
        if storage is not None:
            found: FileStorage = storage
        else:
            folder = str(root.path / str(next(numbers)))
            found = Scratch(folder, folder)
        return SparkSearch(
            machine,
            selection,
            symmetry,
            keep_going,
            meter,
            cluster=cluster,
            storage=found,
            lasting=storage is not None,
            resumed=resume_from is not None,
        )

    try:
        with start_cluster(options) as cluster:
            yield explorer
    finally:
        root.remove()
