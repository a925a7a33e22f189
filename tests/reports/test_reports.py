"""Reports for other tools: valid by the published schemas, with the command's results."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import attrs
import jsonschema
import pytest
import xmlschema

from holdfast.check.budget import Budget
from holdfast.check.result import Result
from holdfast.check.search.engine import search
from holdfast.ir.compile import compile_model
from holdfast.ir.errors import Place
from holdfast.ir.load import load_model
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from holdfast.records.findings import record_of_findings
from holdfast.records.record import Case, Record
from holdfast.records.search import search_record
from reports import github, junit, sarif
from tests.cli.samples import COUNTER
from tests.reports.validating import JUNIT, SARIF


def searched(*without: str, **options: Any) -> tuple[System, Result]:
    """The result of a search of `ownership`."""
    system = remove_rules(compile_model(load_model("ownership")), without)
    return system, search(system, system.scope("tiny"), target="ownership", engine="interpreter", **options)


def answered(*without: str, **options: Any) -> list[Record]:
    """The record of a search of `ownership`."""
    system, result = searched(*without, **options)
    return [search_record(system, result, "check")]


@pytest.fixture(scope="module")
def every() -> tuple[System, Result]:
    """A search that continues after a violation and finds several."""
    return searched("ST-14", keep_going=True, budget=Budget(states=1_000))


@pytest.fixture(scope="module")
def violated() -> list[Record]:
    """The record of a search that ends with a violation."""
    return answered("ST-14", keep_going=False)


@pytest.fixture(scope="module")
def unanswered() -> list[Record]:
    """The record of a search that a limit ends."""
    return answered(budget=Budget(states=200))


def hostile() -> list[Record]:
    """A record with texts that XML cannot hold, that GitHub reads as commands, and that are not ASCII."""
    text = 'a "b" <c> & \x00\x1b[31m %0A\r\n:: , é \U0001f512 \ud800'.encode("utf-16", "surrogatepass")
    said = text.decode("utf-16", "replace")
    at = Place("odd, 100%: name.py", 1)
    case = Case(name=said, kind=said, ids=(said,), sentence=said, at=at, status="failed", message=said, text=said)
    return [Record(engine="check", model=said, scope="", verdict="violated", exit_code=12, cases=(case,))]


def test_junit_is_valid(violated: list[Record], unanswered: list[Record]) -> None:
    """JUnit reports are valid for every answer and every character."""
    for records in (violated, unanswered, [*violated, *unanswered], hostile(), []):
        JUNIT.validate(junit.render(records))


def test_sarif_is_valid(violated: list[Record], unanswered: list[Record]) -> None:
    """SARIF reports are valid for every answer and every character."""
    for records in (violated, unanswered, [*violated, *unanswered], hostile(), []):
        jsonschema.validate(json.loads(sarif.render(records)), SARIF)


def test_the_schemas_refuse_what_is_not_valid(violated: list[Record]) -> None:
    """The schemas refuse an invalid report."""
    wrong = json.loads(sarif.render(violated))
    wrong["runs"][0]["results"][0]["level"] = "grave"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, SARIF)
    with pytest.raises(xmlschema.XMLSchemaValidationError):
        JUNIT.validate(junit.render(violated).replace("<testcase classname", "<testcase klass"))


def test_a_violation_is_a_failure_with_its_run(violated: list[Record]) -> None:
    """The failure's text is the run as the command prints it, with its replay line."""
    suite = ET.fromstring(junit.render(violated)).find("testsuite")  # noqa: S314 - written just now
    assert suite is not None
    failed = [case for case in suite.findall("testcase") if case.find("failure") is not None]
    assert [case.get("name") for case in failed] == ["one_owner (INV-01)"]
    problem = failed[0].find("failure")
    assert problem is not None
    assert problem.text is not None
    assert problem.get("message") == "one_owner (INV-01) is violated in 2 steps"
    assert "open(p=p1, s=s1" in problem.text
    assert "holdfast replay 'ownership tiny -ST-14" in problem.text
    assert suite.get("failures") == "1"


def test_what_is_left_open_is_no_success(unanswered: list[Record]) -> None:
    """After a limit every property without an answer is an error in JUnit and a warning elsewhere."""
    suite = ET.fromstring(junit.render(unanswered)).find("testsuite")  # noqa: S314 - written just now
    assert suite is not None
    assert int(suite.get("errors", "0")) == int(suite.get("tests", "0")) > 0
    levels = {found["level"] for found in json.loads(sarif.render(unanswered))["runs"][0]["results"]}
    assert levels == {"warning"}
    assert {line.split()[0] for line in github.render(unanswered).splitlines()} == {"::warning"}


