"""Draws hostile cases: the seed and the number of a case decide all of it."""

from __future__ import annotations

import random
import signal
from collections.abc import Sequence
from pathlib import Path

import attrs

from tests.hostile.bad_data import bad_bytes, bad_json, bad_text
from tests.hostile.bad_models import bad_model
from tests.hostile.case import KINDS, HostileCase

WEIGHTS = (24, 22, 30, 10, 10, 4)
"""How often each of KINDS is drawn."""

FRESH = 0.02
"""The share of cases that start a new interpreter; of signals, half do."""

VALUES = (
    "", "-", "--", "-1", "0", "1", "2", "7", "1e3", "1e400", "nan", "inf", "-inf", "0x5eed", "9" * 30, "9" * 5000,
    "1.5", "٣", "tiny", "default", "nothing", "counter.py", "counter.py:Counter", "counter.py:", ":", "lease.py",
    "ownership", "é", "\udcff", "\x1b[31mred", "a\nb", ".", "/", "..", "/dev/null", "/dev/full", "/dev/zero", "pipe",
    "made", "made/x", "no/such/x", "x" * 300, "/" + "x/" * 3000, "run.itf.json", "log.ndjson", "check.ckpt",
    "mutants.log", "mine.yaml", "case.json", "campaign", "tlc.txt", "5states", "1s", "-1s", "1e400states", "1e5000s",
    "2GB,1s", "1..0", "3..5", "1..99999999999999999999", "all", "CT-01", "CT-01@grow", "ST-14", "@", "grown",
    "violated", "holds", "kernel", "interpreter", "s3://", "s3://a/b", "local[1]", "spark://127.0.0.1:1", "True",
)  # fmt: skip
"""Values of options and arguments."""

LONG = (
    ("check", "explosion.py", "--scope", "large"),
    ("check", "explosion.py", "--scope", "large", "--engine", "kernel", "--checkpoint", "made/e.ckpt"),
    ("walk", "explosion.py", "--runs", "100000000"),
    ("live", "lamp.py", "explosion.py", "--scope", "large"),
    ("prove", "two_phase_commit.py", "--seeds", "40"),
    ("prove", "two_phase_commit.py", "--seeds", "40", "--cores", "1"),
    ("prove", "two_phase_commit.py", "--ablate", "--cores", "2"),
    ("mutate", "two_phase_commit.py", "lease.py", "ownership", "--cores", "2"),
    ("mutate", "explosion.py", "--scope", "large", "--cores", "1"),
    ("diff", "explosion.py", "explosion.py", "--scope", "large"),
    ("verify",),
    ("simulate", "--seeds", "1..5000"),
    ("simulate", "--seed", "1", "--steps", "20000"),
    ("scenario", "from-model", "ownership", "--out", "made/scenarios"),
    ("scenario", "run", *["mine.yaml"] * 400),
    ("conform", "ownership", *["log.ndjson"]),
    ("models",),
    ("campaign", "plan", "--target", "ownership", "--runs", "1e9", "--cores", "4"),
)
"""Commands that take long enough for a signal."""

WITH_JAVA = (("tlc", "explosion.py", "--scope", "large"), ("tlc", "counter.py", "lamp.py"))

JAVA_HOME = "JAVA_HOME"

NO_JAVA = {JAVA_HOME: "/nonexistent"}
"""Java takes seconds to start. Most cases find none."""

