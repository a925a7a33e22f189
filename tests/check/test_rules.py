"""The facts about a rule: its holders in the models, its removals, and the guards and findings that cite it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from textwrap import dedent

import pytest

from holdfast.check.json_values import sealed
from holdfast.check.rules.book import read_book
from holdfast.check.rules.facts import RuleFacts
from holdfast.check.rules.page import MARK, page_text
from holdfast.check.rules.text import RuleAnswer, actions_text, render_rule
from holdfast.ir.errors import UsageError

LONG_WORD = f"https://example.org/{'x' * 120}"

WORDS = f"{'word ' * 23}well-known {LONG_WORD} ends"

FILES = {
    "models/rules/doors.toml": """
        [[section]]
        number = "1"
        title = "Doors"
        text = "A door is open or shut (DR-01). Nobody says more about DR-01.key, or about DR-99."

        [[section.rule]]
        id = "DR-01"
        text = "Who opens a door has a key or a card (DR-01, KY-01)."
        parts = { key = "A key fits.", card = "A card is known." }

        [[section.rule]]
        id = "DR-10"
        text = "No door is open without a key."

        [[section.rule]]
        id = "DR-11"
        text = "Nobody holds this rule."

        [[section]]
        number = "2"
        title = "Guards"
        text = "WORDS"
        """,
    "models/rules/keys.toml": """
        [[section]]
        number = "1"
        title = "Keys"

        [[section.rule]]
        id = "KY-01"
        text = "A key is made once."
        """,
    "models/guards.toml": """
        [[table]]
        name = "doors.md 2"
        title = "Doors"

        [[table.guard]]
        id = "G-01"
        guard = "DR-01.key: only who has a key opens"
        protects = "DR-10"
        home = "door"
        mutants = ["door:DR-01.key"]

        [[table.guard]]
        id = "G-02"
        guard = "a fence | a wall (G-02.wall)"
        protects = "all"
        home = "fence"
        mutants = ["door:loud", "gate:KY-01"]
        parts = { wall = "A wall is a fence." }

        [[table]]
        name = "keys.md 7"
        title = "Keys"

        [[table.guard]]
        id = "G-03"
        guard = "KY-01 makes one key"
        protects = "DR-10"
        home = "keys"
        missing = "who makes keys"
        """,
    "models/door.py": """
        from holdfast.lang import *


        class Door(Model):
            is_open: bool
            has_key: bool

            tiny = Scope({})

            @init
            def begin(self) -> None:
                self.is_open = False
                self.has_key = False

            @action
            def open(self) -> None:
                require(self.has_key, "DR-01.key")
                self.is_open = True

            @action
            def fetch(self) -> None:
                if rule("DR-01"):
                    self.has_key = True

            @invariant
            def keyed(self) -> bool:
                '''DR-10. Only who has a key opens.'''
                return self.has_key or not self.is_open
        """,
    "models/gate.py": """
        from door import Door
        from holdfast.lang import *


        class Gate(Door):
            @action
            def shut(self) -> None:
                require(self.is_open, "KY-01")
                self.is_open = False
        """,
    "docs/findings/README.md": "# Findings\n\nDR-01\n",
    "docs/findings/A-01.md": "# A door stays open\n\nDR-01.key is missing; see DR-10.\n",
    "docs/findings/A-02.md": "no heading, DR-01\n",
}

REMOVED = {
    "door": {
        "fingerprint": "f",
        "scopes": ["tiny"],
        "mutants": [
            {"mutant": "DR-01", "kind": "rule", "way": "equivalent", "reason": "it opens anyhow"},
            {"mutant": "DR-01.key", "kind": "rule", "way": "killed", "property": "keyed (DR-10)", "steps": 3,
             "scope": "tiny"},
            {"mutant": "DR-01@fetch", "kind": "rule", "way": "killed", "property": "keyed (DR-10)", "steps": 1,
             "scope": "tiny"},
            {"mutant": "KY-01", "kind": "rule", "way": "killed", "property": "keyed (DR-10)", "steps": 1,
             "scope": "tiny"},
            {"mutant": "loud", "kind": "variant", "way": "killed", "property": "keyed (DR-10)", "steps": 2,
             "scope": "tiny"},
        ],
    },
    "gate": {
        "fingerprint": "f",
        "scopes": ["tiny"],
        "mutants": [
            {"mutant": "DR-01", "kind": "rule", "way": "killed", "property": "keyed (DR-10)", "steps": 2,
             "scope": "tiny"},
            {"mutant": "DR-01.key", "kind": "rule", "way": "killed", "property": "keyed (DR-10)", "steps": 1,
             "scope": "tiny"},
            {"mutant": "KY-01", "kind": "rule", "way": "killed", "reason": "opened is not reached", "scope": "tiny"},
        ],
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RuleFacts]:
    """The facts about the rules of two small models, which have guards, results of mutants, and findings."""
    root, before = tmp_path_factory.mktemp("rules"), list(sys.path)
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text).lstrip("\n").replace("WORDS", WORDS), encoding="utf-8")
    stored = {name: sealed(model) for name, model in REMOVED.items()}
    (root / "models" / "mutants.json").write_text(json.dumps(stored), encoding="utf-8")
    found = RuleFacts(root / "models", read_book(root / "models"))
    found.of("DR-01")
    yield found
    sys.path[:] = before
    sys.modules.pop("door", None)


def text_of(facts: RuleFacts, asked: str) -> str:
    """The text about a rule or a part of it."""
    entry = facts.book.entry(asked)
    return render_rule(RuleAnswer(asked, entry, *facts.of(entry.row.id)).of_its_part())


def test_a_rule_is_shown_with_its_evidence(facts: RuleFacts) -> None:
    """The text has the rule and its parts, its lines and actions, each removal, the guards, and the findings' pages.

    A removal of the rule in one action only is no removal of the rule. A page without a heading is no finding.
    """
    assert text_of(facts, "DR-01").splitlines() == [
        "DR-01  (doors 1, Doors)",
        "  Who opens a door has a key or a card (DR-01, KY-01).",
        "  .key  A key fits.",
        "  .card  A card is known.",
        "",
        "in the models",
        "  DR-01.key  models/door.py:17  open (door, gate)",
        "  DR-01  models/door.py:22  fetch (door, gate)",
        "",
        "without it",
        "  door DR-01: equivalent: it opens anyhow",
        "    holdfast mutate door --only DR-01",
        "  door DR-01.key: killed by keyed (DR-10) in 3 steps",
        "    holdfast check door --scope tiny --without DR-01.key",
        "  gate DR-01: killed by keyed (DR-10) in 2 steps",
        "    holdfast check gate --scope tiny --without DR-01",
        "  gate DR-01.key: killed by keyed (DR-10) in 1 step",
        "    holdfast check gate --scope tiny --without DR-01.key",
        "",
        "guards",
        "  G-01  DR-01.key: only who has a key opens: DR-10",
        "",
        "findings",
        "  docs/findings/A-01.md  A door stays open",
    ]


def test_a_guard_is_shown_with_the_mutants_that_stand_for_it(facts: RuleFacts) -> None:
    """The removals of a guard are those of its own mutants, variants too, and not those of other guards."""
    assert text_of(facts, "G-02").splitlines() == [
        "G-02  (doors 2, Guards)",
        "  a fence | a wall (G-02.wall). Without it: all.",
        "  .wall  A wall is a fence.",
        "",
        "without it",
        "  door loud: killed by keyed (DR-10) in 2 steps",
        "    holdfast check door --scope tiny --variant loud",
        "  gate KY-01: killed: opened is not reached",
        "    holdfast mutate gate --only KY-01",
    ]
    assert "door DR-01.key" in text_of(facts, "G-01")
    assert "gate" not in text_of(facts, "G-01")


def test_a_guard_belongs_to_the_rules_that_it_names_or_lacks(facts: RuleFacts) -> None:
    """A rule has the guards that name it, and the guards whose mutants lack it. No guard stands beside itself."""
    guards = {rule: [guard.id for guard in facts.of(rule)[1].guards] for rule in facts.book.entries}
    assert {rule: found for rule, found in guards.items() if found} == {"DR-01": ["G-01"], "KY-01": ["G-02", "G-03"]}


def test_a_part_is_shown_alone(facts: RuleFacts) -> None:
    """The text about a part has the sentence, the lines and the removals of this part only."""
    text = text_of(facts, "DR-01.card")
    assert "  .card  A card is known.\n" in text
    assert ".key  A key fits" not in text
    assert "in the models" not in text
    assert "without it" not in text
    assert "DR-01.key  models/door.py:17" in text_of(facts, "DR-01.key")


def test_a_rule_without_evidence_is_its_sentence(facts: RuleFacts) -> None:
    """Of a rule that no model holds only the row is shown; of a property's rule, the property with its models."""
    assert text_of(facts, "DR-11") == "DR-11  (doors 1, Doors)\n  Nobody holds this rule."
    assert "in the models\n  invariant keyed  models/door.py:26  (door, gate)" in text_of(facts, "DR-10")


