"""The fixture ``holdfast``."""

from __future__ import annotations

import pytest

from holdfast.cli.app import main
from tests.cli.running import CommandRun, Run
from tests.hostile.judgement import errors, has_remedy


@pytest.fixture
def holdfast(capsys: pytest.CaptureFixture[str]) -> Run:
    """The command, as a function of its arguments. Each line of an error must name a remedy."""

    def run(*argv: object) -> CommandRun:
        capsys.readouterr()
        code = main([str(arg) for arg in argv])
        ran = CommandRun(code, *capsys.readouterr())
        for line in errors(code, ran.out.encode(errors="replace"), ran.err.encode(errors="replace")):
            assert has_remedy(line), f"{line!r} does not say what to do; write `PROBLEM; REMEDY`"
        return ran

    return run