ENVIRONMENTS = (
    {"COLUMNS": "99999999"}, {"COLUMNS": "0"}, {"COLUMNS": "1"}, {"COLUMNS": "-5"}, {"COLUMNS": "x"},
    {"COLUMNS": "9" * 5000}, {"LINES": "0"}, {"TERM": "dumb"}, {"TERM": ""}, {"NO_COLOR": "1"}, {"FORCE_COLOR": "1"},
    {"LANG": "C", "LC_ALL": "C"}, {"LC_ALL": "xx_YY"}, {"PYTHONIOENCODING": "ascii"},
    {"PYTHONUTF8": "0", "LC_ALL": "POSIX"}, {"PYTHONWARNINGS": "error"}, {"PYTHONOPTIMIZE": "2"},
    {"HOME": "/nonexistent"}, {"HOME": ""}, {"TMPDIR": "/nonexistent"}, {"TMPDIR": "/dev/null"},
    {"HOLDFAST_CACHE": "/dev/null"}, {"HOLDFAST_CACHE": "/proc"}, {"HOLDFAST_CACHE": "x" * 5000},
    {"HOLDFAST_CACHE": "\udcff"}, {"JAVA_HOME": ""}, {"JAVA_HOME": "counter.py"}, {"TLA2TOOLS_JAR": "counter.py"},
    {"TLA2TOOLS_JAR": "made"}, {"PATH": ""}, {"SPARK_HOME": "/nonexistent"}, {"PYTHONHASHSEED": "7"}, {"TZ": "x"},
    {"XDG_CACHE_HOME": "\x1b[31m"}, {"NUMBA_DISABLE_JIT": "1"}, {"OMP_NUM_THREADS": "x"}, {"EDITOR": ""},
    {"HOLDFAST_DEBUG": "0"},
)  # fmt: skip
"""Odd variables."""

STREAMS = ({1: "closed"}, {2: "closed"}, {0: "closed"}, {1: "full"}, {2: "full"}, {1: "broken"}, {2: "broken"})
STREAMS = (*STREAMS, {0: "closed", 1: "closed", 2: "closed"}, {1: "full", 2: "full"}, {1: "broken", 2: "broken"})

DATA = (
    "run.itf.json",
    "line.txt",
    "tlc.txt",
    "log.ndjson",
    "events.ndjson",
    "mine.yaml",
    "case.json",
    "models/manifest.json",
)
"""Files that a command reads as text."""

STORED = (
    "check.ckpt",
    "mutants.log",
    "campaign/campaign.parquet",
    "campaign/findings.parquet",
    "campaign/runs",
    "campaign/coverage",
)
"""Files that a command has stored."""


