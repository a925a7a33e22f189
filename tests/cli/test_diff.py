"""``holdfast diff``: the names of its two sides, its output and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.cli.diff import parse_side
from holdfast.ir.errors import UsageError
from tests.cli.running import Run
from tests.cli.samples import COUNTER, EXPLOSION

VARIED = COUNTER.replace(
    "    @invariant",
    '''\
    @variant("by_leaps", replaces="grow")
    def grow_by_leaps(self, n: Node, c: Count) -> None:
        """Any way up."""
        require(c > self.value[n], "CT-01.leaps_and_bounds")
        require(c > Count(1), "CT-01.leaps")
        self.value[n] = c

    @invariant''',
).replace("require, witness", "require, variant, witness")
"""The counter with a variant whose rule labels share a prefix."""

NAMED = COUNTER.replace(
    'require(c > self.value[n], "CT-01")',
    'require(c > self.value[n], "CT-01")\n'
    '        require(c > self.value[n], "not_twice")\n'
    '        require(c > self.value[n], "led.here")',
)
"""The counter with labels that are names."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a model, one with a variant, one whose file name holds + and -, and a huge one."""
    monkeypatch.chdir(tmp_path)
    Path("counter.py").write_text(COUNTER)
    Path("varied.py").write_text(VARIED)
    Path("named.py").write_text(NAMED)
    Path("new+counter-CT-01.py").write_text(COUNTER.replace("c > self.value[n]", "c >= self.value[n]"))
    Path("explosion.py").write_text(EXPLOSION)
    return tmp_path


def test_a_rule_less(holdfast: Run) -> None:
    """The effect of a removed rule is shown: the gained steps, the nearest of them, and the rule that refuses it."""
    ran = holdfast("diff", "counter.py", "counter.py-CT-01")
    assert ran.code == 0
    assert ran.out.startswith("A  counter.py: Counter, scope tiny\nB  counter.py: Counter, scope tiny, without CT-01\n")
    assert "\n  rules           CT-01: only in A; refuses in A 24 steps that B takes\n" in ran.out
    assert "\ngained: 24 steps that B takes and A does not\n  grow: 24 steps; A refuses it by CT-01\n" in ran.out
    assert (
        "  1  grow(n=n1, c=1)\n     n1  value[n1]: 0 -> 1\n  2  grow(n=n1, c=0)\n     n1  value[n1]: 1 -> 0\n"
        in ran.out
    )
    assert "replay:    holdfast replay 'counter.py tiny -CT-01 #" in ran.out
    assert "\nlost: nothing; what A does, B does too\n" in ran.out
    assert "compared and searched in" in ran.err


def test_the_same(holdfast: Run) -> None:
    """A model compared with itself is reported as doing the same."""
    ran = holdfast("diff", "counter.py", "counter.py", "--scope", "default")
    assert ran.code == 0
    assert "  models          the same actions, fields and bounds, and no rule decides differently" in ran.out
    assert "Both do the same: compared in 10 states" in ran.out


def test_json_is_all_there_is(holdfast: Run) -> None:
    """With --json standard output holds one record, with both searches and every run."""
    ran = holdfast("diff", "counter.py", "new+counter-CT-01.py", "--json")
    record = json.loads(ran.out)
    assert (ran.err, record["same_behaviour"], record["exit_code"]) == ("", False, 0)
    assert [each["answer"]["what"] for each in record["gained"]] == ["CT-01"]
    assert record["gained"][0]["run"]["replay"].startswith("holdfast replay 'new+counter-CT-01.py tiny #")
    assert (record["lost"], record["a"]["search"]["verdict"]) == ([], "exhausted")


def test_a_budget_ends_with_no_answer(holdfast: Run) -> None:
    """A comparison that a limit ends has no answer: code 20, with its progress."""
    ran = holdfast("diff", "explosion.py", "explosion.py", "--scope", "large", "--budget", "2states")
    assert ran.code == 20
    assert "No answer (states: more than 2): nothing differs in the first" in ran.out
    assert "gained: nothing so far" in ran.out


