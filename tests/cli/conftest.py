"""The fixture ``holdfast``."""

from __future__ import annotations

import pytest

from holdfast.cli.app import main
from tests.cli.running import Ran, Run


@pytest.fixture
def holdfast(capsys: pytest.CaptureFixture[str]) -> Run:
    """The command, as a function of its arguments."""

    def run(*argv: object) -> Ran:
        capsys.readouterr()
        code = main([str(arg) for arg in argv])
        return Ran(code, *capsys.readouterr())

    return run
