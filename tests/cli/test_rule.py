"""``holdfast rule`` and ``--rules``: the meaning of rule ids, their holders, and refused files of rules."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import Run
from tests.cli.samples import COUNTER

ROWS = """
[[section]]
number = "1"
title = "Counting"

[[section.rule]]
id = "CT-01"
text = "Nobody counts beyond the limit."
parts = { soft = "Unless asked to." }

[[section.rule]]
id = "CT-10"
text = "The count never exceeds the limit (CT-01)."
"""


@pytest.fixture
def counting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with its own model and rows for two rules."""
    (tmp_path / "models" / "rules").mkdir(parents=True)
    (tmp_path / "models" / "counter.py").write_text(COUNTER)
    (tmp_path / "models" / "rules" / "counting.toml").write_text(ROWS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_rule_with_all_that_is_known(holdfast: Run) -> None:
    """A rule is shown with its row, its lines and their actions, its removals and guards, and findings that cite it."""
    ran = holdfast("rule", "ST-14", "ST-24")
    assert ran.code == 0
    first, second = ran.out.split("\n\nST-24  ")
    assert first.startswith(
        "ST-14  (streams 3, Stream operations)\n  The controller refuses an open with a newer epoch"
    )
    assert "models/parts/streams.py:" in first
    assert "open (ownership, stream_log)" in first
    assert "  ownership ST-14: killed by one_owner (INV-01) in 2 steps\n" in first
    assert "    holdfast check ownership --scope tiny --without ST-14\n" in first
    assert "\nguards\n  G-02  ST-14 OPENED blocks open: two owners at once" in first
    assert "\nfindings\n  docs/findings/AM-02.md  AM-02: a snapshot forgets who was taken over\n" in second


def test_the_command_that_is_shown_ends_as_it_says(holdfast: Run) -> None:
    """The printed command finds the violation without ST-14, in the printed number of steps."""
    shown = next(
        line for line in holdfast("rule", "ST-14").out.splitlines() if "--without ST-14" in line and "owner" in line
    )
    ran = holdfast(*shown.split()[1:])
    assert ran.code == 12
    assert "violated after 2 steps: one_owner (INV-01)" in ran.out


def test_a_part_shows_what_is_its_own(holdfast: Run) -> None:
    """For a part of a rule, only the part's sentence, lines and removals are shown."""
    whole, part = holdfast("rule", "CK-01").out, holdfast("rule", "CK-01.flag").out
    assert ".expired  " in whole
    assert ".flag  With checkFailover" in part
    assert "expired" not in part
    assert "CK-01.flag  models/parts/nodes.py:" in part


def test_a_guard_shows_the_mutants_that_stand_for_it(holdfast: Run) -> None:
    """A guard, which is no rule of a model, is shown with the outcomes of the mutants that stand for it."""
    out = holdfast("rule", "G-02").out
    assert out.startswith("G-02  (streams 19, ")
    assert "holdfast check ownership --scope tiny --without ST-14" in out


def test_a_property_is_a_holder(holdfast: Run) -> None:
    """An invariant that cites a rule is listed as its holder, with its models."""
    assert "  invariant one_owner  models/ownership.py:" in holdfast("rule", "INV-01").out


def test_json_has_the_same(holdfast: Run) -> None:
    """JSON has one line for each rule, with the same facts."""
    ran = holdfast("rule", "ST-14", "CK-01.flag", "--json")
    st14, flag = [json.loads(line) for line in ran.out.splitlines()]
    assert (st14["rule"], st14["page"], st14["section"]["number"]) == ("ST-14", "streams.md", "3")
    assert {"model": "ownership", "mutant": "ST-14", "way": "killed",
            "command": "holdfast check ownership --scope tiny --without ST-14"} in st14["removals"]  # fmt: skip
    assert {each["label"] for each in flag["rules"]} == {each["mutant"] for each in flag["removals"]} == {"CK-01.flag"}
    assert st14["guards"] == ["G-02", "RG-01"]
    assert "STREAM_NOT_CLOSED" in st14["text"]
    assert set(flag) == set(st14)


def test_without_an_id_all_are_listed(counting: Path, holdfast: Run) -> None:
    """Without an id, each row gives one line."""
    del counting
    assert holdfast("rule").out == (
        "rules\n  CT-01  Nobody counts beyond the limit.\n  CT-10  The count never exceeds the limit (CT-01).\n"
    )


CODE = """
def count(view, limit):
    require(view.count < limit, "CT-01.soft", E.LIMIT)
    if rule("CT-10"):
        return [rule("CT-01", step > 0) for step in view.steps]


STEP = rule("CT-10", True)
require(limit, "CT-01 or so", E.LIMIT), require(limit, label, E.LIMIT), rule(), other("CT-01")
"""


def test_the_guards_of_the_implementation_stand_behind_those_of_the_models(counting: Path, holdfast: Run) -> None:
    """Guards of the implementation are listed by file, line and function; its code is only read, and need not parse."""
    (counting / "impl" / "parts").mkdir(parents=True)
    (counting / "impl" / "parts" / "counts.py").write_text(CODE)
    (counting / "impl" / "broken.py").write_text("def (")
    ran = holdfast("rule", "CT-01", "CT-10")
    first, second = ran.out.split("\n\nCT-10  ")
    place = "impl/parts/counts.py"
    soft, hard = f"CT-01.soft  {place}:3  count", f"CT-01  {place}:5  count"
    assert first.partition("in the implementation\n")[2].splitlines()[:2] == [f"  {soft}", f"  {hard}"]
    assert f"in the implementation\n  CT-10  {place}:4  count\n  CT-10  {place}:8\n" in second + "\n"
    assert hard not in holdfast("rule", "CT-01.soft").out
    (found,) = json.loads(holdfast("rule", "CT-01.soft", "--json").out)["code"]
    assert found == {"label": "CT-01.soft", "file": place, "line": 3, "function": "count"}


def test_without_an_implementation_the_models_are_all(counting: Path, holdfast: Run) -> None:
    """Without an implementation, only the models' lines are listed."""
    del counting
    ran = holdfast("rule", "CT-01")
    assert (ran.code, "in the implementation" in ran.out) == (0, False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["NO-99"], "no rule is called 'NO-99'; the nearest are "),
        (["st-14"], "no rule is called 'st-14'; the nearest are ST-14"),
        (["CK-01.flog"], "CK-01 has no part 'flog'; its parts: CK-01.unknown, CK-01.expired, CK-01.flag"),
        (["ST-14.x"], "ST-14 has no part 'x'; its parts: none"),
        (["--json"], "--json prints rules, and none is named; give an id, such as ST-14"),
        (["ST-14", "--pages", "docs"], "--pages writes all pages and prints no rule"),
        (["--pages", "no/such"], "no/such/autobalancer.md"),
    ],
)
def test_what_cannot_be_answered_is_one_line(holdfast: Run, arguments: list[str], said: str) -> None:
    """An unknown id gives one line with the nearest ids, and code 2."""
    ran = holdfast("rule", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"holdfast: {said}")
    assert ran.err.count("\n") == 1


