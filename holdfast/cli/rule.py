"""``holdfast rule``: explain a rule id: its meaning, where it is implemented, and the evidence that it is needed."""

from __future__ import annotations

import json as json_format
from pathlib import Path

from holdfast.check.rules.book import RULES, read_book
from holdfast.check.rules.facts import RuleFacts
from holdfast.check.rules.page import page_text
from holdfast.check.rules.text import RuleAnswer, legend, render_rule, to_json
from holdfast.cli.options import Switch
from holdfast.cli.output import check_writable, note, say, write
from holdfast.ir.errors import UsageError, unreadable
from holdfast.ir.load import model_folders


def rule(*rules: str, json: Switch = False, pages: Path | None = None) -> int:
    """Explain a rule id: its meaning, the models, actions and code that implement it, and the evidence for it.

    Parameters
    ----------
    rules
        Ids such as ST-14, or a part of one, such as CK-01.flag; without any, list all ids with their texts.
    json
        Print one line of JSON for each rule, and nothing else.
    pages
        Rewrite the tables of rules in the pages of this folder; the text above them, written by hand, stays.
    """
    folder = rules_folder()
    if folder is None:
        raise UsageError(f"there is no folder {RULES} beside the models here; run this where it is")
    book = read_book(folder)
    if pages is not None:
        if rules or json:
            raise UsageError("--pages writes all pages and prints no rule; leave the ids and --json out")
        return _write_pages(RuleFacts(folder, book), pages)
    entries = {asked: book.entry(asked) for asked in dict.fromkeys(rules)}
    if not entries:
        if json:
            raise UsageError("--json prints rules, and none is named; give an id, such as ST-14")
        say(legend(" ".join(book.entries), book))
        return 0
    facts = RuleFacts(folder, book)
    answers = [
        RuleAnswer(asked, entry, *facts.of(entry.row.id), facts.code.get(entry.row.id, ())).of_its_part()
        for asked, entry in entries.items()
    ]
    if json:
        for answer in answers:
            say(json_format.dumps(to_json(answer)))
    else:
        say("\n\n".join(render_rule(answer) for answer in answers))
    return 0


def rules_folder() -> Path | None:
    """The first folder of models that contains rules, or None."""
    return next((folder for folder in model_folders() if (folder / RULES).is_dir()), None)


def _write_pages(facts: RuleFacts, folder: Path) -> int:
    texts = {}
    for page in facts.book.pages:
        path = folder / f"{page.name}.md"
        check_writable(path)
        try:
            by_hand = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            remedy = "write its text first, or name the folder of the pages"
            raise UsageError(f"{path}: there is no such page, and --pages writes only its table; {remedy}") from None
        except OSError as error:
            raise unreadable(path, error) from error
        texts[path] = page_text(page, by_hand, facts)
    for path, text in texts.items():
        write(path, text, exact=True)
        note(f"holdfast: wrote {path}")
    return 0
