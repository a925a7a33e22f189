"""The commands that get signals: for each verb one that takes some seconds, with the files that it reads."""

from __future__ import annotations

import shutil
from pathlib import Path

import attrs

from tests.cli.samples import EXPLOSION
from tests.hostile.good import output
from tests.hostile.running import ROOT

LINE = "LINE"
"""Stands for the replay line of the good files."""

TABLE = ROOT / "tests" / "check" / "models" / "table.py"
"""The model of the good campaign, which does not come along."""

LOCAL = ("--master", "local[2]")


@attrs.frozen
class LongCommand:
    """A command that takes seconds.

    ``codes``: the exit codes, beside 20, of an orderly end after a signal. ``seconds``: for a command that runs until a
    signal comes, the time in which it comes; None for a command that ends by itself.
    """

    argv: tuple[str, ...]
    codes: frozenset[int] = frozenset()
    seconds: float | None = None

    def with_line(self, line: str) -> LongCommand:
        """The command with the replay line in its place."""
        return attrs.evolve(self, argv=tuple(line if word == LINE else word for word in self.argv))


def _of(*argv: str) -> LongCommand:
    return LongCommand(argv)


COMMANDS: dict[str, LongCommand] = {
    "check": _of("check", "explosion.py", "--scope", "small", "--checkpoint", "made/e.ckpt", "--cores", "2"),
    "check --engine spark": _of("check", "explosion.py", "--scope", "small", "--engine", "spark", *LOCAL),
    "live": _of("live", "reassignment", "--scope", "live"),
    "walk": _of("walk", "ownership", "--runs", "20000", "--cores", "2"),
    "prove": _of("prove", "two_phase_commit.py", "--cores", "2"),
    "mutate": _of("mutate", "two_phase_commit.py", "lock_with_leases.py", "--cores", "2"),
    "tla": _of("tla", "ownership", "stream_log", "--out", "spec"),
    "tlc": _of("tlc", "counter.py", "lamp.py"),
    "new": _of("new", "another"),
    "models": _of("models"),
    "replay": _of("replay", LINE),
    "show": _of("show", "run.itf.json", "--model", "lease.py", "--why", "--diagram", "--rules"),
    "shrink": _of("shrink", LINE),
    "diff": _of("diff", "ownership", "ownership-ST-14", "--scope", "tiny"),
    "graph": _of("graph", "controller_tables", "--html", "made/g.html"),
    "conform": _of("conform", "ownership", "long.ndjson", "--run", "made/run.py"),
    "rule": _of("rule", "ST-14", "CK-01.flag"),
    "verify": _of("verify", "--only", "counter", "--only", "check"),
    "simulate": _of("simulate", "--seeds", "1..60", "--steps", "30", "--jobs", "2"),
    "scenario run": _of("scenario", "run", *["mine.yaml"] * 200, "--failover-at", "all"),
    "scenario from-model": _of("scenario", "from-model", "ownership", "--out", "made/scenarios"),
    "scenario from-trace": _of("scenario", "from-trace", "open.itf.json", "--out", "made/x.yaml"),
    "campaign run": _of(
        "campaign", "run", "--target", "counter.py", "--out", "made/c", "--runs", "200000", "--scope", "tiny", *LOCAL
    ),
    "campaign resume": _of("campaign", "resume", "begun", "--model", str(TABLE), *LOCAL),
    "campaign plan": _of("campaign", "plan", "--target", "counter.py", "--runs", "1e9", "--cores", "4"),
    "campaign status": _of("campaign", "status", "campaign"),
    "campaign report": _of("campaign", "report", "campaign", "--html", "made/c.html"),
    "campaign diff": _of("campaign", "diff", "campaign", "campaign"),
    "cluster test": _of("cluster", "test", "--seconds", "3", "--seed", "2"),
    "cluster up": LongCommand(("cluster", "up"), codes=frozenset({0}), seconds=12.0),
}
"""The commands, by the name of the verb in the table."""


MAKING = (
    ("verify", "--update"),
    ("walk", "ownership", "--scope", "tiny", "--log", "long.ndjson", "--events", "2000"),
    ("check", "ownership", "--scope", "tiny", "--without", "ST-14", "--itf", "open.itf.json"),
)
"""The commands that make further files."""


def more_files(good: Path) -> None:
    """Add the files of these commands to the good ones: a begun campaign, a smaller scope, a long log, a run."""
    work = good / "work"
    shutil.copytree(work / "campaign", work / "begun")
    for path in (work / "begun" / "runs").iterdir():
        path.unlink()
    small = EXPLOSION.replace("large = ", "small = Scope({Node: 3, Count: 3})\n    large = ")
    (work / "explosion.py").write_text(small)
    for argv in MAKING:
        output(good, argv)
