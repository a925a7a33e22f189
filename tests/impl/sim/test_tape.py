"""The tape: one seed, one random sequence for each site, and runs replayed from recorded faults."""

from __future__ import annotations

import pytest

from impl.sim.faults import KINDS, swarm, without_kinds
from impl.sim.tape import Fault, Site, Tape, spread, stream

RATES = {"loss": 0.2, "delay": 0.3}


def _decisions(site: Site, count: int = 200) -> list[Fault | None]:
    return [site.decide(number) for number in range(count)]


def _armed(seed: int, recorded: list[Fault] | None = None) -> Tape:
    tape = Tape(seed, RATES, recorded)
    tape.arm()
    return tape


def test_a_sequence_belongs_to_a_seed_and_a_name() -> None:
    """A seed and a name give the same numbers on every machine and Python version."""
    assert [stream(1, "a")() for _ in range(2)] == [0.467685649848667] * 2
    assert len({stream(seed, name)() for seed in (1, 2) for name in "ab"}) == 4


def test_sites_do_not_share_a_sequence() -> None:
    """The number of decisions at one site does not change those at another."""
    alone, beside = _armed(1), _armed(1)
    _decisions(beside.site("b", ("loss",)))
    assert _decisions(alone.site("a", ("loss", "delay"))) == _decisions(beside.site("a", ("loss", "delay")))


def test_a_site_decides_at_its_rates() -> None:
    """Each kind happens about as often as its rate. A kind of another site never does."""
    found = _decisions(_armed(1).site("a", ("loss", "delay", "crash")), 10_000)
    kinds = [None if each is None else each.kind for each in found]
    assert abs(kinds.count("loss") - 2_000) < 150
    assert abs(kinds.count("delay") - 3_000) < 150
    assert kinds.count("crash") == 0
    assert all(0 <= each.value < 1 for each in found if each is not None)


def test_a_replay_has_the_recorded_faults_and_no_others() -> None:
    """A part of a tape has no faults in place of those left out."""
    faults = [each for each in _decisions(_armed(1).site("a", ("loss", "delay"))) if each is not None]
    kept = [each for each in faults if each.kind == "loss"]
    site = _armed(7, kept).site("a", ("loss", "delay"))
    assert [each for each in _decisions(site) if each is not None] == kept
    assert not any(_decisions(_armed(7, kept).site("b", ("loss", "delay"))))


@pytest.mark.parametrize("recorded", [None, [Fault("a", 1, "loss", 0.5, 1)]])
def test_a_quiet_tape_has_no_fault(recorded: list[Fault] | None) -> None:
    """After ``silence`` nothing happens, whether a site has decided before or not."""
    tape = _armed(1, recorded)
    before = tape.site("a", ("loss", "delay"))
    tape.silence()
    assert not any(_decisions(before))
    assert not any(_decisions(tape.site("b", ("loss", "delay"))))


def test_no_fault_is_drawn_before_the_tape_is_armed() -> None:
    """No fault happens before the tape is armed, so that the cluster can be set up."""
    tape = Tape(1, RATES)
    site = tape.site("a", ("loss", "delay"))
    assert not any(_decisions(site))
    tape.arm()
    assert any(_decisions(site))


def test_a_value_gives_several_quantities() -> None:
    """The parts of a value are in [0, 1), and differ from the value itself."""
    parts = [spread(0.3137, part) for part in range(4)]
    assert len({0.3137, *parts}) == 5
    assert all(0 <= each < 1 for each in parts)


# The swarm --------------------------------------------------------------------------------------------------------


def test_runs_differ_in_the_kinds_that_they_have() -> None:
    """A run has about half of the kinds, and each kind is in many runs."""
    runs = [swarm(seed) for seed in range(200)]
    assert runs[3] == swarm(3)
    assert all(60 < sum(kind in run for run in runs) < 140 for kind in KINDS)
    assert 0.4 < sum(len(run) for run in runs) / (200 * len(KINDS)) < 0.6


def test_a_selection_names_the_kinds() -> None:
    """Selected kinds are in every run. An unknown name is refused."""
    assert swarm(1, "none") == {}
    assert set(swarm(1, "loss,pause")) == set(swarm(2, ("loss", "pause"))) == {"loss", "pause"}
    assert set(without_kinds(swarm(1, ("loss", "pause")), "loss")) == {"pause"}
    with pytest.raises(ValueError, match="no kind of fault named rain; the kinds are loss"):
        swarm(1, "loss,rain")


def test_a_planned_fault_happens_at_the_next_decision() -> None:
    """Planned faults of a site come one by one, in their order, and at no other site. ``silence`` drops them."""
    tape = Tape(1, {})
    tape.arm()
    kinds = ("loss", "delay")
    tape.plan("a", kinds, "loss", 0.25)
    tape.plan("a", kinds, "delay", 0.5)
    assert tape.site("b", kinds).decide(1) is None
    assert tape.site("a", kinds).decide(1) == Fault("a", 0, "loss", 0.25, 1)
    assert tape.site("a", kinds).decide(2) == Fault("a", 1, "delay", 0.5, 2)
    assert tape.site("a", kinds).decide(3) is None
    tape.plan("a", kinds, "loss", 0.25)
    tape.silence()
    assert tape.site("a", kinds).decide(4) is None


def test_a_fork_ends_the_replay() -> None:
    """From the time of the fork on, faults are drawn; before it, only recorded ones happen. Silence ends both."""
    kept = [Fault("a", 3, "loss", 0.5, 3), Fault("a", 150, "loss", 0.5, 150)]
    tape = Tape(7, RATES, kept, fork=100)
    tape.arm()
    site = tape.site("a", ("loss", "delay"))
    found = [each for each in _decisions(site) if each is not None]
    assert found[0] == kept[0]
    assert len(found) > 20
    assert all(each.at >= 100 for each in found[1:])
    assert kept[1] not in found
    tape.silence()
    assert not any(_decisions(site))