def test_actions_are_grouped_by_models() -> None:
    """Models in which a rule serves the same actions are named together, in the order of the models."""
    actions = {"a": ("open", "close"), "b": ("open",), "c": ("close", "open"), "d": ("open",)}
    assert actions_text(actions) == "open, close (a, c); open (b, d)"


# Pages ------------------------------------------------------------------------------------------------------------

BY_HAND = f"# Doors\n\nBy hand.\n\n{MARK} by a test -->\n\nold\n"


def rows_of(facts: RuleFacts, name: str) -> dict[str, list[str]]:
    """The cells of each row of a page, by rule id or part, without the cell of the id."""
    (page,) = (page for page in facts.book.pages if page.name == name)
    lines = [line for line in page_text(page, BY_HAND, facts).splitlines() if "<a id=" in line]
    rows = [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in lines]
    return {row[0].partition("</a>")[2]: row[1:] for row in rows}


def test_a_page_keeps_the_part_written_by_hand(facts: RuleFacts) -> None:
    """The part above the mark stays; below it come the sections with their texts, in which rules are linked once."""
    head, _, rest = page_text(facts.book.pages[0], BY_HAND, facts).partition("\n### 1. Doors\n\n")
    assert head == f"# Doors\n\nBy hand.\n\n{MARK} by a test -->\n"
    text = "A door is open or shut ([DR-01](#dr-01)). Nobody says more about DR-01.key, or about DR-99.\n\n"
    columns = "| id | rule | in the models | what shows it |\n|---|---|---|---|\n"
    assert rest.startswith(text + columns + '| <a id="dr-01"></a>DR-01 | ')
    assert f" |\n\n### 2. Guards\n\n{WORDS[:9]}" in rest
    assert rest.count(columns) == 2
    with pytest.raises(UsageError, match=r"doors\.md has no line that begins with '<!-- Below this line"):
        page_text(facts.book.pages[0], "# Doors\n", facts)


