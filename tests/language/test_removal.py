"""Systems without some of their rules."""

from __future__ import annotations

import pytest

from holdfast.ir.errors import UsageError
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from holdfast.lower.outcome import Refused, Taken
from holdfast.lower.python.interpreter import Interpreter
from tests.language.conftest import Build
from tests.language.writing import disagreement

MODEL = """
class M(Table):
    def check(self, s: Stream) -> None:
        require(not self.opened[s], "ST-14", error=E.NOT_CLOSED)

    @action
    def open(self, s: Stream) -> None:
        self.check(s)
        require(self.clock == Epoch(0), "ST-12.old")
        self.opened[s] = True

    @action
    def reopen(self, s: Stream) -> None:
        self.check(s)
        if rule("RC-02", self.clock == Epoch(0)):
            self.clock = Epoch(1)
        if rule("ST-44"):
            self.phase = Phase.BUSY
        self.owner[s if rule("RC-03", self.opened[s]) else s] = None

    @action
    def tick(self) -> None:
        self.clock = Epoch(1)

    @invariant
    def fine(self) -> bool:
        return self.clock == Epoch(0)
"""


def outcomes(system: System) -> dict[str, str]:
    """For each action, its outcome for the first stream once that stream is open: a label, or the changes."""
    interpreter = Interpreter(system, system.scopes["tiny"])
    [start] = interpreter.initial()
    opened = interpreter.layout.encode({**interpreter.layout.decode(start), "opened[s1]": True})
    found = {}
    for action in system.actions:
        outcome = interpreter.step(opened, action.name, (0,) * len(action.params))
        if isinstance(outcome, Refused):
            found[action.name] = outcome.label
        if isinstance(outcome, Taken):
            before, after = interpreter.layout.decode(opened), interpreter.layout.decode(outcome.state)
            found[action.name] = ", ".join(name for name in after if after[name] != before[name])
    return found


@pytest.mark.parametrize(
    ("removed", "open_", "reopen"),
    [
        ((), "ST-14", "ST-14"),
        (("ST-14",), "", "clock, phase"),
        (("ST-14@open",), "", "ST-14"),
        (("ST-14@reopen",), "ST-14", "clock, phase"),
        (("ST-14@open", "ST-14@reopen"), "", "clock, phase"),
        (("ST-14", "RC-02"), "", "phase"),
        (("ST-14", "ST-44@reopen"), "", "clock"),
        (("RC-02", "ST-14", "ST-44", "RC-03"), "", ""),
    ],
)
def test_a_rule_is_removed_everywhere_or_in_one_action(
    build: Build, removed: tuple[str, ...], open_: str, reopen: str
) -> None:
    """Without a require nothing is refused. Without a condition or an effect its branch is never taken."""
    system = build(MODEL, without=removed)

    assert system.removed == removed
    assert outcomes(system) == {"open": open_, "reopen": reopen, "tick": "clock"}
    assert disagreement(system) is None


def test_a_removal_leaves_the_rest_alone(build: Build) -> None:
    """The list of rules, the properties and the original system stay as they are."""
    system = build(MODEL)
    without = remove_rules(system, ["ST-14"])

    assert without.rules == system.rules
    assert without.properties == system.properties
    assert system.removed == ()
    assert outcomes(system)["open"] == "ST-14"


def test_removing_twice_is_removing_once(build: Build) -> None:
    """A rule that is named twice, in one call or in two, is recorded once."""
    system = build(MODEL)

    assert remove_rules(remove_rules(system, ["ST-14"]), ["RC-02", "ST-14"]).removed == ("ST-14", "RC-02")
    assert remove_rules(system, ["ST-14", "ST-14"]).removed == ("ST-14",)


@pytest.mark.parametrize("written", ["ST14", "ST14@open"])
def test_a_label_may_lack_its_dash(build: Build, written: str) -> None:
    """A label may be given without its dash, as some papers write it. The system shows the model's spelling."""
    system = build(MODEL)
    wanted = written.replace("ST14", "ST-14")
    assert remove_rules(system, (written,)) == remove_rules(system, (wanted,))
    assert remove_rules(system, (written,)).removed == (wanted,)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("ST-41", "M has no rule 'ST-41'; did you mean ST-44, ST-14"),
        ("ST-12", "M has no rule 'ST-12'; did you mean ST-14"),
        ("nothing", "M has no rule 'nothing'; it has: ST-14, ST-12.old, RC-02, ST-44, RC-03"),
        ("ST-12.old@reopen", "rule ST-12.old does not stand in an action 'reopen'; it serves: open"),
        ("ST-14@", "rule ST-14 does not stand in an action ''; it serves: open, reopen"),
        ("", "M has no rule ''; it has: "),
    ],
)
def test_an_unknown_rule_is_a_usage_error(build: Build, wanted: str, message: str) -> None:
    """The message lists the known rules, nearest names first."""
    with pytest.raises(UsageError) as refused:
        build(MODEL, without=(wanted,))

    assert str(refused.value).startswith(message)
