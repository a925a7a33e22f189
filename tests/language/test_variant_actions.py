"""Actions that exist in one variant only, with the state that only they use."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.ir.errors import ModelError
from holdfast.lower.python.interpreter import Interpreter
from tests.language.conftest import Build
from tests.language.toy import Epoch, Node
from tests.language.writing import disagreement

LATE = """
class M(Table):
    late: Flag
    '''An answer comes later.'''
    answer: Map[Node, Epoch]

    tiny = Scope({Node: 2, Stream: 1, Epoch: 2})

    @init
    def start_answers(self) -> None:
        if self.late:
            self.answer.fill(Epoch(0))

    @action
    def ask(self, n: Node) -> None:
        require(self.clock == Epoch(0), "CL-01")
        if self.late:
            self.answer[n] = Epoch(2)
        else:
            self.clock = Epoch(2)

    @action(fair="weak", per=("n",), variant="late")
    def hear(self, n: Node) -> None:
        '''The answer comes.'''
        require(self.answer[n] > Epoch(0), "CL-01.answer")
        self.clock = self.answer[n]
        self.answer[n] = Epoch(0)
"""


def test_the_action_and_its_state_are_there_in_the_variant_only(build: Build) -> None:
    """Without the variant, a state has no cells for the fields that only the variant's action uses."""
    plain, late = build(LATE), build(LATE, "late")
    assert [action.name for action in plain.actions] == ["ask"]
    assert [(action.name, action.fair, action.per) for action in late.actions] == [
        ("ask", None, ()),
        ("hear", "weak", ("n",)),
    ]
    assert "answer" not in [var.name for var in plain.variables]
    assert "answer" in [var.name for var in late.variables]
    assert [rule.label for rule in plain.rules] == ["CL-01"]
    bits = [Interpreter(system, system.scopes["tiny"]).layout.bits for system in (plain, late)]
    assert bits[1] - bits[0] == 4


def test_without_the_variant_the_model_is_as_if_it_had_none(build: Build) -> None:
    """Without the variant, the fingerprint equals that of the same text without flag, field and action."""
    start, end = LATE.index("    @init"), LATE.index("    @action")
    text = LATE[:start] + LATE[end:]
    text = text[: text.index("    @action(fair")]
    text = text.replace("    late: Flag\n    '''An answer comes later.'''\n    answer: Map[Node, Epoch]\n", "")
    text = text.replace("        if self.late:\n            self.answer[n] = Epoch(2)\n        else:\n    ", "")
    assert build(LATE).fingerprint == build(text).fingerprint != build(LATE, "late").fingerprint


@pytest.mark.parametrize("chosen", [(), ("late",)])
def test_both_executors_agree(build: Build, chosen: tuple[str, ...]) -> None:
    """CPython and the compiled system agree, with the variant and without."""
    assert disagreement(build(LATE, *chosen)) is None


def test_the_class_has_the_action_in_the_variant_only(build: Build) -> None:
    """Without the variant the class has no such action, and taking it by hand fails with its name."""
    model: Any = build(LATE).python
    n = Node.element(1)
    heard = model.at("tiny", variants=("late",)).start().take("ask", n=n).take("hear", n=n)
    assert heard.clock == Epoch(2)
    with pytest.raises(AttributeError, match="M has no action hear"):
        model.at("tiny").start().take("hear", n=n)


def test_a_variant_without_a_flag_is_offered(build: Build) -> None:
    """An action alone makes a variant. Its docstring describes the variant."""
    text = LATE.replace("    late: Flag\n    '''An answer comes later.'''\n", "").replace("if self.late", "if n == n")
    text = text.replace(
        "        if n == n:\n            self.answer.fill(Epoch(0))\n", "        self.answer.fill(Epoch(0))\n"
    )
    assert build(text).variants == {"late": "The answer comes."}


def test_a_broken_action_is_refused_without_its_variant(build: Build) -> None:
    """Every method of the model must be in the language, whatever variant is chosen."""
    with pytest.raises(ModelError, match=r"Epok\(0\): this call is outside the language"):
        build(LATE.replace("self.answer[n] > Epoch(0)", "self.answer[n] > Epok(0)"))


def test_state_that_a_property_reads_stays(build: Build) -> None:
    """A field that a property reads is kept without the variant, and the error says that nothing sets it."""
    text = (
        LATE
        + """
    @invariant
    def answers_are_new(self) -> bool:
        return all(self.answer[n] < Epoch(2) or self.clock == Epoch(0) for n in Node)
"""
    )
    assert "answer" in [var.name for var in build(text, "late").variables]
    with pytest.raises(ModelError, match="answer"):
        build(text)
