"""The command ``holdfast``: its verbs, and the one place that turns an error into a line and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import entry_points
from pathlib import Path

from cyclopts import App, CycloptsError, Parameter
from cyclopts.exceptions import UnusedCliTokensError

from holdfast import __version__
from holdfast.cli.output import help_console, note, times_said
from holdfast.cli.output_files import OPTIONS
from holdfast.ir.errors import HoldfastError, ModelError, UsageError, described

INTERNAL, USAGE, INCONCLUSIVE = 1, 2, 20

MOST_TOLD = 900
"""Characters of the longest error that is shown whole."""

BEFORE_ANYTHING = "before there was anything to report"

HELP = """Check ownership protocols written as plain Python models.

Start with `holdfast new mylock` and `holdfast check mylock.py`; `holdfast models` lists the available models."""

CODES = """Exit codes:
    0  holds; for random runs: nothing found
   10  a witness is not reached, a property is vacuous, a lemma idle, or a mutant is not declared
   11  deadlock
   12  violated; for a log: impossible
   13  a liveness property is violated
   20  no answer within the budget, or interrupted; for a proof: it does not go through
  150  the model is outside the language
    2  a wrong argument or file
    1  an outcome other than the pinned one, engines that disagree, or a fault of holdfast"""

EXTRAS = {
    "boto3": "s3",
    "jinja2": "spark",
    "moto": "cluster",
    "obstore": "s3",
    "pandas": "spark",
    "pyarrow": "spark",
    "pyspark": "spark",
    "yaml": "impl",
}
"""For each optional library: the extra of ``holdfast`` that installs it."""

KERNELS = {"holdfast.lower.kernel.build", "holdfast.check.worker_pool"}
"""The modules of which one is loaded if this process, or a process that it started, may have built a kernel."""

app = App(
    name="holdfast",
    help=HELP,
    help_epilogue=CODES,
    help_format="plaintext",
    version=__version__,
    version_flags=["--version"],
    default_parameter=Parameter(show_default=False),
    group_parameters=OPTIONS,
    exit_on_error=False,
    print_error=False,
    suppress_keyboard_interrupt=False,
    result_action="return_value",
    console=help_console(),
)
VERBS = (
    "models",
    "check",
    "live",
    "walk",
    "prove",
    "mutate",
    "tla",
    "tlc",
    "new",
    "replay",
    "show",
    "explore",
    "shrink",
    "diff",
    "graph",
    "conform",
    "rule",
    "verify",
)
# Cyclopts imports a verb only when it is called. So a verb starts without the imports of the others, and a library that
# one verb lacks breaks no other.
for verb in VERBS:
    app.command(f"holdfast.cli.{verb}:{verb}", name=verb)
ADDED = tuple(entry_points(group="holdfast.verbs"))
"""The verbs of packages beside this one."""
for found in ADDED:
    app.command(found.value, name=found.name)


def main(argv: Sequence[str]) -> int:
    """Run one command and return its exit code. Every error is a line on standard error, also each one of a model."""
    said = times_said()
    try:
        _check_folder()
        if not argv or argv[0] in app.help_flags:
            _import_verbs()
        code = app(list(argv))
    except CycloptsError as error:
        return _end(USAGE, f"{_usage(error)} (see `{_command(argv)} --help`)")
    except HoldfastError as error:
        return _end(error.exit_code, *error.lines)
    except KeyboardInterrupt:
        return _interrupted(said)
    except OSError as error:
        # Such as a name that is too long, or a disk that is full: the system refused, and a verb had no better words.
        return _end(USAGE, f"{_refused(error)}; mend that, or name another file")
    except RecursionError:
        return _end(ModelError.exit_code, "an expression of the model is nested too deeply; split it into helpers")
    except MemoryError:
        return _end(INCONCLUSIVE, "out of memory; choose a smaller scope, or set a limit such as --budget 2GB")
    except BaseException as error:  # noqa: BLE001 - a fault of ours is one line too
        if isinstance(error.__cause__, KeyboardInterrupt):
            # It came while Python made a class: Python 3.11 raises a RuntimeError then.
            return _interrupted(said)
        known = _missing_extra(error) or _too_many_digits(error)
        if known is not None:
            return _end(USAGE, known)
        if os.environ.get("HOLDFAST_DEBUG") == "1":
            note(traceback.format_exc())
        return _end(INTERNAL, f"internal error: {described(error)}; please report it (HOLDFAST_DEBUG=1 shows where)")
    _note_unused_cache()
    return code or 0


def _interrupted(said: int) -> int:
    """Report an interruption. ``said``: how often the command had said something when it began."""
    return _end(INCONCLUSIVE, "interrupted" if times_said() > said else f"interrupted {BEFORE_ANYTHING}")


def _check_folder() -> None:
    """Raise UsageError if the working directory is gone: every path of a command may depend on it."""
    try:
        Path.cwd()
    except OSError as error:
        raise UsageError(f"the working directory cannot be used: {error.strerror}; change to another one") from error


def _note_unused_cache() -> None:
    """Say that the cache of compiled kernels was not used, if the command may have needed it."""
    if KERNELS & sys.modules.keys():
        # Cheap to import: the folder alone, without the compiler.
        from holdfast.lower.kernel.cache import cache_problem  # noqa: PLC0415

        problem = cache_problem()
        if problem is not None:
            note(f"holdfast: {problem}")


def _import_verbs() -> None:
    """Import every verb: the help of the command itself shows the first sentence of each."""
    for verb in VERBS:
        app[verb]
    for found in ADDED:
        # Without the extra of a verb the help still shows the verb's name.
        with suppress(ImportError):
            app[found.name]


def _end(code: int, *problems: str) -> int:
    for problem in problems:
        note(f"holdfast: {_shortened(' '.join(problem.split()))}")
    return code


def _shortened(line: str) -> str:
    """The line without its middle, if it is too long to be read: it may quote a value of a thousand characters."""
    return line if len(line) <= MOST_TOLD else f"{line[: MOST_TOLD // 2]} … {line[-MOST_TOLD // 3 :]}"


def _refused(error: OSError) -> str:
    reason = error.strerror or described(error)
    return reason if error.filename is None else f"{error.filename}: {reason}"


def _missing_extra(error: BaseException | None) -> str | None:
    """One line that names the extra to install, if the error or one of its causes is a missing optional library."""
    while error is not None:
        library = str(getattr(error, "name", None) or "").partition(".")[0]
        if isinstance(error, ImportError) and library in EXTRAS:
            return f"{library} is not installed, and this command needs it; pip install 'holdfast[{EXTRAS[library]}]'"
        error = error.__cause__
    return None


def _too_many_digits(error: BaseException) -> str | None:
    """One line if Python refused to read or print a number; otherwise None."""
    if isinstance(error, ValueError) and "integer string conversion" in str(error):
        return "a number has more than 4,300 digits, which Python does not read or print; use smaller ones"
    return None


def _usage(error: CycloptsError) -> str:
    """The usage error as a clause: no capital letter at the start, no full stop at the end."""
    if isinstance(error, UnusedCliTokensError):
        return f"unexpected argument {' '.join(error.unused_tokens or [])!r}"
    text = str(error).strip().removesuffix(".")
    return text[:1].lower() + text[1:]


def _command(argv: Sequence[str]) -> str:
    """``holdfast VERB`` if the first argument is a verb, otherwise ``holdfast``."""
    return f"holdfast {argv[0]}" if argv and argv[0] in app else "holdfast"
