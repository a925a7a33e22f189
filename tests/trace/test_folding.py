"""Every view shows a sequence as one value: the columns, the diagrams, the reasons, the page and the explorer."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from holdfast.check.search.engine import search
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.records.explained_run import explained_run
from holdfast.runs.explorer.beliefs import beliefs
from holdfast.runs.replay import Replayer
from holdfast.runs.why import why
from holdfast.trace.trace import Trace
from holdfast.trace.views.columns import ColumnsView, render_columns
from holdfast.trace.views.diagram import render_diagram
from holdfast.trace.views.folding import FoldedRun
from holdfast.trace.views.slice import Slice
from holdfast.trace.views.svg import render_svg
from holdfast.trace.views.why import render_why

DESK = '''\
"""People wait in a line, and are served."""

from __future__ import annotations

from holdfast.lang import Map, Model, Nat, Record, Scope, Seq, Sort, action, init, invariant, require


class Guest(Sort): ...


class Place(Nat): ...


class Wish(Record):
    guest: Guest
    place: Place


class Desk(Model):
    """One is served after the other."""

    line: Seq[Wish, Place]
    served: Map[Guest, Seq[Place, Place]]
    open: bool

    tiny = Scope({Guest: 2, Place: 2})

    @init
    def begin(self) -> None:
        """Nobody waits."""
        self.line.clear()
        self.served.clear()
        self.open = False

    @action
    def come(self, g: Guest, p: Place) -> None:
        """A guest comes, once the desk is open."""
        require(self.open, "locked")
        self.line.append(Wish(g, p))

    @action
    def unlock(self) -> None:
        """The desk opens."""
        self.open = True

    @action
    def serve(self) -> None:
        """The first one is served."""
        wish = self.line[0]
        require(wish is not None, "empty")
        if wish is not None:
            self.served[wish.guest].append(wish.place)
            self.line.pop_first()

    @invariant
    def nobody_is_served_a_high_place(self) -> bool:
        """Nobody gets the last place."""
        return all(Place.last not in self.served[g] for g in Guest)
'''


@pytest.fixture
def replayer(tmp_path: Path) -> Replayer:
    """The replayer of the desk."""
    file = tmp_path / "desk.py"
    file.write_text(DESK)
    system = compile_model(load_model(str(file)))
    return Replayer(system, system.scope("tiny"), all_ghosts=True)


@pytest.fixture
def run(replayer: Replayer) -> Trace:
    """Somebody is served the last place."""
    (found,) = search(replayer.system, replayer.system.scope("tiny"), engine="interpreter").findings
    trace = replayer.trace(replayer.script(found), "nobody_is_served_a_high_place")
    assert isinstance(trace, Trace)
    return trace


def test_views_show_whole_sequences(run: Trace) -> None:
    """No view of the folded run shows a length or an entry as a cell of its own."""
    folded = FoldedRun.of(run).trace
    texts = [render_columns(folded, ColumnsView()), render_diagram(folded), render_svg(folded)]

    assert all("line_" not in text and "_length" not in text and "served[g1, " not in text for text in texts)
    assert "-> [(g1, 2)]" in texts[0]
    assert "what nobody_is_served_a_high_place reads at the end\n     g1  served[g1]: [2]" in texts[0]
    assert "line=[(g1, 2)]" in texts[1]
    assert "served=[2]" in texts[1]


def test_reasons_name_whole_sequences(replayer: Replayer, run: Trace) -> None:
    """A step wrote and needed a sequence if it wrote or needed one of its cells, and a later writer replaces it."""
    reasons = why(replayer, run)
    folded = FoldedRun.of(reasons.trace)
    shown: Slice = folded.slice(reasons.slice)

    for plain, cause in zip(reasons.slice.causes, shown.causes, strict=True):
        assert {folded.trace.cells[cell].name for cell in cause.wrote} == {
            run.cells[cell].field.sequence or run.cells[cell].name for cell in plain.wrote
        }
        assert set(cause.needed) == {folded.places[cell] for cell in plain.needed}
    text = render_why(folded.trace, shown)
    assert "wrote   line: [] -> [(g1, 2)]  for step 3" in text
    assert "nobody_is_served_a_high_place reads at the end\n             served[g1] = [2]" in text


def test_the_page_shows_whole_sequences(replayer: Replayer, run: Trace) -> None:
    """The changes, the needs and the tables of the page of a run have a cell for each sequence."""
    page = explained_run(run, replayer)
    cells = len(FoldedRun.of(run).trace.cells)

    changes = {(change.name, change.new) for step in page.steps for change in step.changes}
    assert changes == {("open", "True"), ("line", "[(g1, 2)]"), ("line", "[]"), ("served[g1]", "[2]")}
    assert {each.name for each in page.decisive} <= {"served[g1]", "served[g2]"}
    shown = [cell for table in page.tables for row in table.rows for cell in row.cells if cell is not None]
    assert sorted(cell.index for cell in shown) == list(range(cells))


def test_the_explorer_shows_whole_sequences(run: Trace) -> None:
    """A sequence is one belief, which a step changes or not."""
    found = beliefs(run, run.steps[-1], run.steps[-2])
    shown = {belief.cell.name: (belief.value, belief.changed) for group in found.values() for belief in group}

    assert shown == {"served": ("[2]", True), "line": ("[]", True), "open": (True, False)}


def test_a_state_that_no_operation_leaves_stays_apart(run: Trace) -> None:
    """A run with a wrong length shows the cells: a proof may begin with such a state."""
    length = next(index for index, cell in enumerate(run.cells) if cell.field.name == "line_length")
    first = run.steps[0]
    values = (*first.values[:length], 2, *first.values[length + 1 :])
    folded = FoldedRun.of(attrs.evolve(run, steps=(attrs.evolve(first, values=values), *run.steps[1:])))

    assert {"line_guest", "line_length"} <= {cell.field.name for cell in folded.trace.cells}
    assert "served_length" not in {cell.field.name for cell in folded.trace.cells}
    assert len(folded.places) == len(run.cells)
