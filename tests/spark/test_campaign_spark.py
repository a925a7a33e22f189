"""Campaigns on Spark itself, and in an S3 bucket: the tables equal those of one process in a folder."""

from __future__ import annotations

from pathlib import Path

import attrs
import boto3
import pyarrow as pa
import pytest

import spark.cli.run
from holdfast.check.budget import Budget
from spark.campaign.balancer_target import BalancerTarget
from spark.campaign.cluster_target import ClusterTarget
from spark.campaign.engine import advance, begin
from spark.campaign.model_target import ModelTarget
from spark.campaign.places import UNIT_TABLES
from spark.cluster.session import Cluster, SparkJob, start_cluster
from spark.cluster.settings import SparkOptions
from spark.cluster.storage import open_storage
from spark.cluster.task import Work
from tests.cli.running import Run
from tests.spark.balancers import balancers, ran_balancers
from tests.spark.clusters import cases, clusters, ran_clusters
from tests.spark.running import BROKEN, TABLE, begun, config, here, place, ran, table_model, tables


def test_spark_writes_what_one_process_writes(cluster: Cluster, tmp_path: Path) -> None:
    """Every byte of every table is the same, except times."""
    asked = config(removed=BROKEN)
    storage = begun(tmp_path / "spark", asked)
    target = ModelTarget(table_model(BROKEN), asked)

    ended = advance(cluster, storage, asked, target, budget=Budget(), progress=lambda _now: None)

    assert ended is None
    assert tables(storage) == tables(ran(tmp_path / "here", asked))


def test_spark_simulates_what_one_process_simulates(cluster: Cluster, tmp_path: Path) -> None:
    """The same of clusters: every byte of every table, and of the files that repeat findings."""
    asked = clusters(removed=("ST-14",))
    storage, target = place(tmp_path / "spark"), ClusterTarget.of(asked)
    begin(storage, asked, target)

    advance(cluster, storage, asked, target, budget=Budget(), progress=lambda _now: None)

    alone = ran_clusters(tmp_path / "here", asked)
    assert tables(storage) == tables(alone)
    assert [storage.read(case) for case in cases(storage)] == [alone.read(case) for case in cases(alone)] != []


def test_spark_plans_what_one_process_plans(cluster: Cluster, tmp_path: Path) -> None:
    """The same of the balancer, in one, two and seven partitions."""
    asked = balancers(runs=56, per_unit=8)
    alone = ran_balancers(tmp_path / "here", asked)
    for partitions in (1, 2, 7):
        storage, target = place(tmp_path / f"spark{partitions}"), BalancerTarget.of(asked)
        begin(storage, asked, target)
        workers = DividedWorkers(cluster, partitions)

        advance(workers, storage, asked, target, budget=Budget(), progress=lambda _now: None)

        assert tables(storage) == tables(alone)
        assert [storage.read(case) for case in cases(storage)] == [alone.read(case) for case in cases(alone)] != []


@attrs.frozen
class DividedWorkers:
    """Workers of Spark that divide the units into a fixed number of partitions."""

    cluster: Cluster
    partitions: int

    @property
    def parallelism(self) -> int:
        """As of the cluster."""
        return self.cluster.parallelism

    def start(self, work: Work, payload: bytes, rows: pa.Table, schema: pa.Schema, partitions: int) -> SparkJob:  # noqa: ARG002 - the number is fixed
        """Start the work in the fixed number of partitions."""
        return self.cluster.start(work, payload, rows, schema, self.partitions)


@pytest.fixture(scope="module")
def one_process(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The tables of eight units of clusters, made in one process."""
    folder = tmp_path_factory.mktemp("one") / "a"
    return tables(ran_clusters(folder, clusters(traces=16, steps=30, per_unit=2)))


@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_partitions_do_not_matter(
    cluster: Cluster, one_process: dict[str, bytes], tmp_path: Path, partitions: int
) -> None:
    """Eight units of clusters give the same bytes in one, two and seven partitions of Spark."""
    asked = clusters(traces=16, steps=30, per_unit=2)
    storage, target = place(tmp_path), ClusterTarget.of(asked)
    begin(storage, asked, target)
    workers = DividedWorkers(cluster, partitions)
    advance(workers, storage, asked, target, budget=Budget(), progress=lambda _now: None)
    assert tables(storage) == one_process


@pytest.mark.slow
@pytest.mark.parametrize("master", ["local[1]", "local[3]", "local-cluster[2,1,1024]"])
def test_another_master_writes_the_same(master: str, tmp_path: Path) -> None:
    """The tables are the same when executors are processes of their own."""
    asked = config(removed=BROKEN)
    storage = begun(tmp_path / "spark", asked)
    target = ModelTarget(table_model(BROKEN), asked)

    with start_cluster(SparkOptions(master=master)) as workers:
        advance(workers, storage, asked, target, budget=Budget(), progress=lambda _now: None)

    assert tables(storage) == tables(ran(tmp_path / "here", asked))


def test_a_bucket_holds_what_a_folder_holds(
    holdfast: Run, s3: str, keys: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tables and the page are in the bucket, and nothing printed or written contains a credential."""
    monkeypatch.setattr(spark.cli.run, "start_cluster", here)
    client = boto3.client("s3", endpoint_url=s3, region_name="us-east-1")
    client.create_bucket(Bucket="campaigns")
    words = ["campaign", "run", "--target", TABLE, "--scope", "tiny", "--without", *BROKEN, "--runs", 3000]

    to_s3 = holdfast(*words, "--out", "s3://campaigns/a/b", "--s3", s3)
    to_folder = holdfast(*words, "--out", tmp_path / "a")
    report = holdfast("campaign", "report", "s3://campaigns/a/b", "--s3", s3)
    status = holdfast("campaign", "status", "s3://campaigns/a/b", "--s3", s3)

    assert (to_s3.code, to_folder.code, report.code, status.code) == (12, 12, 0, 12)
    bucket = open_storage("s3://campaigns/a/b", s3)
    names = [f"{table}/{name}" for table in UNIT_TABLES if table != "timing" for name in bucket.list(table)]
    assert {name: bucket.read(name) for name in (*names, "campaign.parquet", "findings.parquet")} == tables(
        place(tmp_path / "a")
    )
    listed = client.list_objects_v2(Bucket="campaigns")["Contents"]
    assert "a/b/report.html" in {each["Key"] for each in listed}
    written = b"".join(client.get_object(Bucket="campaigns", Key=each["Key"])["Body"].read() for each in listed)
    said = "".join(part for ran in (to_s3, report, status) for part in (ran.out, ran.err)).encode()
    assert not [key for key in keys if key.encode() in said + written]


def test_a_missing_bucket_is_one_line(
    holdfast: Run, s3: str, keys: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing bucket is one line, before any run."""
    monkeypatch.setattr(spark.cli.run, "start_cluster", here)

    ran = holdfast("campaign", "run", "--target", TABLE, "--out", "s3://nowhere-at-all/a", "--s3", s3)

    assert ran.code == 2
    assert "nowhere-at-all" in ran.err
    assert len(ran.err.splitlines()) == 1
    assert not [key for key in keys if key in ran.err]