def test_without_rules_there_is_nothing_to_explain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holdfast: Run
) -> None:
    """A folder of models without rows of rules does not use the rows that come with Holdfast."""
    (tmp_path / "counter.py").write_text(COUNTER)
    monkeypatch.chdir(tmp_path)
    ran = holdfast("check", "counter.py", "--scope", "tiny", "--rules")
    assert ran.out.endswith("\nNo rule id that stands here is explained in rules.\n")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[[section]]", "[[part]]", "is no list of rules (unknown key 'part')"),
        ('title = "Counting"', 'titel = "Counting"', "is no list of rules (unknown key 'titel')"),
        ('title = "Counting"\n', "", "is no list of rules ('title')"),
        ('id = "CT-10"', 'id = "CT-01"', "CT-01 has two rows; keep one"),
        ('id = "CT-10"', 'id = "count"', "'count' is no rule id"),
        ('id = "CT-10"', 'id = "CT-01.soft"', "'CT-01.soft' is no rule id"),
        ('id = "CT-10"', "id = 10", "is no list of rules"),
        ("beyond the limit", "beyond | the limit", "must be one line without |"),
        ("[[section]]", "][", "is no list of rules"),
    ],
)
def test_a_list_of_rules_that_is_wrong(counting: Path, holdfast: Run, old: str, new: str, said: str) -> None:
    """The error is one line that names the file and the problem."""
    path = counting / "models" / "rules" / "counting.toml"
    path.write_text(ROWS.replace(old, new, 1))
    ran = holdfast("rule", "CT-01")
    assert ran.code == 2
    assert "rules" in ran.err
    assert said in ran.err
    assert ran.err.count("\n") == 1


