"""Campaigns: each unit is run once, whatever accident happens, and its findings can be shown anywhere."""

from __future__ import annotations

import io
import os
import pickle
import shlex
import signal
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest

from holdfast.check.budget import INTERRUPTED, Budget
from holdfast.check.search.engine import search
from holdfast.check.walk.engine import walk
from holdfast.check.walk.options import WalkOptions
from holdfast.ir.errors import UsageError
from holdfast.runs.loading import open_trace
from spark.campaign.config import WAVE, read_config, traces_per_unit
from spark.campaign.engine import STOPPED, advance, begin, check_same, check_version
from spark.campaign.model_target import ModelTarget
from spark.campaign.places import unit_path
from spark.campaign.reading import read_campaign
from spark.campaign.tables import from_parquet, to_parquet
from spark.cluster.storage import StorageError
from spark.cluster.task import Work
from tests.spark.running import (
    BROKEN,
    TABLE,
    DriverDiedError,
    InlineWorkers,
    LazyJob,
    begun,
    config,
    go_on,
    ran,
    table_model,
    tables,
)

Row = dict[str, Any]

# Units ---------------------------------------------------------------------------------------------------------------


def test_the_seeds_of_units_are_pinned() -> None:
    """A unit's seed is a fixed function of the campaign's seed and the unit's number."""
    assert [config(seed=seed).seed_of(unit) for seed in (0, 1) for unit in (0, 1)] == SEEDS


SEEDS = [12630601627809898417, 1726425954121364994, 11095383014634592821, 11706101452770739660]


def test_units_are_of_one_size() -> None:
    """Together the units have every run once. The last unit has the remainder."""
    asked = config(traces=730)

    assert [asked.traces_of(unit) for unit in range(asked.units)] == [100] * 7 + [30]
    assert [traces_per_unit(traces) for traces in (1, 10**5, 10**7, 10**12)] == [1 << 10, 1 << 10, 1 << 17, 1 << 21]


def test_a_unit_is_a_walk(tmp_path: Path) -> None:
    """A unit makes the runs that `holdfast walk` makes of its seed: the same steps, and the same first violation."""
    asked = config(removed=BROKEN)
    storage = ran(tmp_path, asked)
    system = table_model(BROKEN)

    for unit in range(asked.units):
        [row] = from_parquet(storage.read(unit_path("runs", unit)) or b"")
        made = walk(system, system.scope("tiny"), WalkOptions(seed=row["seed"], traces=100, depth=30), shrunk=False)
        if made.run is None:
            assert row["violations"] == 0
            assert row["steps"] == made.figures.steps
        else:
            shown = [s for s in row["sightings"] if s["run"] == made.run or s["times"] > 1]
            assert shown
            assert made.findings[0].shown.name in {s["property"] for s in row["sightings"]}
            assert row["runs"] == 100


# Whatever happens ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "workers",
    [
        InlineWorkers(tasks=1),
        InlineWorkers(tasks=2, order=lambda parts: parts[::-1]),
        InlineWorkers(parallelism=5, times=2),
        InlineWorkers(tasks=7, order=lambda parts: [*parts[1::2], *parts[::2]]),
    ],
)
def test_tables_depend_on_the_seed_alone(tmp_path: Path, workers: InlineWorkers) -> None:
    """The number of tasks, their order, and repeated tasks change no byte of the tables."""
    asked = config(removed=BROKEN)

    assert tables(ran(tmp_path / "b", asked, workers)) == tables(ran(tmp_path / "a", asked))
    assert tables(ran(tmp_path / "c", attrs.evolve(asked, seed=4), workers)) != tables(ran(tmp_path / "d", asked))


@pytest.mark.parametrize("units", [0, 1, 5])
def test_a_campaign_goes_on_where_it_was_ended(tmp_path: Path, units: int) -> None:
    """However far the driver got before it died, the final tables are those of an undisturbed campaign."""
    asked = config(removed=BROKEN)
    storage = begun(tmp_path / "a", asked)
    with pytest.raises(DriverDiedError):
        go_on(
            storage,
            asked,
            InlineWorkers(tasks=1 if units else 7, dies_after=units, order=lambda parts: [*parts, *parts]),
        )
    assert len(storage.list("runs")) == units

    go_on(storage, asked)

    assert tables(storage) == tables(ran(tmp_path / "b", asked))


