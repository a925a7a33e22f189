"""The good files of a case's folder, made once by the commands themselves; and the good commands on them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.cli.samples import COUNTER, EXPLOSION
from tests.hostile.running import ROOT

EXAMPLES = ROOT / "docs" / "examples"

MANIFEST = {
    "model": "counter",
    "scope": "tiny",
    "verdict": "exhausted",
    "exit_code": 0,
    "states": 6,
    "depth": 4,
    "bits": 4,
}

TLC_OUTPUT = """\
TLC2 Version 2.19 of 08 August 2024
Semantic processing of module counter
Error: Invariant grown_is_positive is violated.
Error: The behavior up to this point is:
State 1: <Initial predicate>
/\\ value = (n1 :> 0 @@ n2 :> 0)

State 2: <grow line 12, col 3 to line 14, col 20 of module counter>
/\\ value = (n1 :> 1 @@ n2 :> 0)

2 states generated, 2 distinct states found, 0 states left on queue.
"""

KERNEL = ("--scope", "tiny", "--engine", "kernel")

MAKING = (
    ("new", "lease"),
    ("scenario", "new", "mine"),
    ("check", "lease.py", "--scope", "tiny", "--itf", "run.itf.json", "--json"),
    # A search that ends within its limits writes no checkpoint.
    ("check", "counter.py", *KERNEL, "--checkpoint", "check.ckpt", "--budget", "2states"),
    ("mutate", "counter.py", "--cores", "1", "--resume", "mutants.log"),
    ("walk", "ownership", "--scope", "tiny", "--log", "log.ndjson", "--events", "30"),
    ("simulate", "--seed", "3", "--steps", "10", "--log", "events.ndjson", "--history", "history.ndjson"),
)
"""The commands that make files, in order."""

REPLAY = "line.txt"
"""The file with the replay line of the lease's violation."""


def make(folder: Path) -> None:
    """Make the good files below ``folder``: ``work``, ``home`` and ``tmp``; the cache of kernels stays beside it."""
    work = folder / "work"
    for name in ("home", "tmp", "work/models", "work/made"):
        (folder / name).mkdir(parents=True)
    (work / "counter.py").write_text(COUNTER)
    (work / "models" / "counter.py").write_text(COUNTER)
    (work / "models" / "manifest.json").write_text(f"[\n{json.dumps(MANIFEST)}\n]\n")
    (work / "explosion.py").write_text(EXPLOSION)
    (work / "tlc.txt").write_text(TLC_OUTPUT)
    for name in ("two_phase_commit.py", "lock_with_leases.py"):
        shutil.copy(EXAMPLES / name, work / name)
    shutil.copy(ROOT / "tests" / "tla" / "models" / "lamp.py", work / "lamp.py")
    shutil.copy(min((ROOT / "corpus").glob("*.json"), key=lambda path: path.stat().st_size), work / "case.json")
    for argv in MAKING:
        out = output(folder, argv)
        if "--json" in argv:
            (work / REPLAY).write_text(_line(out))
    _campaign(work / "campaign")