def test_a_row_of_a_page(facts: RuleFacts) -> None:
    """A row has the rule's text with links to other rules, its lines, the most telling removal, guards and findings.

    The most telling removal is a killed one with the fewest steps. A part has a row with its own lines and removal.
    """
    rows = rows_of(facts, "doors")
    shortest = "**killed** by keyed (DR-10) in 2 steps: `holdfast check gate --scope tiny --without DR-01`"
    assert list(rows) == ["DR-01", "DR-01.key", "DR-01.card", "DR-10", "DR-11", "G-01", "G-02", "G-02.wall"]
    assert rows["DR-01"] == [
        "Who opens a door has a key or a card (DR-01, [KY-01](keys.md#ky-01)).",
        "[door.py:22](../../models/door.py#L22): fetch (door, gate)",
        f"{shortest}<br>guard [G-01](#g-01)<br>finding [A-01](../findings/A-01.md)",
    ]
    assert rows["DR-01.key"] == [
        "A key fits.",
        "[door.py:17](../../models/door.py#L17): open (door, gate)",
        "**killed** by keyed (DR-10) in 1 step: `holdfast check gate --scope tiny --without DR-01.key`",
    ]
    assert rows["DR-10"] == [
        "No door is open without a key.",
        "[keyed](../../models/door.py#L26) (door, gate)",
        "finding [A-01](../findings/A-01.md)",
    ]
    assert [cells[0] for cells in (rows["DR-01.card"], rows["DR-11"])] == [
        "A card is known.",
        "Nobody holds this rule.",
    ]
    assert not any(cell for row in ("DR-01.card", "DR-11") for cell in rows[row][1:])


def test_a_row_of_a_guard(facts: RuleFacts) -> None:
    """A guard's row has the most telling of its own mutants; a bar in its text is escaped, and no cell ends there."""
    page = page_text(facts.book.pages[0], BY_HAND, facts)
    (row,) = (line for line in page.splitlines() if "</a>G-02 |" in line)
    assert "| a fence \\| a wall (G-02.wall). Without it: all. |  | **killed**: opened is not reached: " in row
    assert rows_of(facts, "doors")["G-01"][::2] == [
        "[DR-01.key](#dr-01): only who has a key opens. Without it: [DR-10](#dr-10).",
        "**killed** by keyed (DR-10) in 3 steps: `holdfast check door --scope tiny --without DR-01.key`",
    ]
    assert rows_of(facts, "doors")["G-02.wall"] == ["A wall is a fence.", "", ""]


def test_a_row_of_a_rule_on_another_page(facts: RuleFacts) -> None:
    """A guard on another page is linked there, and a guard without a row is left out.

    No run shows that a witness is lost. Such a removal counts as one of 0 steps.
    """
    (shows,) = (cells[2] for cells in rows_of(facts, "keys").values())
    assert shows.split("<br>") == [
        "**killed**: opened is not reached: `holdfast mutate gate --only KY-01`",
        "guard [G-02](doors.md#g-02)",
    ]


def test_the_text_of_a_section_is_wrapped(facts: RuleFacts) -> None:
    """Lines of a section's text have up to 120 characters. They break at blanks only, never within a word or a link."""
    text = page_text(facts.book.pages[0], BY_HAND, facts).partition("### 2. Guards\n\n")[2].partition("\n\n|")[0]
    assert text.splitlines() == [" ".join(["word"] * 23), "well-known", LONG_WORD, "ends"]
