"""Helpers that take a step in a session, and write a run as short texts."""

from __future__ import annotations

from holdfast.runs.explorer.session import Session
from holdfast.trace.trace import Step


def take(session: Session, action: str, **args: object) -> None:
    """Take the only choice of that action with these arguments."""
    (step,) = (
        choice.step
        for choice in session.choices()
        if choice.step.action == action and dict(choice.step.args).items() >= args.items()
    )
    session.take(step)


def names(run: tuple[Step, ...]) -> list[str]:
    """A run as a list of short texts."""
    return [f"{step.action}{tuple(value for _, value in step.args)}" for step in run]