def output(folder: Path, argv: Sequence[str]) -> str:
    """Run a command in ``work`` of the folder, and return its standard output. It may write files there."""
    environment = os.environ | {
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),
        "HOLDFAST_CACHE": str(folder.parent / "cache"),
        "PYTHONPATH": str(ROOT),
    }
    ran = subprocess.run(
        [sys.executable, "-m", "holdfast", *argv],
        cwd=folder / "work",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode not in (0, 10, 12, 20):
        raise RuntimeError(f"holdfast {' '.join(argv)} ended with {ran.returncode}: {ran.stderr}")
    return ran.stdout


def _line(out: str) -> str:
    """The replay line in the JSON of a search."""
    text = json.dumps(json.loads(out.splitlines()[0]))
    begin = text.index("holdfast replay '") + len("holdfast replay '")
    return f"{json.loads(chr(34) + text[begin : text.index(chr(39), begin)] + chr(34))}\n"


CAMPAIGN = """
import sys
from pathlib import Path
from tests.spark.running import config, ran
ran(Path(sys.argv[1]), config(removed=("CK-02.epoch",)))
"""


def _campaign(place: Path) -> None:
    """A finished campaign over the stream table, made without Spark."""
    subprocess.run([sys.executable, "-c", CAMPAIGN, str(place)], cwd=ROOT, check=True, capture_output=True)


def commands(line: str) -> tuple[tuple[str, ...], ...]:
    """The good commands: each verb, with each kind of file that it reads. ``line``: a replay line."""
    return (
        ("check", "counter.py", "--scope", "tiny"),
        ("check", "lease.py", "--scope", "tiny", "--budget", "2000states", "--html", "made/check.html"),
        (
            "check",
            "lease.py",
            "--scope",
            "tiny",
            "--itf",
            "made/run.json",
            "--junit",
            "made/junit.xml",
            "--sarif",
            "made/a.sarif",
        ),
        ("check", "counter.py", "--scope", "tiny", "--graph", "made/graph.dot", "--no-symmetry"),
        ("check", "counter.py", "--json", "--without", "CT-01", "--expect", "violated", "--github"),
        ("check", "counter.py", *KERNEL, "--cores", "1"),
        ("check", "counter.py", *KERNEL, "--resume", "check.ckpt"),
        ("check", "counter.py", *KERNEL, "--checkpoint", "made/new.ckpt"),
        ("live", "lamp.py", "--budget", "5s", "--cores", "1"),
        ("walk", "lease.py", "--scope", "tiny", "--runs", "20", "--seed", "3", "--engine", "interpreter"),
        (
            "walk",
            "counter.py",
            "--runs",
            "20",
            "--pct",
            "2",
            "--json",
            "--engine",
            "interpreter",
            "--itf",
            "made/w.json",
        ),
        ("walk", "ownership", "--scope", "tiny", "--log", "made/log.ndjson", "--events", "20"),
        (
            "prove",
            "two_phase_commit.py",
            "--quick",
            "0.3",
            "--long",
            "0.5",
            "--cores",
            "1",
            "--no-suggest",
            "--budget",
            "6s",
        ),
        ("prove", "lock_with_leases.py", "--fragment"),
        ("mutate", "counter.py", "--cores", "1", "--budget", "5s"),
        ("mutate", "counter.py", "--resume", "mutants.log", "--cores", "1", "--budget", "5s", "--json"),
        ("mutate", "counter.py", "--only", "CT-01", "--no-pairs", "--rules", "--budget", "5s", "--cores", "1"),
        ("tla", "counter.py", "--out", "spec"),
        ("tla", "lamp.py", "--scope", "tiny", "--out", "spec", "--check"),
        ("tlc", "counter.py", "--limit", "20"),
        ("new", "another"),
        ("replay", line),
        ("replay", "-"),
        ("replay", "run.itf.json", "--full"),
        ("replay", "line.txt", "--model", "lease.py"),
        ("show", "run.itf.json", "--why", "--diagram"),
        ("show", "tlc.txt", "--model", "counter.py"),
        ("show", line, "--refused", "--rules", "--full", "--html", "made/a.html"),
        ("show", "run.itf.json", "--only", "epoch", "--svg", "made/a.svg"),
        ("explore", "run.itf.json", "--at", "1"),
        ("shrink", line, "--budget", "200", "--itf", "made/s.json"),
        ("shrink", "run.itf.json", "--json", "--budget", "200"),
        ("graph", "counter.py", "--html", "made/g.html"),
        ("graph", "counter.py", "--html", "made/g.html", "--depth", "3"),
        ("diff", "counter.py", "counter.py-CT-01", "--scope", "tiny", "--cores", "1", "--html", "made/d.html"),
        ("diff", "lease.py", "lease.py", "--scope", "tiny", "--json", "--budget", "3s", "--cores", "1"),
        ("conform", "ownership", "log.ndjson", "--budget", "5s", "--html", "made/l.html"),
        ("conform", "ownership", "events.ndjson", "--map", "ownership", "--budget", "5s", "--json"),
        ("conform", "ownership", "-", "--run", "made/run.py", "--budget", "5s"),
        ("rule", "ST-14", "CK-01.flag"),
        ("rule", "ST-14", "--json"),
        ("verify", "--only", "counter", "--only", "check", "--budget", "10s", "--junit", "made/v.xml"),
        ("simulate", "--seed", "3", "--steps", "8", "--budget", "5s", "--html", "made/sim.html"),
        ("simulate", "--seeds", "1..3", "--steps", "5", "--jobs", "1", "--budget", "5s", "--json", "--keep", "made"),
        ("simulate", "case.json", "--timeline", "--budget", "5s"),
        (
            "simulate",
            "--seed",
            "4",
            "--steps",
            "5",
            "--log",
            "made/e.ndjson",
            "--history",
            "made/h.ndjson",
            "--budget",
            "5s",
        ),
        ("scenario", "run", "mine.yaml", "--junit", "made/s.xml"),
        ("scenario", "run", "mine.yaml", "--failover-at", "1", "--json", "--html", "made/sc.html"),
        ("scenario", "new", "made/other"),
        ("scenario", "schema"),
        (
            "scenario",
            "from-trace",
            "ownership tiny -ST-14 #0000000000000000 one_owner: open(p1,s1,1,True)",
            "--out",
            "made/x.yaml",
        ),
        ("campaign", "status", "campaign"),
        ("campaign", "report", "campaign", "--html", "made/c.html"),
        ("campaign", "diff", "campaign", "campaign"),
        ("campaign", "plan", "campaign", "--runs", "1e9", "--cores", "100"),
        ("campaign", "run", "--target", "counter.py", "--out", "made/c", "--runs", "1000", "--scope", "tiny"),
        ("campaign", "resume", "campaign", "--budget", "5s"),
        ("--help",),
        ("models",),
    )
