"""The fixture ``holdfast``."""

from __future__ import annotations

import pytest

from holdfast.cli.app import main
from tests.cli.running import CommandRun, Run


@pytest.fixture
def holdfast(capsys: pytest.CaptureFixture[str]) -> Run:
    """The command, as a function of its arguments."""

    def run(*argv: object) -> CommandRun:
        capsys.readouterr()
        code = main([str(arg) for arg in argv])
        return CommandRun(code, *capsys.readouterr())

    return run
