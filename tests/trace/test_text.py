"""Runs as text for people."""

from __future__ import annotations

import attrs

from holdfast.trace.text import render
from holdfast.trace.trace import Trace

HANDOVER = """\
one_handle: violated after 2 steps
  INV-01. At most one process holds a stream.

Table, scope tiny, without ST-14

given
     p1  node_of[p1]: n1
     p2  node_of[p2]: n2

start  (cells that are False, None or 0 are left out)
     nothing else

  1  open(p=p1, s=s1, e=1)
     p1  handle[p1, s1]: 0 -> 1
         used + (p1, s1, epoch 1)
     s1  opened[s1]: False -> True
         owner[s1]: None -> n1
         epoch[s1]: 0 -> 1
         last_opener[s1]: None -> p1  (ghost)

  2  open(p=p2, s=s1, e=2)
     p2  handle[p2, s1]: 0 -> 2
         used + (p2, s1, epoch 2)
     s1  owner[s1]: n1 -> n2
         epoch[s1]: 1 -> 2
         last_opener[s1]: p1 -> p2  (ghost)

what one_handle reads at the end
     p1  handle[p1, s1]: 1
     p2  handle[p2, s1]: 2

one_handle (INV-01) is violated for s = s1, p = p1, q = p2.
reproduce: holdfast check table --scope tiny --without ST-14
replay:    holdfast replay 'table tiny -ST-14 #35e6084304bdb5d7 one_handle: open(p1,s1,1) open(p2,s1,2)'"""

SAMPLED = """\
  1  sample(s=l1, e=0, f=IDLE)
     l1  phases[l1, node epoch 0]: None -> IDLE
         marked[l1]: False -> True
         linked + (l1, IDLE)
         busy: False -> True
         gap: 0 -> -2
         latest: None -> l1
         lowest: None -> 0
     now
     l1  phases[l1, node epoch 0]: IDLE; phases[l1, node epoch 1]: None; marked[l1]: True;
         linked (l1, IDLE)
     l2  phases[l2, node epoch 0]: None; phases[l2, node epoch 1]: None; marked[l2]: False
         busy: True; phase: IDLE; gap: -2; latest: l1; lowest: 0; budget(sample): 1

"""


def test_a_run_in_full(handover: Trace) -> None:
    """The text has the property and its sentence, each step's changes by element, and the command at the end."""
    assert render(handover) == HANDOVER


def test_whole_states_on_request(sampler: Trace) -> None:
    """On request each step shows its changes and then the whole state, with budgets."""
    assert SAMPLED in render(sampler, full=True)
    assert "budget" not in render(sampler)


def test_none_is_not_zero(sampler: Trace) -> None:
    """If zeros are left blank, a zero in a cell that may be None is shown."""
    position = next(index for index, cell in enumerate(sampler.cells) if cell.name == "lowest")
    first = sampler.steps[0]
    values = (*first.values[:position], 0, *first.values[position + 1 :])

    text = render(attrs.evolve(sampler, steps=(attrs.evolve(first, values=values), *sampler.steps[1:])))

    assert "start  (cells that are False, None or 0 are left out)\n     phase: IDLE; lowest: 0\n" in text


def test_a_repetition(repeated: Trace) -> None:
    """The second of two equal steps is marked as a repetition, with the rule that refused it."""
    text = render(repeated)

    assert "  2  press(s=BUSY)  again: refused by PR-03\n" in text
    assert "taken again with equal arguments, it must succeed and" in text


def test_a_step_property_shows_what_was_before(handover: Trace) -> None:
    """For a step property, the cells it reads before the last step are shown apart from those after it."""
    claim = attrs.evolve(handover.claim, reads=("epoch",), reads_before=("opened", "epoch"))

    text = render(attrs.evolve(handover, claim=claim))

    before = "what one_handle reads before the last step\n     s1  opened[s1]: True; epoch[s1]: 1\n"
    assert f"{before}\nwhat one_handle reads at the end\n     s1  epoch[s1]: 2\n" in text


def test_lines_fit_a_terminal(handover: Trace, sampler: Trace) -> None:
    """No line is wider than 100 columns, except the one to copy, and none ends in blanks."""
    lines = [line for trace in (handover, sampler) for line in render(trace, full=True).split("\n")]

    assert max(len(line) for line in lines if not line.startswith("replay:")) <= 100
    assert [line.rstrip() for line in lines] == lines


def test_the_command_is_quoted(handover: Trace) -> None:
    """Text that a shell would split or expand is quoted in the command."""
    assert "check 'my models/a.py' --scope tiny" in attrs.evolve(handover, target="my models/a.py").command


def test_a_run_that_shows_nothing(handover: Trace) -> None:
    """The heading of a run without a claim is its length, and the run ends with its line."""
    text = render(attrs.evolve(handover, claim=None, options=None))

    assert text.startswith("a run of 2 steps\n\nTable, scope tiny, without ST-14\n")
    assert text.endswith("(ghost)\n\n" + HANDOVER.splitlines()[-1].replace("one_handle:", "-:"))


def test_a_lasso_says_where_it_returns(handover: Trace) -> None:
    """After its last step a lasso says where the loop returns."""
    told = [render(attrs.evolve(handover, loop=loop)) for loop in (0, 1, 2)]

    assert "\n\n     and then back to the start, for ever\n\n" in told[0]
    assert "\n\n     and then back to the state after step 1, for ever\n\n" in told[1]
    assert "\n\n     and then nothing happens any more (stuttering)\n\n" in told[2]


def test_a_witness_is_reached(handover: Trace) -> None:
    """The run to a witness says that it is reached, not that it is violated."""
    text = render(attrs.evolve(handover, claim=attrs.evolve(handover.claim, kind="witness", where=())))

    assert text.startswith("one_handle: reached after 2 steps\n")
    assert "The witness one_handle (INV-01) is reached." in text
    assert "violated" not in text
