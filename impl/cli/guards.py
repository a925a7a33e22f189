"""``holdfast simulate --update`` and ``--guards``: what finds the lack of each rule of the implementation."""

from __future__ import annotations

import os
from collections import Counter
from functools import partial

from holdfast.check.budget import Budget, Meter, interruptible
from holdfast.check.mutate.guards import GUARDS, RESULTS, read_guards, read_results
from holdfast.check.rules.book import book_beside
from holdfast.check.rules.page import PAGES, link_ids
from holdfast.cli.output import Ticker, check_writable, note, say, write
from holdfast.ir.errors import UsageError
from holdfast.ir.load import model_folders
from impl.bridge.guards.making import made
from impl.bridge.guards.page import page
from impl.bridge.guards.progress import GuardProgress
from impl.bridge.guards.row import FILE, GuardRow, GuardStore, read, text, unfound
from impl.bridge.guards.trial import KEPT, TRIES
from impl.bridge.guards.unreachable import undecided, wrongly_listed
from impl.cli.guard_options import GuardOptions
from impl.cli.memory import family_bytes
from impl.sim.mix import RUNS, numbers

COMPLETE, INCOMPLETE, OUT_OF_BUDGET = 0, 10, 20


def run(options: GuardOptions, jobs: int | None, limits: Budget) -> int:
    """Try all rules, or write the page. Returns the exit code.

    After trials it is 10 if nothing finds the lack of a rule, or if a rule decided nothing without a reason that is
    listed, or something in spite of one. It is 20 if a limit came first. Then neither the rows nor the page is
    written, for rules that were not tried would replace what earlier trials have found.
    """
    meter = Meter(limits, memory=family_bytes)
    if options.resume is not None:
        check_writable(options.resume)
    if options.update:
        if not KEPT.is_dir():
            raise UsageError(f"--update: there is no folder {KEPT}; run this in the root of the repository")
        wanted = numbers(options.runs or RUNS)

        def go_on() -> bool:
            meter.look(0, 0, 0, 0)
            return meter.spent is None

        with interruptible(meter), Ticker() as ticker:
            processes = jobs or len(os.sched_getaffinity(0))
            progress, tries = GuardProgress(options.resume), options.tries or TRIES
            store = made(wanted, progress, processes, ticker.show, go_on, tries, _stored())
        if meter.spent is not None:
            found = sum(bool(row.finder) for row in store.rows)
            of = len(store.rows)
            say(f"{store.runs:,} runs of the default mix; something finds the lack of {found} of {of} rules")
            kept = "go on with --resume" if options.resume else "nothing is kept without --resume"
            note(f"holdfast: ended early ({meter.spent}); {FILE.name} stays as it was; {kept}")
            return OUT_OF_BUDGET
        code = _report(store)
        write(FILE, text(store))
        note(f"holdfast: stored in {FILE}")
    else:
        store, code = read(), COMPLETE
    if options.guards is not None:
        write(options.guards, page_of(store))
        note(f"holdfast: {options.guards} is written")
    return code


def _stored() -> tuple[GuardRow, ...]:
    """The rows of the last trials; none if the file is lost or damaged, which the new rows mend."""
    try:
        return read().rows
    except UsageError:
        return ()


def page_of(store: GuardStore) -> str:
    """The page of the stored rows, with the guards of the models."""
    folder = next(iter(model_folders()), None)
    if folder is None:
        raise UsageError("there are no models; run this where models/ is")
    link = partial(link_ids, book=book_beside(folder), folder=PAGES)
    return page(store, read_guards(folder / GUARDS), read_results(folder / RESULTS), link)


def _report(store: GuardStore) -> int:
    counted = Counter(row.way for row in store.rows)
    said = ", ".join(f"{number} {way or 'found by nothing'}" for way, number in counted.most_common())
    say(f"{len(store.rows)} rules, {store.runs:,} runs of the default mix: {said}")
    lacking = {
        "decided nothing, and no reason is listed": undecided(store.rows),
        "decided something, though a reason is listed why they cannot": wrongly_listed(store.rows),
        "found by nothing": unfound(store.rows),
    }
    for what, labels in lacking.items():
        if labels:
            say(f"{what}: {', '.join(labels)}")
    return INCOMPLETE if any(lacking.values()) else COMPLETE