@attrs.frozen
class CaseDrawing:
    """The source of cases. ``good``: the folder of good files. ``commands``: the good commands.

    ``options``: for each verb, the names of its options.
    """

    good: Path
    commands: Sequence[tuple[str, ...]]
    options: dict[str, tuple[str, ...]]
    seed: int

    def case(self, number: int) -> HostileCase:
        """The case of that number."""
        chance = random.Random(f"{self.seed} {number}")
        kind = chance.choices(KINDS, WEIGHTS)[0]
        case: HostileCase = getattr(self, f"_{kind}")(number, chance)
        share = 0.5 if kind == "signals" else FRESH
        environment = dict(case.environment)
        if case.argv[:1] not in (("tlc",), ("verify",)) or chance.random() < 0.9:
            environment = NO_JAVA | environment
        return attrs.evolve(case, fresh=chance.random() < share, environment=environment)

    def _reading(self, chance: random.Random, name: str) -> tuple[str, ...]:
        """A good command that reads the file ``name``; any command if none does."""
        found = [argv for argv in self.commands if any(word.startswith(name) for word in argv)]
        return chance.choice(found or self.commands)

    def _models(self, number: int, chance: random.Random) -> HostileCase:
        argv = self._reading(chance, "counter.py")
        return HostileCase(number=number, kind="models", argv=argv, files={"counter.py": bad_model(chance)})

    def _runs(self, number: int, chance: random.Random) -> HostileCase:
        name = chance.choice(DATA)
        text = (self.good / "work" / name).read_text()
        if name == "line.txt" and chance.random() < 0.7:
            argv = tuple(
                bad_text(text.strip(), chance).replace("\0", "") if " #" in word else word
                for word in self._with_line(chance)
            )
            return HostileCase(number=number, kind="runs", argv=argv)
        changed = (
            bad_json(text, chance)
            if name.endswith("json") and chance.random() < 0.8
            else bad_text(text, chance).encode()
        )
        changed = bad_bytes(changed, chance) if chance.random() < 0.15 else changed
        argv = self._reading(chance, "verify" if name.startswith("models") else name)
        stdin = changed if "-" in argv else b""
        return HostileCase(number=number, kind="runs", argv=argv, files={name: changed}, stdin=stdin)

    def _with_line(self, chance: random.Random) -> tuple[str, ...]:
        return chance.choice([argv for argv in self.commands if any(" #" in word for word in argv)])

    def _options(self, number: int, chance: random.Random) -> HostileCase:
        argv = list(chance.choice(self.commands))
        names = self.options.get(" ".join(argv[:2]), self.options.get(argv[0], ()))
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(len(argv) + 1)
            match chance.randrange(6):
                case 0 if argv:
                    del argv[min(at, len(argv) - 1)]
                case 1 if argv:
                    argv[min(at, len(argv) - 1)] = chance.choice(VALUES)
                case 2:
                    argv.insert(at, chance.choice(VALUES))
                case 3 if argv:
                    other = chance.randrange(len(argv))
                    argv[other], argv[at - 1] = argv[at - 1], argv[other]
                case _ if names:
                    option = chance.choice(names)
                    argv += (
                        [f"{option}={chance.choice(VALUES)}"]
                        if chance.random() < 0.3
                        else [option, chance.choice(VALUES)]
                    )
        words = tuple(word.replace("\0", "") for word in argv)
        return HostileCase(number=number, kind="options", argv=words, pipes=("pipe",))

    def _surroundings(self, number: int, chance: random.Random) -> HostileCase:
        argv = chance.choice(self.commands)
        case = HostileCase(number=number, kind="surroundings", argv=argv)
        match chance.randrange(5):
            case 0:
                return attrs.evolve(case, streams=chance.choice(STREAMS))
            case 1:
                return attrs.evolve(case, environment=chance.choice(ENVIRONMENTS))
            case 2:
                named = [word for word in argv[1:] if (self.good / "work" / word).is_file() or "." in word[1:]]
                pipes = (chance.choice(named),) if named and " " not in named[0] else ()
                return attrs.evolve(case, pipes=pipes)
            case 3:
                named = [word for word in argv[1:] if len(word) < 100 and (self.good / "work" / word).is_file()]
                return attrs.evolve(case, files=dict.fromkeys(named))
            case _:
                return attrs.evolve(case, folder_gone=chance.random() < 0.3, streams=chance.choice(STREAMS))

    def _damage(self, number: int, chance: random.Random) -> HostileCase:
        if chance.random() < 0.3:
            return self._damaged_cache(number, chance)
        name = chance.choice(STORED)
        path = self.good / "work" / name
        if path.is_dir():
            path = chance.choice(sorted(path.iterdir()))
            name = path.relative_to(self.good / "work").as_posix()
        damaged = {name: None if chance.random() < 0.05 else bad_bytes(path.read_bytes(), chance)}
        return HostileCase(number=number, kind="damage", argv=self._reading(chance, name.split("/")[0]), files=damaged)

    def _damaged_cache(self, number: int, chance: random.Random) -> HostileCase:
        cached = sorted((self.good.parent / "cache").rglob("*.kernel"))
        files = {}
        for path in cached[:4]:
            place = "../cache/" + path.relative_to(self.good.parent / "cache").as_posix()
            files[place] = bad_bytes(path.read_bytes(), chance)
        argv = chance.choice([argv for argv in self.commands if "kernel" in argv])
        return HostileCase(
            number=number, kind="damage", argv=argv, files=files, environment={"HOLDFAST_CACHE": "../cache"}
        )

    def _signals(self, number: int, chance: random.Random) -> HostileCase:
        java = chance.random() < 0.1
        number_of_signal = chance.choice((signal.SIGINT, signal.SIGTERM, signal.SIGINT, signal.SIGTERM, signal.SIGKILL))
        return HostileCase(
            number=number,
            kind="signals",
            argv=chance.choice(WITH_JAVA if java else LONG),
            environment={JAVA_HOME: ""} if java else {},
            signal=number_of_signal,
            delay=FIRST + chance.expovariate(1.0) if chance.random() < 0.7 else FIRST + chance.random() * 8,
        )


FIRST = 0.12
"""Seconds before the first signal: until then a copy of this process may not have come to the command."""