def test_only_what_is_missing_is_run(tmp_path: Path) -> None:
    """A finished unit is not run again. A unit without its file in ``runs`` is, whatever other files it has."""
    asked = config()
    storage = ran(tmp_path / "a", asked)
    whole = tables(storage)
    marked = to_parquet("runs", [{**from_parquet(whole[unit_path("runs", 2)])[0], "steps": 1}])
    storage.write(unit_path("runs", 2), marked)
    storage.delete(unit_path("runs", 4))
    storage.write(unit_path("coverage", 4), b"half of i")

    go_on(storage, asked)

    assert tables(storage) == {**whole, unit_path("runs", 2): marked}


def test_lost_units_are_not_silent(tmp_path: Path) -> None:
    """If executors write elsewhere, no unit counts as done, and the campaign says so."""
    asked = config()
    storage = begun(tmp_path / "a", asked)

    class Elsewhere(InlineWorkers):
        def start(self, work: Work, payload: bytes, rows: pa.Table, schema: pa.Schema, partitions: int) -> LazyJob:  # noqa: ARG002
            return LazyJob(lambda: rows)

    with pytest.raises(StorageError, match=r"7 units were run, and their files are not there .*runs/0000000000"):
        go_on(storage, asked, Elsewhere())


def test_another_model_is_refused_by_name(tmp_path: Path) -> None:
    """A campaign does not resume with another model than it began with."""
    storage = begun(tmp_path, config())

    with pytest.raises(UsageError, match=r"was begun with Table of fingerprint \w+, and .* now is Table of \w+"):
        check_same(storage, read_campaign(storage), ModelTarget(table_model(BROKEN), config()))
    check_same(storage, read_campaign(storage), ModelTarget(table_model(), config()))


def test_an_edited_scope_is_another_campaign(tmp_path: Path) -> None:
    """A changed size or budget makes another campaign, even if the scope keeps its name."""
    storage = begun(tmp_path, config())
    system = table_model()
    tiny = system.scopes["tiny"]
    sizes = {name: size + 1 for name, size in tiny.sizes.items()}
    for scope in (attrs.evolve(tiny, sizes=sizes), attrs.evolve(tiny, budgets={"open": 1})):
        edited = ModelTarget(attrs.evolve(system, scopes={"tiny": scope}), config())
        with pytest.raises(UsageError, match="runs of different targets or scopes are not one campaign"):
            check_same(storage, read_campaign(storage), edited)


def test_another_version_of_holdfast_is_another_campaign(tmp_path: Path) -> None:
    """Another version of Holdfast makes another campaign, since it may draw other runs from the same seeds."""
    storage = begun(tmp_path, config())
    campaign = read_campaign(storage)
    check_version(storage, campaign)
    with pytest.raises(UsageError, match=r"was begun with holdfast 0\.0\.1, and this is"):
        check_version(storage, attrs.evolve(campaign, holdfast="0.0.1"))


def test_a_place_holds_one_campaign(tmp_path: Path) -> None:
    """A second campaign in the same place is refused, and the message says how to resume the first."""
    asked = config()
    storage = begun(tmp_path, asked)

    with pytest.raises(UsageError, match=r"holds a campaign; go on with `holdfast campaign resume"):
        begin(storage, asked, ModelTarget(table_model(), asked))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"traces": 0}', '{"unknown": 1}', "nonsense"])
def test_a_strange_configuration_is_one_line(text: str) -> None:
    """Any invalid row of the campaign is refused in one line."""
    with pytest.raises(UsageError, match="here: its configuration cannot be understood"):
        read_config("here", text)


def test_a_configuration_is_read_as_it_was_written() -> None:
    """A stored configuration is read back unchanged."""
    asked = attrs.evolve(config(removed=BROKEN, stop_after=2), pct=3, pct_sort="Proc", swarm=False)

    assert read_config("here", asked.to_json()) == asked


# Ending early --------------------------------------------------------------------------------------------------------


@attrs.define
class StuckWorkers:
    """Workers whose jobs end only when cancelled. The first wait calls a given function."""

    on_wait: object
    parallelism: int = 1
    cancelled: list[bool] = attrs.field(factory=list)

    def start(self, *_: object) -> StuckWorkers:
        """Start the only job."""
        return self

    def wait(self, seconds: float | None = None) -> bool:  # noqa: ARG002 - it waits for nothing
        """Never finish."""
        if callable(self.on_wait):
            self.on_wait()
        return False

    def cancel(self) -> None:
        """Record the cancellation."""
        self.cancelled.append(True)

    def result(self) -> pa.Table:
        """Fail: the job has no result."""
        raise AssertionError