def test_a_green_run_has_no_findings(tmp_path: Path) -> None:
    """If all properties hold, each is a passed test, and SARIF has no results."""
    (tmp_path / "counter.py").write_text(COUNTER, encoding="utf-8")
    system = compile_model(load_model(str(tmp_path / "counter.py")))
    result = search(system, system.scope("tiny"), target="counter", engine="interpreter")
    records = [search_record(system, result, "check")]
    assert records[0].exit_code == 0
    assert {case.status for case in records[0].cases} == {"passed"}
    assert json.loads(sarif.render(records))["runs"][0]["results"] == []
    assert github.render(records) == ""


def test_the_run_is_a_code_flow_on_the_models_lines(violated: list[Record]) -> None:
    """The code flow has one thread for each process, with the steps in the order of the run."""
    (found,) = json.loads(sarif.render(violated))["runs"][0]["results"]
    threads = found["codeFlows"][0]["threadFlows"]
    assert [thread["id"] for thread in threads] == ["p1", "p3", "state"]
    places = sorted((place for thread in threads for place in thread["locations"]), key=lambda p: p["executionOrder"])
    lines = Path("models/ownership.py").read_text(encoding="utf-8").splitlines()
    at = [place["location"]["physicalLocation"] for place in places]
    assert {each["artifactLocation"]["uri"] for each in at} == {"models/ownership.py"}
    assert ["def open(" in lines[each["region"]["startLine"] - 1] for each in at] == [True, True, False]
    assert "def one_owner(" in lines[at[-1]["region"]["startLine"] - 1]


def test_the_fingerprint_is_that_of_the_finding(violated: list[Record], every: tuple[System, Result]) -> None:
    """A finding's fingerprint stays when lines move or are reworded, and differs from those of other findings."""

    def of(records: list[Record]) -> list[str]:
        found = json.loads(sarif.render(records))["runs"][0]["results"]
        return [each["partialFingerprints"]["holdfastFinding/v1"] for each in found]

    moved = [attrs.evolve(violated[0], cases=tuple(_moved(case) for case in violated[0].cases))]
    assert of(moved) == of(violated)
    different = of([search_record(*every, "check")])
    assert len(set(different)) == len(different) > 1


def _moved(case: Case) -> Case:
    return attrs.evolve(case, at=attrs.evolve(case.at, line=case.at.line + 7), sentence="Said otherwise.")


def test_an_annotation_is_one_line_at_the_property(violated: list[Record]) -> None:
    """An annotation is one line, whatever its text contains, since GitHub reads line by line."""
    (line,) = github.render(violated).splitlines()
    assert line.startswith("::error file=models/ownership.py,line=")
    assert "%0Aholdfast replay" in line
    assert len(github.render(hostile()).splitlines()) == 1


def test_an_annotation_is_escaped() -> None:
    """A message keeps its colons and commas. In options they are escaped, and so are line ends everywhere."""
    at = Place("a,b%c.py", 3, 5)
    case = Case(name="x: y", kind="step", sentence="90% of it,\r\nor all: ok.", at=at, status="failed", message="No")
    record = Record(engine="check", model="m", scope="s", verdict="violated", exit_code=12, cases=(case,))
    assert github.render([record]) == (
        "::error file=a%2Cb%25c.py,line=3,col=5,title=holdfast check m s%3A x%3A y::No. 90%25 of it,%0D%0Aor all: ok.\n"
    )


def test_findings_of_runs_made_elsewhere(every: tuple[System, Result]) -> None:
    """A finding is a failure with its count. Other properties pass, but only once all runs are made."""
    system, found = every[0], every[1].findings
    findings = [(trace, "in 3 of 10 runs") for trace in found]

    def record(**options: Any) -> Record:
        return record_of_findings(
            system, "campaign run", "tiny", "violated", 12, findings, [("runs", "10")], target="ownership", **options
        )

    whole, part = record(), record(complete=False)
    for each in (whole, part):
        JUNIT.validate(junit.render([each]))
        jsonschema.validate(json.loads(sarif.render([each])), SARIF)
    assert whole.title == "holdfast campaign run ownership tiny -ST-14"
    failed = [case for case in whole.cases if case.status == "failed"]
    assert [case.name for case in failed] == [trace.shown.name for trace in found]
    assert all(case.message.endswith(" steps, in 3 of 10 runs") and case.flow for case in failed)
    assert {case.status for case in whole.cases} == {"failed", "passed"}
    assert {case.status for case in part.cases} == {"failed", "unanswered"}
    assert {case.name for case in whole.cases} >= {prop.name for prop in system.of_kind("invariant", "step")}
    assert len(record(properties=["one_owner"]).cases) == len(found)


def test_equal_answers_give_equal_bytes(violated: list[Record]) -> None:
    """Except for durations, a report does not depend on the time or the machine."""
    again = [attrs.evolve(record, seconds=violated[0].seconds) for record in answered("ST-14", keep_going=False)]
    for renderer in (junit.render, sarif.render, github.render):
        assert renderer(again) == renderer(violated)
