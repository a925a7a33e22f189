"""WAL retention: fast readers find links, slow ones pass over them, and nobody loses a batch without the delay."""

from __future__ import annotations

import pytest

from holdfast.check.search.engine import search
from holdfast.ir.compile import compile_model
from holdfast.ir.removal import remove_rules
from models.wal_retention import Batch, Reader, Source, WalRetention

B = Batch.element(0)
FAST, SLOW = Reader.element(0), Reader.element(1)


def begun(*removed: str) -> WalRetention:
    """A link is in the WAL, and its batch is not uploaded."""
    return WalRetention.at("default", removed=removed).start()


def test_a_slow_reader_passes_over_a_trimmed_link() -> None:
    """F16. The reader that comes within the delay has the batch from the WAL, the other one from object storage."""
    state = begun().take("upload", b=B)
    assert state.refusal("trim", b=B) == ("M-07", None)
    state = state.take("replay", r=FAST, b=B).take("keep", b=B).take("trim", b=B).take("replay", r=SLOW, b=B)
    assert (state.source[FAST, B], state.source[SLOW, B]) == (Source.CACHE, Source.OBJECTS)


def test_the_delay_begins_with_the_upload() -> None:
    """M-07, PL-25. The delay of a batch that is not uploaded does not pass, and its link is not trimmed."""
    state = begun("M-07").take("keep", b=B)
    assert not state.kept[B]
    assert state.refusal("trim", b=B) == ("PL-25", None)


def test_without_the_delay_a_fast_reader_reads_objects() -> None:
    """M-07. The link is trimmed right after the upload, so that even a fast reader does not find it."""
    state = begun("M-07").take("upload", b=B).take("trim", b=B).take("replay", r=FAST, b=B)
    assert state.source[FAST, B] == Source.OBJECTS
    assert not state.holds("fast_reader_finds_links")


@pytest.mark.parametrize(("labels", "verdict"), [(("M-07",), "exhausted"), (("M-07", "PL-25"), "violated")])
def test_the_delay_protects_no_data(labels: tuple[str, ...], verdict: str) -> None:
    """I-11. Without the delay every batch can still be read; without the upload before the trim it cannot."""
    faulty = remove_rules(compile_model(WalRetention), labels)
    assert search(faulty, faulty.scopes["default"], properties=("I-11",), engine="interpreter").verdict == verdict