def test_ctrl_c_leaves_a_campaign_that_goes_on(tmp_path: Path) -> None:
    """The first Ctrl-C ends the job, and the finished units stay."""
    asked = config()
    storage = begun(tmp_path / "a", asked)
    stuck = StuckWorkers(lambda: os.kill(os.getpid(), signal.SIGINT))
    target = ModelTarget(table_model(), asked)

    ended = advance(stuck, storage, asked, target, budget=Budget(), progress=lambda _now: None)

    assert (ended, stuck.cancelled) == (INTERRUPTED, [True])
    go_on(storage, asked)
    assert tables(storage) == tables(ran(tmp_path / "b", asked))


def test_the_budget_ends_a_campaign(tmp_path: Path) -> None:
    """A time limit ends the campaign, and the message names the limit."""
    asked = config()
    storage = begun(tmp_path, asked)
    stuck = StuckWorkers(None)
    target = ModelTarget(table_model(), asked)

    ended = advance(stuck, storage, asked, target, budget=Budget(seconds=0.01), progress=lambda _now: None)

    assert ended == "time: more than 0.01 s"
    assert stuck.cancelled == [True]


def test_enough_findings_end_a_campaign(tmp_path: Path) -> None:
    """With enough findings a campaign ends after the same units for any number of tasks, also when resumed."""
    asked = config(removed=BROKEN, traces=100 * (3 * WAVE), stop_after=1)
    one, other = begun(tmp_path / "a", asked), begun(tmp_path / "b", asked)

    assert go_on(one, asked) == go_on(other, asked, InlineWorkers(parallelism=3, times=2)) == STOPPED
    assert len(one.list("runs")) == WAVE
    assert tables(one) == tables(other)
    before = tables(one)
    assert go_on(one, asked) == STOPPED
    assert tables(one) == before


# Findings ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    """The findings of a campaign without a guard."""
    return from_parquet(ran(tmp_path_factory.mktemp("found"), config(removed=BROKEN)).read("findings.parquet") or b"")


def test_findings_are_told_apart_by_what_they_are(findings: list[Row]) -> None:
    """There is one row for each combination of property, last action and state before it, and few of them."""
    kinds = [(row["property"], row["action"], tuple(row["state"])) for row in findings]

    assert 1 <= len(kinds) == len(set(kinds)) == len({row["signature"] for row in findings}) <= 8
    assert [row["times"] for row in findings] == sorted((row["times"] for row in findings), reverse=True)


def test_findings_are_nearly_as_short_as_the_search_finds_them(findings: list[Row]) -> None:
    """Each finding shrinks to at most two steps more than the shortest violating run."""
    system = table_model(BROKEN)
    for row in findings:
        [best] = search(system, system.scope("tiny"), properties=[row["property"]]).findings
        assert best.length <= row["steps"] <= best.length + 2
        assert row["steps"] <= row["drawn"]


def test_findings_replay(findings: list[Row], tmp_path: Path) -> None:
    """The line and the file show the same run, which violates the property."""
    for row in findings:
        _, _, line = shlex.split(row["replay"])
        (tmp_path / "found.itf.json").write_text(row["itf"])
        by_line = open_trace(line).trace
        by_file = open_trace(str(tmp_path / "found.itf.json"), model=str(TABLE)).trace

        assert by_line.shown.name == by_file.shown.name == row["property"]
        assert by_line.steps == by_file.steps
        assert by_line.length == row["steps"]


def test_sums_are_those_of_the_units(tmp_path: Path) -> None:
    """A finding's numbers of runs and of units are sums over the units, and its run is the shortest."""
    asked = config(removed=BROKEN)
    storage = ran(tmp_path, asked)
    rows = [from_parquet(storage.read(unit_path("runs", unit)) or b"")[0] for unit in range(asked.units)]

    for found in from_parquet(storage.read("findings.parquet") or b""):
        seen = [(row, s) for row in rows for s in row["sightings"] if s["signature"] == found["signature"]]
        assert found["times"] == sum(s["times"] for _, s in seen)
        assert found["units"] == len(seen)
        best = min((s["steps"], row["unit"], s["run"], row["seed"]) for row, s in seen)
        assert (found["drawn"], found["unit"], found["run"], found["seed"]) == best
    assert sum(row["violations"] for row in rows) == sum(s["times"] for row in rows for s in row["sightings"])


class Stranger(pickle.Unpickler):
    """An unpickler that records the modules it imports."""

    modules: set[str]

    def find_class(self, module: str, name: str) -> Any:
        self.modules.add(module.partition(".")[0])
        return super().find_class(module, name)


def test_a_target_travels_without_its_module() -> None:
    """Executors need no module that only the driver can import, such as the user's model."""
    target = ModelTarget(table_model(), config())
    stranger = Stranger(io.BytesIO(pickle.dumps(target)))
    stranger.modules = set()

    assert stranger.load() == target
    assert stranger.modules <= {"attr", "builtins", "holdfast", "spark"}
