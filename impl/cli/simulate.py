"""The command ``holdfast simulate``: a cluster of brokers, simulated from a seed under faults, judged by oracles."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import attrs

from holdfast.check.budget import Budget
from holdfast.cli.options import Cores, Names, Switch
from holdfast.cli.output import cannot_write, note, write
from holdfast.cli.output_files import HISTORY, AnyFile, LogFile, PageFile
from holdfast.cli.reporting import NO_REPORTS, Reports, renderer
from holdfast.ir.errors import UsageError
from holdfast.records.system_run import SystemRun
from impl.cli import as_model as model_run
from impl.cli import move as move_command
from impl.cli import part_runs
from impl.cli.cluster_settings import NO_CLUSTER, ClusterSettings
from impl.cli.finding import check_folder
from impl.cli.guard_options import NO_GUARDS, GuardOptions
from impl.cli.move import NO_MOVE, MoveOptions
from impl.cli.question import drawn_question
from impl.cli.question import refuse as _refuse
from impl.cli.simulation_page import simulated_run
from impl.cli.simulations import Simulations
from impl.sim.case_file import CaseError, read_case
from impl.sim.check import CheckResult, Question
from impl.sim.conformance.log import conform_log
from impl.sim.conformance.partitions import partition_logs
from impl.sim.conformance.routes import route_log
from impl.sim.conformance.shown_logs import shown_logs
from impl.sim.timeline import timeline as timeline_of

KEEP = Path("corpus")

Jobs = Cores


def simulate(
    file: Path | None = None,
    /,
    *,
    seed: int | None = None,
    seeds: str | None = None,
    jobs: Jobs = None,
    without: Names = (),
    log: LogFile = None,
    history: AnyFile = None,
    timeline: Switch = False,
    html: PageFile = None,
    as_model: str | None = None,
    part: str | None = None,
    mended: Switch = False,
    keep: Path | None = None,
    shrink: bool = True,
    keep_going: Switch = False,
    budget: str | None = None,
    json: Switch = False,
    clusters: ClusterSettings = NO_CLUSTER,
    move: MoveOptions = NO_MOVE,
    rules: GuardOptions = NO_GUARDS,
    reports: Reports = NO_REPORTS,
) -> int:
    """Simulate a cluster of brokers on an object store under faults, and let oracles judge what its clients saw.

    A seed gives the same run on every machine. The command stops at the first seed whose run violates a property. It
    shrinks that run, keeps it as a file, and shows it. Exit codes: 0 if nothing is violated, 12 if a property is, and
    20 if a limit or Ctrl-C came before all seeds were run.

    Parameters
    ----------
    file
        Repeat the run in this file, which an earlier command has kept.
    seed
        The seed of the run (0).
    seeds
        Run each seed from A to B, both included: A..B.
    jobs
        The number of processes for --seeds (one for each core).
    without
        Switch off the rule with this label, or with WL-05 all rules WL-05.NAME. May be repeated.
    log
        Write the event log of the run to this file, in the form that `holdfast conform` reads with --map. With
        --partitions, each partition also gets a log of its own beside it: run.0.ndjson, run.1.ndjson for run.ndjson.
        With --zones, run.routes.ndjson is the log of the route epochs, and the folder run.reads has the logs of what
        processes show of the partitions of other zones. These need no --map.
    history
        Write the operations of the clients to this file, one line of JSON for each begin and each end. With --scenario:
        the sizes of the histories that are moved (1GB,1TB,10TB).
    timeline
        Print the steps of the run, with their processes and times.
    html
        Write the run into this file as a page, with a timeline of clients, nodes and faults. Of several seeds, or of a
        run that is made small, it is the run that is shown. With --scenario balance: with the loads over time, and in
        each round.
    as_model
        With FILE: also show the run of this model that explains the log, up to the first event that the model does not
        allow. The log and the run are written beside FILE.
    part
        Make runs of this part of a node alone, which a second statement of the facts judges: a name that
        docs/impl-guards.md lists.
    mended
        Repeat the run of a file with all rules, and without the spots that were built in.
    keep
        The folder for runs that violate a property (corpus).
    shrink
        Shrink a run that violates a property (the default), or keep it unchanged.
    keep_going
        Go on after the first violation, and keep for each oracle the first run that it is the first to object to.
    budget
        Stop at a limit of time or memory: 30s,2GB.
    json
        Print the result as JSON and nothing else.
    clusters
        Which clusters are simulated.
    move
        A move of one partition.
    rules
        All rules of the implementation.
    reports
        Reports for other tools.
    """
    sizes = clusters.given
    generation, version = sizes.pop("--generation"), sizes.pop("--version")
    drawn: dict[str, object] = {
        "--seed": seed,
        "--seeds": seeds,
        "--jobs": jobs,
        **sizes,
        "--without": without or None,
        "--keep": keep,
        "--keep-going": keep_going or None,
        "--no-shrink": None if shrink else True,
    }
    shown_of_run = {
        "--log": log,
        "--timeline": timeline or None,
        "--html": html,
        "--mended": mended or None,
        "--budget": budget,
    }
    if rules.asked:
        other = {"--generation": generation, "--version": version, "--history": history, "--as-model": as_model}
        given = {"FILE": file, **drawn, **shown_of_run, **other, **move.given, "--part": part}
        given |= {"--scenario": move.scenario, "--json": json or None, "--jobs": None, "--budget": None}
        _refuse(given, "all rules are meant")
        reports.refuse("a page of rules has no verdict")
        of_update = {**rules.given, "--jobs": jobs, "--budget": budget}
        _refuse({} if rules.update else of_update, "it belongs to --update")
        from impl.cli.guards import run as run_guards  # noqa: PLC0415 - it loads the models and their judge

        return run_guards(rules, jobs, _limits(budget))
    _refuse(rules.given, "it belongs to --update")
    if move.scenario is not None:
        given = {"FILE": file, **drawn, **shown_of_run, "--as-model": as_model, "--part": part}
        if move.scenario == "balance":
            del given["--seed"], given["--without"], given["--html"]
        _refuse(given, "it belongs to runs under faults, and --scenario has none")
        reports.refuse("a move has no verdict")
        of_move = history, clusters.version, clusters.generation
        return move_command.run(move, *of_move, seed=seed, without=without, html=html, json=json)
    if part is not None:
        given = {"FILE": file, **drawn, **shown_of_run, **move.given, "--history": history, "--as-model": as_model}
        given = {name: value for name, value in given.items() if name not in part_runs.ALLOWED}
        _refuse({**given, "--generation": generation, "--version": version}, "--part runs a part of a node alone")
        reports.refuse("runs of a part have no records")
        return part_runs.run(part, _numbers(seed, seeds), tuple(without), _limits(budget), json=json)
    _refuse({"--balancer": move.balancer}, "it belongs to --scenario balance")
    _refuse(move.given, "it belongs to --scenario migrate")
    limits = _limits(budget)
    question, numbers = Question(seed=0), range(1)
    if file is not None:
        _refuse({**drawn, "--generation": generation, "--version": version}, f"{file} says what is run")
        question = _question_of(file, mended=mended)
        if as_model is not None:
            _refuse({"--json": json or None}, "--as-model prints text")
            model_run.check_model(as_model, question)
        numbers = range(question.seed, question.seed + 1)
    else:
        _refuse({"--mended": mended or None, "--as-model": as_model}, "it belongs to a file that is made again")
        numbers = _numbers(seed, seeds)
        one = {"--log": log, "--history": history, "--timeline": timeline or None}
        _refuse_number(seeds, one, {"--jobs": jobs, "--keep-going": keep_going or None})
        question = drawn_question(numbers[0], **attrs.asdict(clusters), without=without)
    _refuse({"--json": json or None} if timeline else {}, "--timeline prints text")
    check_folder(keep)
    reports.prepare(json=json)
    render = None if html is None else renderer("system")
    history_file = None if history is None else Path(history)
    if history_file is not None:
        HISTORY.check(history_file)
    simulations = Simulations(
        question, numbers, KEEP if keep is None else keep, limits, shrunk=shrink, keep_going=keep_going
    )
    shown: list[str] = []
    checked: CheckResult | None = None
    if seeds is None:
        # With --mended the file alone makes another run.
        checked = simulations.run_one(is_kept=file is None, file=None if mended else file)
        if checked is not None:
            _write_files(checked, log, history_file, question)
            shown = timeline_of(checked.run) if timeline and not checked.violations else []
        else:
            _note_unfinished(log, history_file)
    else:
        simulations.run_many(jobs)
    simulations.report(shown, reports, json=json)
    if html is not None and render is not None:
        _write_page(html, render, simulations, checked)
    if checked is not None and file is not None and as_model is not None:
        model_run.show(checked, file, as_model)
    return simulations.exit_code


def _refuse_number(seeds: str | None, one: Mapping[str, object], many: Mapping[str, object]) -> None:
    """Refuse the options of one run for many, or those of many runs for one."""
    if seeds is None:
        _refuse(many, "there is one run without --seeds")
    else:
        _refuse(one, "it shows one run; give --seed instead of --seeds")


def _write_page(
    html: Path, render: Callable[[SystemRun], str], simulations: Simulations, checked: CheckResult | None
) -> None:
    """Write the page of the first finding; without one, that of a single run."""
    finding = next(iter(simulations.findings), None)
    shown = checked if finding is None else finding.shown
    if not simulations.totals.runs:
        _note_unfinished(html)
    elif shown is None:
        note(f"holdfast: nothing is violated, so {html} is not written")
    else:
        write(html, render(simulated_run(simulations.question, shown, finding)))


def _note_unfinished(*files: Path | None) -> None:
    """Say which files are not written, since a limit came before the run had ended."""
    for file in (each for each in files if each is not None):
        note(f"holdfast: the run was not finished, so {file} is not written")


def _limits(budget: str | None) -> Budget:
    limits = Budget() if budget is None else Budget.parse(budget)
    if limits.states is not None:
        raise UsageError(f"--budget {budget}: a simulation counts no states; limit its time or its memory")
    return limits


def _question_of(file: Path, *, mended: bool) -> Question:
    try:
        return read_case(file, str(file)).question(mended=mended)
    except CaseError as error:
        raise UsageError(str(error)) from error


def _numbers(seed: int | None, seeds: str | None) -> range:
    """The seeds to run."""
    if seeds is None:
        begin = end = 0 if seed is None else seed
    else:
        if seed is not None:
            raise UsageError("--seed and --seeds are both given; give one of them")
        found = re.fullmatch(r"(\d{1,18})\.\.(\d{1,18})", seeds)
        if found is None or int(found[1]) > int(found[2]):
            raise UsageError(f"--seeds {seeds}: it is no range; write A..B, two numbers, with A not above B")
        begin, end = int(found[1]), int(found[2])
    return range(begin, end + 1)


def _write_files(checked: CheckResult, log: Path | None, history: Path | None, question: Question) -> None:
    """Write the logs and the history of a run. The log of partition 0 is events.0.ndjson beside events.ndjson.

    The log of route epochs is events.routes.ndjson. The log of what the process b1.0 shows of partition 2 is
    events.reads/b1.0.2.ndjson.
    """
    if log is not None:
        write(log, conform_log(checked.run.log).decode())
        # A neighbour has partitions in any run; no model judges these.
        elects = question.generation == "G1"
        of_partitions = partition_logs(checked.run.log, elects=elects) if question.options.partitions else {}
        for number, text in of_partitions.items():
            write(log.with_name(f"{log.stem}.{number}{log.suffix}"), text.decode())
        if question.options.zones:
            write(log.with_name(f"{log.stem}.routes{log.suffix}"), route_log(checked.run.log).decode())
            folder = log.with_name(f"{log.stem}.reads")
            try:
                folder.mkdir(exist_ok=True)
            except OSError as error:
                raise cannot_write(folder, error) from error
            for (reader, number), text in shown_logs(checked.run.log).items():
                write(folder / f"{reader}.{number}{log.suffix}", text.decode())
    if history is not None:
        write(history, "".join(f"{line}\n" for line in checked.run.history.lines()))
