"""A pytest plugin that runs chosen tests in a given order, and logs how each one ends.

The plan is a JSON file (see ``Plan``). The log has a line for each event: first ``collecting FILE`` and
``collected FILE`` or ``uncollectable FILE``, then ``begun TEST`` and ``passed TEST`` or ``failed TEST``. If a test
exceeds its limit, the process ends, and the log has no end of that test.
"""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import shutil
from collections.abc import Generator
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import Phase, settings

from mutants.clock import now
from mutants.lifeline import hold_on

PLAN = "MUTANTS_PLAN"
"""The environment variable with the path of the plan."""
MEMORY = 6 * 2**30
"""The most bytes of data of a process: some faults make an endless loop that allocates memory."""


@attrs.frozen
class Plan:
    """Which tests to run: pairs of a test and its limit in seconds, in this order.

    ``root`` is the tree that must be under test. ``kernels`` is a folder of compiled kernels to begin with. No test
    begins later than ``seconds`` after the first.
    """

    tests: list[tuple[str, float]]
    log: str
    root: str
    kernels: str
    seconds: float

    def write(self, path: Path) -> None:
        """Write the plan."""
        path.write_text(json.dumps(attrs.asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Plan:
        """The plan that ``write`` has written."""
        return cls(**json.loads(path.read_text(encoding="utf-8")))


class Trial:
    """Runs a plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._limits = dict(plan.tests)
        self._failed: set[str] = set()
        self._begun: float | None = None

    def _log(self, event: str, test: str) -> None:
        with Path(self._plan.log).open("a", encoding="utf-8") as log:
            log.write(f"{event} {test}\n")

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, Any]:
        """Log whether a test file can be imported."""
        if not isinstance(collector, pytest.Module):
            return (yield)
        self._log("collecting", collector.nodeid)
        report = yield
        self._log("uncollectable" if report.failed else "collected", collector.nodeid)
        return report

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the tests of the plan, in its order."""
        found = {item.nodeid: item for item in items}
        items[:] = [found[test] for test, _ in self._plan.tests if test in found]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Run one test within its limit, and log how it ends. Stop the session if the plan's time is over."""
        self._begun = now() if self._begun is None else self._begun
        if now() - self._begun > self._plan.seconds:
            item.session.shouldstop = "no time left"
            return True
        self._log("begun", item.nodeid)
        faulthandler.dump_traceback_later(self._limits[item.nodeid], exit=True)
        try:
            result = yield
        finally:
            faulthandler.cancel_dump_traceback_later()
        self._log("failed" if item.nodeid in self._failed else "passed", item.nodeid)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember that a test failed."""
        if report.failed:
            self._failed.add(report.nodeid)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Set the limits, and register the trial."""
    import holdfast  # noqa: PLC0415 - imported to check which copy Python finds

    hold_on()
    plan = Plan.read(Path(os.environ[PLAN]))
    if Path(str(holdfast.__file__)).parents[1] != Path(plan.root):
        Path(plan.log).write_text(f"wrong {holdfast.__file__}\n", encoding="utf-8")
        raise pytest.UsageError(f"tests of {plan.root} would run on {holdfast.__file__}")
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    if "HOLDFAST_CACHE" in os.environ and plan.kernels:
        shutil.copytree(plan.kernels, os.environ["HOLDFAST_CACHE"], dirs_exist_ok=True)
    # Only whether a test fails matters, so Hypothesis does not shrink examples.
    settings.register_profile("mutants", settings(), phases=[Phase.explicit, Phase.generate])
    settings.load_profile("mutants")
    config.pluginmanager.register(Trial(plan))
