"""What a world judges of an event of another stream."""

from __future__ import annotations

from holdfast.check.conform.judge.frame import Frame
from tests.conform.simulated_logs import model


def test_an_event_of_another_stream_has_only_the_arguments_of_its_loop() -> None:
    """A commit of another stream brings none of that stream's offsets into a world: its loop does not use them."""
    mapping, system = model("fast_close")
    loops = Frame.of(system, mapping.about.literals).projection("Stream").elsewhere
    assert [param.name for param in loops["commit"].params] == ["p"]
