"""TLC and ``live`` on conditions that recur, or hold for good at last: both find the same violations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.check.tlc.agreement import SecondOpinion
from holdfast.check.tlc.answer import answer_of
from holdfast.check.tlc.liveness import LiveAgreement, compare_liveness
from holdfast.check.tlc.process import Tools, run_tlc
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.system import LIVENESS
from tests.tla.asking import LIMIT, opinion

LAMPS = '''
from holdfast.lang import *
class Lamp(Sort): ...
class Lamps(Model):
    lit: Rel[Lamp]
    over: bool
    tiny = Scope({Lamp: 2})
    @init
    def start_dark(self) -> None:
        self.lit.fill(False)
        self.over = False
    @action(fair="weak", per=("c",))
    def blink(self, c: Lamp) -> None:
        require(not self.over, "LA-01")
        self.lit[c] = not self.lit[c]
    @action(fair="FAIR")
    def end(self) -> None:
        require(any(self.lit[c] for c in Lamp), "LA-02")
        self.over = True
    @leads_to
    def comes(self, c: Lamp) -> tuple[bool, bool]:
        """LA-10. A dark lamp is lit, unless it is over before."""
        return not self.lit[c], self.lit[c] or self.over
    @always_eventually
    def shines(self, c: Lamp) -> bool:
        """LA-11. Each lamp is lit again and again, until it is over."""
        return self.lit[c] or self.over
    @always_eventually
    def darkens(self, c: Lamp) -> bool:
        """LA-12. Each lamp is dark again and again."""
        return not self.lit[c]
    @eventually_always
    def ends(self) -> bool:
        """LA-13. It is over at last."""
        return self.over
    @eventually_always
    def rests(self, c: Lamp) -> bool:
        """LA-14. Each lamp is dark for good at last."""
        return not self.lit[c]
'''
NAMES = ("comes", "shines", "darkens", "ends", "rests")

VIOLATED = {"weak": ("darkens", "ends", "rests"), "strong": ("darkens", "rests")}
"""What is violated if the end is weakly or strongly fair: it is possible again and again, and not all the time."""

ONE = """
from holdfast.lang import *
class N(Nat): ...
class One(Model):
    n: N
    tiny = Scope({N: 2})
    @init
    def zero(self) -> None:
        self.n = N(0)
    @action(fair="weak")
    def turn(self) -> None:
        BODY
    @eventually_always
    def lasts(self) -> bool:
        return self.n == N(1)
"""
BACK_AND_FORTH, FORTH, BEYOND = (
    "self.n = N(1) if self.n == N(0) else N(0)",
    "self.n = N(1)",
    "self.n = self.n + 1",
)

Ask = Callable[..., SecondOpinion]


@pytest.fixture
def ask(tools: Tools, tmp_path: Path) -> Ask:
    """TLC's opinion of the model of this text; ``faults`` are pairs of texts in the module of debts."""

    def asked(text: str, *faults: tuple[str, str]) -> SecondOpinion:
        def change(files: dict[str, str]) -> dict[str, str]:
            module = files["asked_tiny_live.tla"]
            for old, new in faults:
                assert module.count(old) == 1, old
                module = module.replace(old, new)
            return files | {"asked_tiny_live.tla": module}

        (tmp_path / "asked.py").write_text(text)
        system = compile_model(load_model(str(tmp_path / "asked.py")))
        return opinion(tools, system, target="asked.py", change=change)

    return asked


def compared(asked: SecondOpinion) -> LiveAgreement:
    """Both results for a model with liveness properties."""
    found = compare_liveness(asked)
    assert found is not None
    return found


@pytest.mark.parametrize("fair", VIOLATED)
def test_both_find_what_is_known(ask: Ask, fair: str) -> None:
    """Both find the same violations, and each of TLC's runs violates its property in the model."""
    found = compared(ask(LAMPS.replace("FAIR", fair)))
    assert (found.properties, found.only_if_cut, found.differences) == (NAMES, (), ())
    assert found.ours == found.theirs == VIOLATED[fair]
    assert sorted(run.shown.name for run in found.runs) == sorted(VIOLATED[fair])


def test_the_formulas_of_the_module_say_the_same(ask: Ask) -> None:
    """The module states each property as a formula. TLC decides it as it does the module of debts."""
    asked = ask(LAMPS.replace("FAIR", "weak"))
    scope, signature = asked.specification.scope, asked.specification.signature
    text = asked.specification.files["asked.tla"]
    assert r"Darkens == \A c \in Lamp : []<>DarkensMet(c)" in text
    assert "Ends == <>[]EndsMet" in text
    for prop in asked.system.of_kind(*LIVENESS):
        plain = scope.configuration([signature.properties[prop.name]], invariants=False)
        fair = plain.replace("SPECIFICATION Spec", "SPECIFICATION FairSpec")
        assert fair != plain
        files = asked.specification.files | {"fair.cfg": fair}
        found = answer_of(run_tlc(asked.tools, files, scope.name, "fair.cfg", seconds=LIMIT))
        assert found.verdict == ("liveness" if prop.name in VIOLATED["weak"] else "exhausted"), prop.name


def test_what_a_bound_cuts_is_impossible_to_tlc(ask: Ask) -> None:
    """If the number cannot pass 2, it stays there, which is not 1. In the protocol it goes on."""
    found = compared(ask(ONE.replace("BODY", BEYOND)))
    assert (found.ours, found.only_if_cut, found.theirs, found.differences) == ((), ("lasts",), ("lasts",), ())


FAULTS = {
    "a run may not go where the condition is true": (
        BACK_AND_FORTH,
        r"(Lasting(debt) \/ ~Met(debt)')",
        "~Met(debt)'",
        ["lasts: live: violated; TLC: holds"],
    ),
    "the condition need only be true again and again": (
        BACK_AND_FORTH,
        r"DebtsSettle == <>[](~Lasting",
        r"DebtsSettle == []<>(~Lasting",
        ["lasts: live: violated; TLC: holds"],
    ),
    "the condition may not be false even once": (
        FORTH,
        r"DebtsArePaid == []<>(debt = NoDebt \/ Lasting(debt))",
        "DebtsArePaid == []<>(debt = NoDebt)",
        [
            "lasts: live: holds; TLC: violated",
            "lasts: in the model, TLC's run has the goal in its whole loop",
        ],
    ),
    "no action is fair": (
        FORTH,
        r"_<<vars, debt>> /\ DebtFairness",
        "_<<vars, debt>>",
        ["lasts: live: holds; TLC: violated"],
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_module_is_noticed(ask: Ask, fault: str) -> None:
    """If the module of debts asks something else, the two differ."""
    body, old, new, differences = FAULTS[fault]
    text = ONE.replace("BODY", body)
    assert compared(ask(text)).differences == ()
    assert list(compared(ask(text, (old, new))).differences) == differences
