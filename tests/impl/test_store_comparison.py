"""Object stores side by side: a store with a planted fault is noticed, and Ceph's gateway is what the page says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from holdfast.cli.app import main
from impl.store.interface import Answer, List, ObjectPage, Operation, Put
from impl.store.memory import MemoryStore
from tests.impl.rados_gateway import CREDENTIALS, missing_programs, rados_gateway
from tests.impl.store_comparison import OPERATIONS, PAGE, RACES, SEED, differences, drawn, table, winners

needs_ceph = pytest.mark.skipif(bool(missing_programs()), reason="Ceph is not installed")


class ForgetfulStore(MemoryStore):
    """A store that ignores the condition of a put, and whose lists lack the last object."""

    def execute(self, operation: Operation) -> Answer:
        """As a store in memory, with these two faults."""
        match operation:
            case Put(key, data):
                return super().execute(Put(key, data))
            case List():
                page = super().execute(operation)
                assert isinstance(page, ObjectPage)
                return ObjectPage(page.entries[:-1], page.more)
        return super().execute(operation)


def test_equal_stores_do_not_differ() -> None:
    """Two stores in memory answer alike, and the operations come in all situations, more than once each."""
    found, came = differences({"one": MemoryStore(), "two": MemoryStore()}, list(drawn(OPERATIONS, SEED)))
    assert not found
    assert len(came) == 24
    assert min(came.values()) > 1


def test_a_fault_of_a_store_is_found() -> None:
    """Each planted fault shows in its situations, and in no others."""
    found, _ = differences({"one": MemoryStore(), "two": ForgetfulStore()}, list(drawn(OPERATIONS, SEED)))
    assert {each.situation for each in found} == {
        "list a folder",
        "list a folder from a key on",
        "put if the etag is another, an object there",
        "put if the etag is another, no object there",
        "put if there is none, an object there",
    }


def test_operations_come_from_their_seed() -> None:
    """The same seed gives the same operations, another seed others."""
    assert list(drawn(200, 5)) == list(drawn(200, 5)) != list(drawn(200, 6))


# Ceph ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ceph() -> Iterator[str]:
    """The URL of Ceph's gateway, which has the bucket ``stores``."""
    from impl.store.s3_boto import create_bucket  # noqa: PLC0415 - an extra

    with pytest.MonkeyPatch.context() as patch, rados_gateway() as url:
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        create_bucket("stores", url)
        yield url


@needs_ceph
@pytest.mark.slow
def test_the_page_has_what_ceph_answers(ceph: str) -> None:
    """Each row of the page's first table ends with Ceph's answer of today."""
    from impl.store.s3_obstore import ObstoreStore  # noqa: PLC0415 - an extra

    text = table({"simulator": MemoryStore(), "Ceph": ObstoreStore("stores", ceph)}, {})
    page = Path(PAGE).read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in text.splitlines() if " of " in line and line.startswith("| ")]
    assert rows
    for situation, times, simulator, answer in rows:
        (row,) = (line for line in page.splitlines() if line.startswith(f"{situation} | {times} | {simulator} | "))
        assert row.endswith(f" | {answer}")


@needs_ceph
@pytest.mark.slow
def test_one_writer_wins_on_ceph(ceph: str) -> None:
    """Of eight writers that put an object if there is none, one is told that it did, for each of forty keys."""
    from impl.store.s3_obstore import ObstoreStore  # noqa: PLC0415 - an extra

    assert winners(partial(ObstoreStore, "stores", ceph), new=True) == {1: RACES}


@needs_ceph
@pytest.mark.slow
@pytest.mark.parametrize("version", ["V6", "legacy"])
def test_a_cluster_runs_on_ceph(ceph: str, capsys: pytest.CaptureFixture[str], version: str) -> None:
    """A cluster of processes under faults loses nothing on Ceph's gateway, and the models allow its log."""
    from impl.store.s3_boto import create_bucket  # noqa: PLC0415 - an extra

    bucket = f"cluster-{version.lower()}"
    create_bucket(bucket, ceph)
    argv = ["--seconds", "12", "--kill-every", "4", "--version", version, "--s3", ceph, "--bucket", bucket, "--json"]
    code = main(["cluster", "test", *argv])
    found = json.loads(capsys.readouterr().out)
    assert (code, found["violations"], found["not_judged"]) == (0, [], None), found
    assert {each["verdict"] for each in found["models"]} == {"conforms"}
    assert (found["records"]["lost"], found["records"]["twice"]) == (0, 0)
    assert found["records"]["acked"] > 1_000
