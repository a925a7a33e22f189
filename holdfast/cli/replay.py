"""``holdfast replay``: replay a run from one line."""

from __future__ import annotations

import re
import sys
import textwrap
from typing import Annotated

import attrs
from cyclopts import Parameter

from holdfast.check.result import DEADLOCK, HOLDS, STARVED, VIOLATED
from holdfast.cli.options import Switch
from holdfast.cli.output import note, say
from holdfast.cli.output_files import PageFile
from holdfast.cli.reporting import renderer
from holdfast.cli.run_files import write_page
from holdfast.ir.errors import UsageError
from holdfast.ir.system import LIVENESS
from holdfast.runs.loading import LoadedRun, open_trace
from holdfast.runs.replay import Replayer
from holdfast.trace.line import LONGEST
from holdfast.trace.text import WIDTH, configuration, count, outcome, render
from holdfast.trace.trace import Claim, Trace

_PRINTED = re.compile(r"^replay:.*$", re.MULTILINE)


def replay(
    line: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    model: str | None = None,
    full: Switch = False,
    html: PageFile = None,
) -> int:
    """Replay a run, and show it in the same form as the command that found it.

    The exit code says what the run shows: 12 a violation, 11 a deadlock, 13 a violated liveness property; 0 nothing, or
    its witness; 20 if the model has changed and no longer allows the run.

    Parameters
    ----------
    line
        The line that a failure prints after `replay:`, in single quotes; a file with a run (ITF, or what TLC printed);
        or - to read a line, or the whole output of a failing command, from standard input.
    model
        The model to replay on, instead of the one that the run names: MODEL, or 'MODEL SCOPE +VARIANT -LABEL'.
    full
        Show every state in full, not only the changes.
    html
        Write the run into this file as a page that explains each step in a browser.
    """
    if html is not None:
        renderer("run")
    if line.startswith("-") and line != "-":
        raise UsageError(f"unknown option {line!r}; see `holdfast replay --help`")
    given = line == "-"
    opened = open_trace(_from_input() if given else line, model=model, line_from="standard input" if given else None)
    if opened.replayer is None:
        why = opened.changed or "the file does not say which model it is of"
        raise UsageError(f"{line}: cannot be replayed: {why}; name the model with --model")
    trace, asked = _shown(opened, opened.replayer)
    say(f"{render(trace, full=full)}\n")
    say("\n".join(textwrap.wrap(_verdict(trace, asked), WIDTH, subsequent_indent="  ", break_on_hyphens=False)))
    if html is not None:
        write_page(html, attrs.evolve(opened, trace=trace))
    if opened.changed is not None:
        note(f"holdfast: {opened.changed}")
    return _exit_code(trace.claim)


def _from_input() -> str:
    """The replay line on standard input; a failing command's output may surround it.

    Raises UsageError unless there is exactly one line, of a bounded length.
    """
    try:
        text = sys.stdin.read(LONGEST + 1)
    except UnicodeDecodeError as error:
        raise UsageError(f"standard input is no text in UTF-8 (byte {error.start}); give a line as text") from None
    except OSError as error:
        raise UsageError(f"standard input cannot be read: {error.strerror}; give a line or a file") from error
    if len(text) > LONGEST:
        raise UsageError(f"standard input holds more than {LONGEST:,} characters; give one line")
    printed = _PRINTED.findall(text)
    found = printed or [each for each in text.splitlines() if each.strip()]
    if not found:
        raise UsageError("standard input is empty; give a replay line")
    if len(found) > 1:
        raise UsageError(f"standard input holds {len(found)} lines; give one, or the output of a command with one run")
    # A line from standard input is never a file name. A trailing space marks a single word as a line, not a file.
    return found[0] if " " in found[0].strip() else f"{found[0].strip()} "


def _shown(opened: LoadedRun, replayer: Replayer) -> tuple[Trace, str | None]:
    """The run with the claim that it shows, and the name of the claim that it should show but does not, or None.

    A run that does not show its claim, or that has none, may still violate another property: it is checked here.
    """
    trace, asked = opened.trace, opened.asked
    if trace.claim is not None:
        return trace, None
    script = replayer.script(trace)
    found = replayer.trace(script, replayer.violated(script))
    assert isinstance(found, Trace), "it was followed before"
    return found, asked


def _verdict(trace: Trace, asked: str | None) -> str:
    what, claim = configuration(trace.model, trace.scope, trace.variants, trace.removed), trace.claim
    steps = count(trace.length, "step")
    no_more = f", which does not show {asked}" if asked is not None else ""
    if claim is None:
        return f"{what}: a run of {steps}{no_more or ', which violates nothing at its end'}"
    if claim.kind == "witness":
        return f"{what}: reached after {steps}: {claim.title}"
    return f"{what}: {outcome(trace, claim)}: {claim.title}{f' (and not {asked})' if asked is not None else ''}"


def _exit_code(claim: Claim | None) -> int:
    if claim is None or claim.kind == "witness":
        return HOLDS
    return STARVED if claim.kind in LIVENESS else DEADLOCK if claim.kind == "deadlock" else VIOLATED
