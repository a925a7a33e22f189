"""Variants: flags and replacing methods, what each is called, and which of them may be chosen together."""

from __future__ import annotations

import pytest

from holdfast.ir.errors import ModelError, UsageError
from holdfast.lower.python.interpreter import Interpreter
from tests.language.conftest import Build
from tests.language.writing import disagreement

VARIANTS = """
class M(Table):
    as_built: Flag
    '''Requests are answered
    as the code does it.

    And more prose.'''
    quick: Flag

    @action(fair="weak", per=("n",), idempotent="INV-15")
    def elect(self, n: Node) -> None:
        '''Elect.'''
        if self.as_built:
            require(self.leader is None, "EL-01")
        elif not self.quick:
            if rule("EL-02"):
                self.phase = Phase.BUSY
        self.leader = n

    @variant("late", replaces="elect")
    def elect_late(self, n: Node, m: Node) -> None:
        '''Elect later.'''
        require(n != m, "EL-01")
        self.clock += 1
        self.leader = m

    @variant("as_built", replaces="reset")
    def reset_as_built(self) -> None:
        self.clock = Epoch(1)

    @variant("hasty", replaces="elect")
    def elect_hastily(self, n: Node) -> None:
        self.leader = n

    @action
    def reset(self) -> None:
        self.clock = Epoch(0)
"""


def test_variants_are_offered_with_a_line_each(build: Build) -> None:
    """Flags and replacing methods are offered by name, with the first paragraph of their description."""
    assert build(VARIANTS).variants == {
        "as_built": "Requests are answered as the code does it.",
        "quick": "",
        "late": "Elect later.",
        "hasty": "",
    }


def test_a_flag_has_the_text_below_it(build: Build) -> None:
    """The text below a flag is its description, also at the end of the class; a flag without a text has none."""
    source = """
class M(Table):
    high: Flag
    '''It is high.'''
    low: Flag
    deep: Flag
    '''It is deep.'''

    @action
    def look(self) -> None:
        require(self.high or self.low or self.deep or self.last, "EL-01")

    last: Flag
    """
    described = {"high": "It is high.", "low": "", "deep": "It is deep.", "last": ""}
    assert build(source).variants == described
    assert build(f"{source}'''It is the last.'''\n").variants == {**described, "last": "It is the last."}


@pytest.mark.parametrize(
    ("chosen", "labels", "params"),
    [
        ((), ["EL-02"], ["n"]),
        (("as_built",), ["EL-01"], ["n"]),
        (("quick",), [], ["n"]),
        (("late",), ["EL-01"], ["n", "m"]),
        (("quick", "as_built"), ["EL-01"], ["n"]),
    ],
)
def test_a_variant_keeps_what_it_needs(
    build: Build, chosen: tuple[str, ...], labels: list[str], params: list[str]
) -> None:
    """A flag fixes the branches that test it, and a replacing method stands for its action; CPython does the same."""
    system = build(VARIANTS, *chosen)
    elect = system.action("elect")

    assert [rule.label for rule in system.rules] == labels
    assert [param.name for param in elect.params] == params
    assert disagreement(system) is None


def test_a_variant_has_the_fairness_of_the_action_it_replaces(build: Build) -> None:
    """Name, position, fairness and idempotence are those of the replaced action. The text is the variant's."""
    system = build(VARIANTS, "late")
    elect = system.action("elect")

    assert [action.name for action in system.actions] == ["elect", "reset"]
    assert (elect.fair, elect.per, elect.idempotent, elect.doc) == ("weak", ("n",), "INV-15", "Elect later.")


def test_a_flag_and_a_method_may_make_one_variant(build: Build) -> None:
    """One variant may have both a flag and replacing actions."""
    interpreter = Interpreter(system := build(VARIANTS, "as_built"), system.scopes["tiny"])
    [start] = interpreter.initial()
    [(reset, _)] = interpreter.successors[1](start)

    assert [rule.label for rule in system.rules] == ["EL-01"]
    assert interpreter.layout.decode(reset)["clock"] == 1


STEPWISE = """
class Rung(Nat):
    pass

class M(Table):
    tiny = Scope({Node: 2, Stream: 1, Epoch: 2, Rung: 3})

    @action
    def climb(self, r: Rung) -> None:
        require(r > Rung(1), "EL-01")

    @variant("quick", replaces="climb")
    def jump(self) -> None:
        self.clock = Epoch(1)
"""


def test_a_type_that_only_a_replaced_action_uses_stays(build: Build) -> None:
    """A system keeps the types of all its variants, since a scope gives sizes to all of them."""
    systems = [build(STEPWISE), build(STEPWISE, "quick")]
    assert [dict(system.scopes["tiny"].sizes) for system in systems] == [systems[0].scopes["tiny"].sizes] * 2
    assert all("Rung" in [nat.name for nat in system.nats] for system in systems)


def test_a_broken_action_is_refused_where_a_variant_replaces_it(build: Build) -> None:
    """Every method of the model must be in the language, whatever variant is chosen."""
    with pytest.raises(ModelError, match="Ladder: this name is not known here"):
        build(STEPWISE.replace("r: Rung", "r: Ladder"), "quick")


def test_chosen_variants_have_one_order(build: Build) -> None:
    """The order in which variants are asked for does not matter."""
    one, two = build(VARIANTS, "late", "quick"), build(VARIANTS, "quick", "late")

    assert one.chosen == two.chosen == ("quick", "late")
    assert one.fingerprint == two.fingerprint


def test_an_unknown_variant_is_a_usage_error(build: Build) -> None:
    """The message lists the variants there are."""
    with pytest.raises(UsageError, match="M has no variant 'slow'; it has: as_built, quick, late, hasty"):
        build(VARIANTS, "slow")


def test_two_variants_of_one_action_exclude_each_other(build: Build) -> None:
    """Two variants that replace the same action cannot be chosen together."""
    with pytest.raises(UsageError, match="the variants late and hasty both replace the action elect; choose one"):
        build(VARIANTS, "hasty", "late")
