"""The command ``holdfast simulate --scenario balance``: an empty broker joins, and the balancer moves partitions."""

from __future__ import annotations

import json as json_format
from pathlib import Path

from holdfast.cli.output import Ticker, say, write
from holdfast.cli.reporting import renderer
from impl.cli.balance_page import balance_page
from impl.sim.balance.plot import plot as plot_of
from impl.sim.balance.promises import broken, end_loads
from impl.sim.balance.report import BalanceReport, data, lines
from impl.sim.balance.simulation import BalanceQuestion, run_balance
from impl.sim.balance.traffic import Traffic

HELD, BROKEN = 0, 12


def run(question: BalanceQuestion, plot: Path | None, html: Path | None, *, json: bool, command: str) -> int:
    """Make the run, and print its report. The exit code is 12 if a promise is broken.

    ``html``: the page of the run, which names the ``command`` that makes it again.
    """
    render = None if html is None else renderer("system")
    with Ticker() as ticker:
        ticker.show("some minutes of virtual time")
        found = run_balance(question)
    traffic = Traffic(found.history, found.begin)
    report = BalanceReport(found, traffic, end_loads(traffic), broken(found, traffic))
    say(json_format.dumps(data(report), indent=2) if json else "\n".join(lines(report)))
    if plot is not None:
        write(plot, plot_of(report))
    if html is not None and render is not None:
        write(html, render(balance_page(report, command)))
    return BROKEN if report.broken else HELD
