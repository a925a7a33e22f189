"""``holdfast explore``: step through a run or a model on the screen."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter, validators

from holdfast.cli.options import Names
from holdfast.ir.errors import UsageError
from holdfast.ir.scopes import any_scope
from holdfast.ir.variants import load_variant
from holdfast.runs.explorer.session import Session
from holdfast.runs.loading import is_file, open_trace
from holdfast.trace.line import looks_like_line
from holdfast.trace.text import count


def explore(
    what: str,
    /,
    *,
    scope: str | None = None,
    variant: Names = (),
    without: Names = (),
    model: str | None = None,
    at: Annotated[int | None, Parameter(validator=validators.Number(gte=0))] = None,
) -> int:
    """Step through a run, see which other steps were enabled, and branch off.

    On the screen, ? lists the keys. A file may come from `--itf`, from Apalache or Quint, or may hold what TLC printed
    or dumped. A run without a model can be read, but no other step can be taken.

    Parameters
    ----------
    what
        A file, a line that `holdfast replay` takes, or a model: a name that `holdfast models` lists, or its file.
    scope
        The scope to explore a model in; otherwise tiny, or default.
    variant
        Choose a named variant of the model. May be repeated.
    without
        Remove a rule, LABEL everywhere or LABEL@action in one action. May be repeated.
    model
        The model to replay a file or a line on: TARGET [SCOPE] [+VARIANT...] [-LABEL...].
    at
        The step of the run to begin at; otherwise the start.
    """
    session, note = open_session(what, scope=scope, variants=variant, removed=without, model=model)
    if at is not None:
        _begin(session, at)
    _check_terminal()
    try:
        # The explorer is an optional extra: no other command needs textual.
        from holdfast.cli.explorer.app import Explorer  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "textual":
            raise
        raise UsageError("holdfast explore needs textual; pip install 'holdfast[explore]'") from None
    app = Explorer(session, open_session, note)
    app.run()
    return app.return_code or 0


def open_session(
    what: str,
    *,
    scope: str | None = None,
    variants: Names = (),
    removed: Names = (),
    model: str | None = None,
) -> tuple[Session, str | None]:
    """The session to show first, and a note about it or None: for example that the model has changed.

    Raises UsageError for options that do not fit, and for a model, file or line that cannot be opened.
    """
    if _names_model(what):
        if model is not None:
            raise UsageError(f"--model is for files and lines, and {what} is a model; leave it out")
        system = load_variant(what, variants, removed)
        return Session.of_model(system, any_scope(system, scope), what), None
    if scope is not None or variants or removed:
        raise UsageError("--scope, --variant and --without are for models; leave it out, or name it with --model")
    opened = open_trace(what, model=model)
    return Session(opened.trace, opened.replayer), opened.changed


def _begin(session: Session, at: int) -> None:
    last = len(session.run) - 1
    if at > last:
        raise UsageError(f"--at {at}: the run has {count(last, 'step')}; name one from 0 to {last}")
    session.go(at)


def _names_model(what: str) -> bool:
    """Whether the text names a model: by its file, or by a bare name that is no file.

    A replay line begins with a model's file too, so it is excluded first.
    """
    if looks_like_line(what):
        return False
    name = what.partition(":")[0]
    if name.endswith(".py"):
        return is_file(name) or len(what.split()) == 1
    return name.isidentifier() and not is_file(what)


def _check_terminal() -> None:
    for stream, name in ((sys.stdin, "input"), (sys.stdout, "output")):
        if not stream.isatty():
            raise UsageError(f"holdfast explore needs a terminal, and standard {name} is none; try `holdfast show`")
