"""The command ``holdfast simulate --scenario``: moves of a partition, a day of zones, a cluster that is balanced."""

from __future__ import annotations

import json as json_format
import re
import shlex
from pathlib import Path
from typing import Literal

import attrs
from cyclopts import Parameter

from holdfast.cli.output import Ticker, say, write
from holdfast.cli.output_files import PictureFile
from holdfast.ir.errors import UsageError
from impl.cli import balance, zone_day
from impl.cli.question import checked_labels, refuse
from impl.scenario.suggest import unknown
from impl.sim.balance.simulation import LEAST_BANDWIDTH, BalanceQuestion
from impl.sim.case_file import labels
from impl.sim.move.conditions import Conditions
from impl.sim.move.measure import TAIL_BYTES, VARIANTS, LimitError, Move, MoveStudy
from impl.sim.move.plot import plot as plot_of
from impl.sim.move.report import data, lines
from impl.sim.move.simulation import MoveVariant

SCENARIOS = ["migrate", "zones", "balance"]
DEFAULT_HISTORY = "1GB,1TB,10TB"
SIZES = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
SIZES["TiB"] = 1 << 40
RATES = {"kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9}
_AMOUNT = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)([A-Za-z]+)")


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class MoveOptions:
    """A move of one partition, instead of runs under faults.

    Parameters
    ----------
    scenario
        migrate: move a partition with a history from broker 1 to broker 2, and print how long each step takes, for both
        generations unless --generation names one. zones: a day of steady load in three zones, with zone routing and
        without it: what crosses zones, and what that costs. balance: an empty broker joins three loaded ones, loads
        change, and the balancer moves partitions; with --seed, and with --without for rules of the balancer. Exit code
        12 if a promise is broken: even traffic, nothing lost, moves in seconds, one planner.
    tail
        With --scenario: the bytes that the source has not uploaded when the move begins (500MiB).
    bandwidth
        With --scenario: the bandwidth between each broker and the object store (1Gbps; balance: 10Gbps).
    plot
        With --scenario: draw the times of moves and of copies, or the load of each broker over time, to this file, as
        SVG.
    balancer
        With --scenario balance: plan as AutoMQ does (parity, the default), or so that planning ends (safe).
    """

    scenario: str | None = None
    tail: str | None = None
    bandwidth: str | None = None
    plot: PictureFile = None
    balancer: Literal["parity", "safe"] | None = None

    @property
    def given(self) -> dict[str, object]:
        """The options that only --scenario allows, by name; None if not given."""
        return {
            "--tail": self.tail,
            "--bandwidth": self.bandwidth,
            "--plot": self.plot,
            "--balancer": self.balancer,
        }


NO_MOVE = MoveOptions()


def run(
    options: MoveOptions,
    history: str | None,
    version: Literal["legacy", "V6"] | None,
    generation: Literal["G0", "G1"] | None,
    *,
    seed: int | None,
    without: tuple[str, ...],
    html: Path | None,
    json: bool,
) -> int:
    """Run the scenario, and print its report. Raises UsageError.

    ``seed``, ``without`` and ``html`` belong to ``balance``.
    """
    if options.scenario not in SCENARIOS:
        raise UsageError(f"--scenario: {unknown('scenario', str(options.scenario), SCENARIOS)}")
    if options.scenario == "zones":
        given = {**options.given, "--history": history, "--version": version, "--generation": generation}
        refuse(given, "it belongs to another --scenario")
        return zone_day.run(json=json)
    if options.scenario == "balance":
        refuse(
            {"--tail": options.tail, "--history": history, "--version": version, "--generation": generation},
            "it belongs to --scenario migrate",
        )
        question = _balance_question(options, seed, without)
        return balance.run(question, options.plot, html, json=json, command=_command(options, question))
    refuse({"--balancer": options.balancer}, "it belongs to --scenario balance")
    study = _question(options, DEFAULT_HISTORY if history is None else history, version, generation)
    moves: list[Move] = []
    with Ticker() as ticker:
        count = len(study.variants) * len(study.histories)
        for move in study.run():
            moves.append(move)
            ticker.show(f"{len(moves)} of {count} moves")
    say(json_format.dumps(data(study, moves), indent=2) if json else "\n".join(lines(study, moves)))
    if options.plot is not None:
        write(options.plot, plot_of(study, moves))
    return 0


def _command(options: MoveOptions, question: BalanceQuestion) -> str:
    """The command line of a run of ``balance``."""
    words = ["holdfast", "simulate", "--scenario", "balance", "--seed", str(question.seed)]
    words += ["--balancer", question.balancer] if question.balancer != "parity" else []
    words += ["--bandwidth", options.bandwidth] if options.bandwidth is not None else []
    words += [f"--without={label}" for label in question.without]
    return shlex.join(words)


def _balance_question(options: MoveOptions, seed: int | None, without: tuple[str, ...]) -> BalanceQuestion:
    bandwidth = 10**10 if options.bandwidth is None else _amount("--bandwidth", options.bandwidth, RATES, "10Gbps")
    if bandwidth < LEAST_BANDWIDTH:
        raise UsageError(
            f"--bandwidth {options.bandwidth}: the brokers write more than that; give 1Gbps or more, such as 10Gbps"
        )
    return BalanceQuestion(
        seed=0 if seed is None else seed,
        balancer=options.balancer or "parity",
        without=checked_labels(without, labels("balancer")),
        conditions=Conditions(bandwidth=bandwidth),
    )


def _question(
    options: MoveOptions,
    history: str,
    version: Literal["legacy", "V6"] | None,
    generation: Literal["G0", "G1"] | None,
) -> MoveStudy:
    histories = {label: _amount("--history", label, SIZES, DEFAULT_HISTORY) for label in history.split(",")}
    tail = TAIL_BYTES if options.tail is None else _amount("--tail", options.tail, SIZES, "500MiB")
    bandwidth = 10**9 if options.bandwidth is None else _amount("--bandwidth", options.bandwidth, RATES, "1Gbps")
    variants: tuple[MoveVariant, ...] = VARIANTS
    if generation is not None and version is not None:
        variants = (MoveVariant(generation, version),)
    elif generation is not None or version is not None:
        variants = tuple(each for each in VARIANTS if generation == each.generation or version == each.version)
    written = {"--tail": options.tail, "--bandwidth": options.bandwidth}
    texts = {option: text for option, text in written.items() if text is not None}
    try:
        return MoveStudy(histories, tail, variants, Conditions(bandwidth=bandwidth), texts)
    except LimitError as error:
        raise UsageError(str(error)) from error


def _amount(option: str, text: str, units: dict[str, int], example: str) -> int:
    """Read a number with a unit. ``example``: a correct text, for the message. Raises UsageError."""
    found = _AMOUNT.fullmatch(text)
    if found is None or found[2] not in units or not float(found[1]):
        raise UsageError(
            f"{option} {text}: it is no number above 0 with a unit; write one such as {example} "
            f"(units: {', '.join(units)})"
        )
    return round(float(found[1]) * units[found[2]])