@pytest.mark.parametrize(
    ("text", "target", "variants", "removed"),
    [
        ("counter.py", "counter.py", (), ()),
        ("counter.py-CT-01", "counter.py", (), ("CT-01",)),
        ("counter.py:Counter-CT-01@grow", "counter.py:Counter", (), ("CT-01@grow",)),
        ("varied.py+by_leaps", "varied.py", ("by_leaps",), ()),
        ("varied.py+by_leaps-CT-01.leaps-CT-01.leaps_and_bounds", "varied.py", ("by_leaps",),
         ("CT-01.leaps", "CT-01.leaps_and_bounds")),
        ("varied.py+by_leaps-CT-01.leaps_and_bounds@grow-CT-01.leaps", "varied.py", ("by_leaps",),
         ("CT-01.leaps_and_bounds@grow", "CT-01.leaps")),
        ("new+counter-CT-01.py", "new+counter-CT-01.py", (), ()),
        ("new+counter-CT-01.py-CT-01", "new+counter-CT-01.py", (), ("CT-01",)),
        ("./new+counter-CT-01.py-CT-01", "./new+counter-CT-01.py", (), ("CT-01",)),
        ("ownership-ST-14-CK-01.flag", "ownership", (), ("ST-14", "CK-01.flag")),
        ("named.py-not_twice-CT-01-led.here@grow", "named.py", (), ("not_twice", "CT-01", "led.here@grow")),
        ("ownership+reopen_same_epoch-ST-17.seal", "ownership", ("reopen_same_epoch",), ("ST-17.seal",)),
    ],
)  # fmt: skip
def test_how_a_side_is_read(text: str, target: str, variants: tuple[str, ...], removed: tuple[str, ...]) -> None:
    """A side is read as the longest existing model name, then variants, then rules, whose labels may contain a -."""
    side = parse_side(text)
    assert (side.target, side.system.chosen, side.system.removed) == (target, variants, removed)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nothing-CT-01", "there is no model 'nothing'"),
        ("no-thing.py", "there is no model file no-thing.py"),
        ("no-thing.py-CT-01", "there is no model file no-thing.py"),
        ("", "there is no model ''"),
        ("-CT-01", "there is no model '-CT'"),
        ("counter.py-CT-02", "no rule 'CT-02'; did you mean CT-01"),
        ("counter.py-CT-01@shrink", "rule CT-01 does not stand in an action 'shrink'; it serves: grow"),
        ("counter.py-CT-01-", "'-' is neither +VARIANT nor -LABEL"),
        ("counter.py-CT", "'-CT' is neither +VARIANT nor -LABEL; write the variants first"),
        ("named.py-not-twice", "no rule 'not'"),
        ("counter.py+", "'+' is neither +VARIANT nor -LABEL"),
        ("varied.py+by_leap", "by_leaps"),
        ("varied.py-CT-01+by_leaps", "'+by_leaps' is neither +VARIANT nor -LABEL; write the variants first"),
        ("counter.py:Countr", "has no model 'Countr'"),
    ],
)  # fmt: skip
def test_sides_that_do_not_exist(text: str, said: str) -> None:
    """A side that does not exist gives an error that names the problem and the remedy."""
    with pytest.raises(UsageError) as raised:
        parse_side(text)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["counter.py"], "parameter"),
        (["counter.py", "counter.py", "--scope", "huge"], "Counter has no scope 'huge'; it has: tiny, default"),
        (["counter.py", "explosion.py"], "(counter.py has tiny, default; explosion.py has large); give both a scope"),
        (["counter.py", "counter.py", "--budget", "soon"], "'soon' is not a limit"),
        (["counter.py", "counter.py-CT-99"], "no rule 'CT-99'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_wrong_arguments(holdfast: Run, argv: list[str], said: str) -> None:
    """A wrong argument ends with code 2 and one line that names it; nothing is printed."""
    ran = holdfast("diff", *argv)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert said in ran.err
