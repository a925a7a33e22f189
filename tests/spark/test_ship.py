"""Shipping to executors on other machines: code that runs from an archive, and kernels that are already compiled."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from spark.cluster.ship import code_archive

ROOT = Path(__file__).parents[2]

MODEL = ROOT / "tests" / "lower" / "models" / "streams.py"

PATIENCE = 300
"""Seconds for a process, on a busy machine."""

FROM_ARCHIVE = """
import sys
sys.path.insert(0, sys.argv[1])
from holdfast.lower.kernel.build import kernel_text
import holdfast.lower.kernel.packing as packing, spark.cluster.task
print(packing.__file__, spark.cluster.task.__file__, len(kernel_text("", "driver.py")) > 1000)
"""

SIMULATION = """
import sys
sys.path.insert(0, sys.argv[1])
import impl.rules
from spark.campaign.cluster_target import ClusterTarget
from spark.campaign.config import ClusterOptions, Config
asked = Config(target="cluster", scope="", removed=("ST-14",), traces=1, depth=9, seed=1, traces_per_unit=1,
               cluster=ClusterOptions(steps=9, streams=1))
ready = ClusterTarget.of(asked).ready()
print(impl.rules.__file__, ready.run(1, 1).runs, len(ready.run(1, 1).rules) > 80)
"""

SEARCH = """
import sys
from pathlib import Path
from holdfast.check.search.engine import search
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.lower.kernel.build import compiled_here
from spark.cluster.ship import kernels, unpack_kernels
if sys.argv[2] == "unpack":
    unpack_kernels(sys.argv[3])
system = compile_model(load_model(sys.argv[1]))
found = search(system, system.scopes["tiny"], engine="kernel")
print(found.figures.distinct, len(compiled_here))
if sys.argv[2] == "pack":
    Path(sys.argv[3]).write_bytes(kernels())
"""

CLUSTER = """
import attrs, json, pickle, sys
import pyarrow as pa
from holdfast.check.search.engine import search
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from spark.cluster.session import start_cluster
from spark.cluster.settings import SparkOptions
from tests.spark import tasks
system = compile_model(load_model(sys.argv[1]))
search(system, system.scopes["tiny"], engine="kernel")
payload = pickle.dumps(attrs.evolve(system, python=object))
units = pa.table({"unit": list(range(4))})
conf = (("spark.executorEnv.HOLDFAST_CACHE", sys.argv[2]),)
with start_cluster(SparkOptions("local-cluster[2,1,1024]", conf)) as cluster:
    print(json.dumps(cluster.map(tasks.searched, payload, units, tasks.KERNEL, 4).to_pylist()))
"""


def run(program: str, *arguments: str, **variables: str) -> str:
    """The standard output of a separate process, which prints nothing else."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT)} | variables,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


def test_equal_code_is_an_equal_archive() -> None:
    """The bytes of the archive do not depend on when or where it was made."""
    data = code_archive()
    assert data == code_archive()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
    assert names == sorted(names)
    assert {name.partition("/")[0] for name in names} == {"holdfast", "impl", "spark"}
    assert all(name.endswith(".py") and "__pycache__" not in name for name in names)


def test_code_runs_from_the_archive(tmp_path: Path) -> None:
    """A kernel's source is made from files inside the archive."""
    archive = tmp_path / "holdfast.zip"
    archive.write_bytes(code_archive())

    packing, task, enough = run(FROM_ARCHIVE, str(archive)).split()

    assert packing.startswith(f"{archive}/")
    assert task.startswith(f"{archive}/")
    assert enough == "True"


def test_clusters_are_simulated_from_the_archive(tmp_path: Path) -> None:
    """Rules are switched off and listed although the implementation's source lies in the archive."""
    archive = tmp_path / "holdfast.zip"
    archive.write_bytes(code_archive())

    rules, runs, enough = run(SIMULATION, str(archive)).split()

    assert rules.startswith(f"{archive}/")
    assert (runs, enough) == ("1", "True")


@pytest.mark.parametrize("cache", ["empty", pytest.param("in the way", marks=pytest.mark.slow)])
def test_a_kernel_is_not_compiled_again(cache: str, tmp_path: Path) -> None:
    """With another machine's unpacked kernels a search compiles nothing, also where there can be no cache."""
    packed, there = str(tmp_path / "kernels"), tmp_path / "there"
    states, compiled = run(SEARCH, str(MODEL), "pack", packed, HOLDFAST_CACHE=str(tmp_path / "here")).split()
    assert int(compiled) > 0
    if cache == "in the way":
        there.touch()

    again = run(SEARCH, str(MODEL), "unpack", packed, HOLDFAST_CACHE=str(there)).split()

    assert again == [states, "0"]


@pytest.mark.slow
def test_a_cluster_gets_code_and_kernels(tmp_path: Path) -> None:
    """Executors in separate processes run the shipped code, and compile nothing."""
    out = run(CLUSTER, str(MODEL), str(tmp_path / "theirs"), HOLDFAST_CACHE=str(tmp_path / "ours"))

    answers = json.loads(out)
    assert len(answers) == 4
    assert all(answer["compiled"] == 0 and "holdfast.zip" in answer["code"] for answer in answers)
    assert list((tmp_path / "theirs").rglob("*.kernel"))
