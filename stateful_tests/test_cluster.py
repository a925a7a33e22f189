"""Whole simulated clusters on moto's S3. Whatever clients, operators and faults do, no oracle and no model objects."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import Phase

from impl.rules import guards, without
from impl.sim.script import ScriptOperation
from stateful_tests.cluster.cluster import Cluster
from stateful_tests.cluster.machine import drive, machine
from stateful_tests.cluster.moto_bucket import MotoBucket, moto_bucket
from stateful_tests.cluster.shape import Shape
from stateful_tests.cluster.teeth import TEETH
from stateful_tests.partition.broken import BrokenError

MOST = 15
"""The most rules of a run that shows the lack of a rule."""
WITHIN = 500
"""The most examples until such a run is found."""


def test_clusters_keep_what_they_confirm() -> None:
    """Runs of up to thirty steps break no property."""
    drive(machine(), max_examples=30)


@pytest.mark.slow
def test_clusters_keep_what_they_confirm_for_long() -> None:
    """More and longer runs break no property either."""
    drive(machine(), max_examples=30, stateful_step_count=60)


# Missing rules --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("label", TEETH)
def test_missing_rule_is_found(label: str) -> None:
    """Without the rule a run of few rules fails: an oracle or a model objects, or a node ends with an error."""
    driven = machine()
    chosen = {"derandomize": True, "database": None, "phases": [Phase.generate]}
    with without(label), pytest.raises(AssertionError) as failed:
        drive(driven, max_examples=WITHIN, stateful_step_count=MOST, **chosen)
    rules = driven.found[1:]
    print(f"without {label}: example {driven.found_after}, {len(rules)} rules: {failed.value}")  # noqa: T201 - for -rP
    assert rules
    assert len(rules) <= MOST


def test_each_missing_rule_is_a_guard() -> None:
    """The implementation has each rule that is switched off."""
    assert set(TEETH) <= set(guards())


# The machine's own checks ---------------------------------------------------------------------------------------


@pytest.fixture
def bucket() -> Iterator[MotoBucket]:
    """An empty bucket."""
    with moto_bucket() as store:
        yield store


def _served(load: str, store: MotoBucket) -> Cluster:
    """A cluster that has acknowledged a batch."""
    cluster = Cluster(Shape(load, "V6", "G1", 2, 0), store)  # type: ignore[arg-type]
    cluster.give(ScriptOperation(1, 0, "append", 0, value=1))
    cluster.rest(1_000)
    cluster.check()
    return cluster


@pytest.mark.parametrize("load", ["streams", "partitions"])
def test_an_oracle_objects_during_a_run(load: str, bucket: MotoBucket) -> None:
    """A value that nobody has sent is noticed by the next check."""
    cluster = _served(load, bucket)
    history = cluster.simulation.history
    index = history.invoke("stranger", "poll", 0, None, cluster.simulation.queue.now, offset=0)
    history.complete(index, "ok", cluster.simulation.queue.now, value=[(0, 1, 77)], offset=1)
    with pytest.raises(BrokenError) as broken:
        cluster.check()
    assert broken.value.claim in ("aborted", "log")
    cluster.close()


def test_a_history_that_cannot_be_judged_is_no_violation(bucket: MotoBucket) -> None:
    """Else a missing rule would seem to be found by a defect of the judge."""
    cluster = _served("streams", bucket)
    history = cluster.simulation.history
    index = history.invoke("stranger", "poll", 0, None, cluster.simulation.queue.now, offset=0)
    history.complete(index, "ok", cluster.simulation.queue.now, value=[(0, 1, 1)])
    with pytest.raises(RuntimeError, match=r"the oracles cannot judge the history: poll .* no confirm offset"):
        cluster.check()
    cluster.close()


@pytest.mark.parametrize("load", ["streams", "partitions"])
def test_a_bucket_without_a_batch_is_noticed_at_the_end(load: str, bucket: MotoBucket) -> None:
    """The end reads the bucket itself: an acknowledged batch that it lacks is lost."""
    cluster = _served(load, bucket)
    cluster.store.objects = dict  # type: ignore[method-assign]
    with pytest.raises(BrokenError) as broken:
        cluster.finish()
    assert broken.value.claim == "storage"
    cluster.close()


@pytest.mark.parametrize(("load", "models"), [("streams", 1), ("partitions", 5)])
def test_models_judge_what_is_new(load: str, models: int, bucket: MotoBucket) -> None:
    """Each model judges some events; a check after which nothing happens judges none."""
    cluster = _served(load, bucket)
    before = cluster.conformance.judged
    assert len(cluster.conformance.logs) == models
    assert all(log.judged for log in cluster.conformance.logs.values())
    cluster.check()
    assert cluster.conformance.judged == before
    cluster.give(ScriptOperation(1, 0, "append", 0, value=2))
    cluster.rest(1_000)
    cluster.check()
    assert 0 < cluster.conformance.judged - before < before
    cluster.close()