def test_pages_are_written_below_what_they_say(counting: Path, holdfast: Run) -> None:
    """The text above the mark is kept, the text below is replaced; a page without a mark is refused and unchanged."""
    page = counting / "counting.md"
    page.write_text("# Mine\n\nSee CT-01.\n")
    refused = holdfast("rule", "--pages", counting)
    assert (refused.code, page.read_text()) == (2, "# Mine\n\nSee CT-01.\n")
    mark = "<!-- Below this line the page is generated: so. -->"
    page.write_text(f"# Mine\n\nSee CT-01.\n\n{mark}\nold\n")
    assert holdfast("rule", "--pages", counting).code == 0
    written = page.read_text()
    assert written.startswith(f"# Mine\n\nSee CT-01.\n\n{mark}\n\n### 1. Counting\n")
    assert "old" not in written
    assert '| <a id="ct-01-soft"></a>CT-01.soft | Unless asked to. |' in written
    assert "The count never exceeds the limit ([CT-01](#ct-01))." in written
    assert holdfast("rule", "--pages", counting).code == 0
    assert page.read_text() == written


# --rules ----------------------------------------------------------------------------------------------------------


def test_check_explains_what_it_prints(holdfast: Run) -> None:
    """Below the run, exactly the rules that it names are explained: the removed one and the property's."""
    out = holdfast("check", "ownership", "--scope", "tiny", "--without", "ST-14", "--rules").out
    legend = out.partition("\nrules\n")[2]
    assert [line.split()[0] for line in legend.splitlines() if line[2:3].isupper()] == ["INV-01", "ST-14"]


def test_mutate_explains_what_it_prints(holdfast: Run) -> None:
    """The rules of the mutant and of the property that kills it are explained."""
    out = holdfast("mutate", "kip_236", "--only", "CA-03", "--rules").out
    legend = out.partition("\nrules\n")[2]
    assert [line.split()[0] for line in legend.splitlines() if line[2:3].isupper()] == ["CA-03", "CA-01"]


def test_show_explains_what_it_prints(holdfast: Run) -> None:
    """With --refused, the rules that refuse a step are explained too."""
    found = holdfast("check", "ownership", "--scope", "tiny", "--without", "ST-14").out
    line = next(line for line in found.splitlines() if "holdfast replay" in line).partition("'")[2].rstrip("'")
    plain, refused = holdfast("show", line, "--rules").out, holdfast("show", line, "--rules", "--refused").out
    assert "\n  ST-14  " in plain
    assert "ST-51" not in plain
    assert "\n  ST-51  " in refused


@pytest.mark.parametrize("verb", ["check", "mutate"])
def test_rules_are_for_people(holdfast: Run, verb: str) -> None:
    """--rules is refused with --json."""
    ran = holdfast(verb, "ownership", "--rules", "--json")
    assert (ran.code, ran.out) == (2, "")
    assert "--rules explains what a command prints for people" in ran.err
