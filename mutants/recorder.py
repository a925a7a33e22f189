"""A pytest plugin that records which tests reach which lines of ``holdfast/``, and how long each test takes.

Coverage.py stores with each line the *contexts* that ran it. Here a context is one of three:

- a test;
- a fixture that many tests share; its lines count for each test that uses it;
- a test file while pytest collects it; its lines count for each test in the file.

If a file of the engine is read as text, such as a driver of the kernel, the test that reads it reaches all its lines.

Processes that a test starts are recorded too: ``sitecustomize.py`` in the copy of the tree starts coverage.py in each
of them, with the test as the context. If a process is killed, its lines are lost.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import coverage
import pytest

from mutants.lifeline import hold_on

FOLDER = "MUTANTS_RECORD"
"""The environment variable with the folder for the records."""
CONTEXT = "MUTANTS_CONTEXT"
"""The environment variable with the context for a process that a test starts."""

STARTS_SPARK = "cluster"
"""The fixture of tests that use a session on Spark. They are not recorded."""

SITE = "import coverage\n\ncoverage.process_startup()\n"
SETTINGS = """[run]
source = {source}
data_file = {data}
parallel = true
disable_warnings = no-data-collected
context = ${{{context}}}
"""


class CoverageRecorder:
    """Records one process of pytest into a folder: ``lines-*`` by coverage.py, and ``tests-*.json``.

    ``root`` is the copy of the tree in which pytest runs.
    """

    def __init__(self, folder: Path, root: Path, worker: str) -> None:
        self._folder, self._engine, self._worker = folder, f"{root / 'holdfast'}{os.sep}", worker
        self._context = ""
        self._tests: dict[str, dict[str, Any]] = {}
        self._fixtures: dict[str, float] = {}
        self._reads: dict[str, set[str]] = {}
        self._file = ""
        self._set_up: list[str] = []
        """The shared fixtures that the running test has set up."""
        self._coverage = coverage.Coverage(
            data_file=str(folder / f"lines-{worker}"), source=[str(root / "holdfast")], config_file=False
        )
        settings = folder / f"settings-{worker}.ini"
        values = {"source": root / "holdfast", "data": folder / "lines-child", "context": CONTEXT}
        settings.write_text(SETTINGS.format(**values), encoding="utf-8")
        sys.addaudithook(self._opened)
        self._coverage.start()
        os.environ["COVERAGE_PROCESS_START"] = str(settings)
        self._switch("")

    def _opened(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note each file of the engine that is read as text; imports do not count."""
        # Python opens a file for an import from its frozen import code, and source files for that as bytes.
        if event == "open" and isinstance(arguments[0], str) and arguments[0].startswith(self._engine):
            path, mode, reader = arguments[0], str(arguments[1]), sys._getframe(1).f_code.co_filename
            if path.endswith(".py") and "b" not in mode and not reader.startswith("<frozen importlib"):
                self._reads.setdefault(self._context, set()).add(path.removeprefix(self._engine))

    def _switch(self, context: str) -> str:
        """Count the lines that run from now on for this context. Returns the former context."""
        former, self._context = self._context, context
        os.environ[CONTEXT] = context
        self._coverage.switch_context(context)
        return former

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out the tests that need Spark."""
        items[:] = [item for item in items if STARTS_SPARK not in getattr(item, "fixturenames", ())]

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, Any]:
        """Count the lines that run while a file is collected for each test in it."""
        if not isinstance(collector, pytest.Module):
            return (yield)
        former = self._switch(f"file {collector.nodeid}")
        try:
            return (yield)
        finally:
            self._switch(former)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Count the lines that run now for this test.

        The caches of helper functions are cleared at each new file, so a test shares cached results only with tests of
        its file.
        """
        file = item.nodeid.partition("::")[0]
        if file != self._file:
            self._file = file
            _forget_results()
        names = getattr(item, "fixturenames", ())
        self._tests[item.nodeid] = {"seconds": 0.0, "passed": True, "fixtures": list(names)}
        self._set_up.clear()
        former = self._switch(f"test {item.nodeid}")
        try:
            return (yield)
        finally:
            self._switch(former)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        """Count the lines of a shared fixture for each test that uses it."""
        if fixturedef.scope == "function":
            return (yield)
        name = f"{fixturedef.baseid}::{fixturedef.argname}"
        self._set_up.append(name)
        former = self._switch(f"fixture {name}")
        try:
            return (yield)
        finally:
            self._switch(former)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up the duration of the test. The set-up of a shared fixture counts for the fixture, not for the test that
        happened to be the first to use it.
        """
        test = self._tests.get(report.nodeid)
        if test is None:
            return
        test["passed"] = test["passed"] and report.passed
        if report.when == "setup" and self._set_up:
            # One duration for the whole set-up: with several shared fixtures, it is attributed to the last one.
            name = self._set_up[-1]
            self._fixtures[name] = max(self._fixtures.get(name, 0.0), report.duration)
        else:
            test["seconds"] += report.duration

    def pytest_sessionfinish(self) -> None:
        """Write the records to the folder."""
        self._coverage.stop()
        self._coverage.save()
        del os.environ["COVERAGE_PROCESS_START"]
        reads = {context: sorted(files) for context, files in self._reads.items()}
        written = {"tests": self._tests, "fixtures": self._fixtures, "reads": reads}
        (self._folder / f"tests-{self._worker}.json").write_text(json.dumps(written), encoding="utf-8")


def _forget_results() -> None:
    """Clear the caches of the tests' helper functions: a file that uses a cached result would reach no lines."""
    for name, module in list(sys.modules.items()):
        if name.startswith("tests.") and module is not None:
            for value in list(vars(module).values()):
                if callable(clear := getattr(value, "cache_clear", None)):
                    clear()


class _Kernels:
    """Saves the compiled kernels of the session, because the tests' own conftest removes them at its end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def pytest_sessionfinish(self) -> None:
        """Copy the kernels to the folder of the records."""
        if "HOLDFAST_CACHE" in os.environ:
            shutil.copytree(os.environ["HOLDFAST_CACHE"], self._folder / "kernels", dirs_exist_ok=True)


def pytest_configure(config: pytest.Config) -> None:
    """Register the recorder in the processes that run tests, and save the kernels in the main process."""
    folder, worker = Path(os.environ[FOLDER]), os.environ.get("PYTEST_XDIST_WORKER")
    if worker is not None or not config.getoption("numprocesses", None):
        config.pluginmanager.register(CoverageRecorder(folder, config.rootpath, worker or "only"))
    if worker is None:
        hold_on()
        (config.rootpath / "sitecustomize.py").write_text(SITE, encoding="utf-8")
        config.pluginmanager.register(_Kernels(folder))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave the copy of the tree as it was."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        (config.rootpath / "sitecustomize.py").unlink(missing_ok=True)
