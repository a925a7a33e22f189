"""The pages of the runs of findings, which the page of a campaign links."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import attrs
import pytest

from holdfast.check.budget import Budget
from holdfast.records.explained_run import ExplainedRun
from holdfast.records.system_run import SystemRun
from spark.campaign.engine import advance, begin
from spark.campaign.findings import Finding, ShrunkRun
from spark.campaign.run_pages import run_of
from spark.campaign.summary import summarise
from spark.campaign.targets import target_of
from spark.cluster.storage import FolderStorage
from tests.cli.running import Run
from tests.reports.browser import Browser, find_browser
from tests.spark.clusters import clusters, ran_clusters
from tests.spark.running import InlineWorkers, config, place, ran

LINK = re.compile(r'href="([^"]+)">The page of this run')


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> FolderStorage:
    """A campaign of a model in a file."""
    return ran(tmp_path_factory.mktemp("runs") / "model", config(removed=("CK-02.epoch",)))


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> FolderStorage:
    """A campaign of a model that comes along with Holdfast."""
    asked = attrs.evolve(config(removed=("ST-14",), traces=300), target="ownership")
    storage = place(tmp_path_factory.mktemp("runs") / "bundled")
    begin(storage, asked, target_of(asked))
    advance(InlineWorkers(), storage, asked, target_of(asked), budget=Budget(), progress=lambda _now: None)
    return storage


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> FolderStorage:
    """A campaign of simulated clusters."""
    return ran_clusters(tmp_path_factory.mktemp("runs") / "cluster", clusters(removed=("ST-14",)))


def first(storage: FolderStorage) -> tuple[Finding, ShrunkRun]:
    """The first finding and its run."""
    finding = summarise(storage).findings[0]
    assert finding.shrunk is not None
    return finding, finding.shrunk


@pytest.mark.parametrize("kind", ["model", "cluster"])
def test_each_finding_links_the_page_of_its_run(
    kind: str, holdfast: Run, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The pages lie in a folder beside the campaign's page; each shows the run of its finding, and loads nothing."""
    storage: FolderStorage = request.getfixturevalue(kind)
    page = tmp_path / "mine: 5% #1.html"
    said = holdfast("campaign", "report", storage.name, "--html", page)
    assert said.code == 0
    links = LINK.findall(page.read_text(encoding="utf-8"))
    findings = summarise(storage).findings
    assert len(links) == len(findings) > 0
    assert f"{len(links)} page" in said.out
    for link, finding in zip(links, findings, strict=True):
        assert unquote(link) == f"./mine: 5% #1.runs/{finding.signature}.html"
        file = Path(unquote(urlsplit(urljoin(page.as_uri(), link)).path))
        text = file.read_text(encoding="utf-8")
        assert finding.property in text
        if find_browser() is not None:
            with Browser(find_browser() or "") as browser:
                browser.open(file)
                assert (browser.said, browser.asked) == ([], [])
    before = {path.name: path.read_bytes() for path in sorted(tmp_path.rglob("*.html"))}
    assert holdfast("campaign", "report", storage.name, "--html", page).code == 0
    assert {path.name: path.read_bytes() for path in sorted(tmp_path.rglob("*.html"))} == before


def test_without_a_file_the_pages_lie_beside_the_tables(model: FolderStorage, holdfast: Run) -> None:
    """They belong to the campaign."""
    assert holdfast("campaign", "report", model.name).code == 0
    folder = Path(model.name)
    for link in LINK.findall((folder / "report.html").read_text(encoding="utf-8")):
        assert (folder / link).is_file()


def test_a_page_replaces_no_other_file(model: FolderStorage, holdfast: Run, tmp_path: Path) -> None:
    """A file that has the name of a run's page, and is none, is refused and left as it is."""
    [name, *_] = [finding.signature for finding in summarise(model).findings]
    taken = tmp_path / "mine.runs" / f"{name}.html"
    taken.parent.mkdir()
    taken.write_text("keep me")
    ran = holdfast("campaign", "report", model.name, "--html", tmp_path / "mine.html")
    assert (ran.code, taken.read_text()) == (2, "keep me")
    assert ran.err.startswith(f"holdfast: {taken}: the file exists, and is no page")


def test_only_a_bundled_model_explains_its_run(model: FolderStorage, bundled: FolderStorage) -> None:
    """Tables may name any file as their model, so the model of a file is not executed: its run has no reasons."""
    run = run_of(first(bundled)[0])
    assert isinstance(run, ExplainedRun)
    assert run.led is not None
    plain = run_of(first(model)[0])
    assert isinstance(plain, ExplainedRun)
    assert plain.led is None
    assert plain.steps


def test_a_run_of_a_cluster_is_made_again(cluster: FolderStorage) -> None:
    """The page has the violation; a case that no longer shows it, or is damaged, has no page."""
    finding, shrunk = first(cluster)
    run = run_of(finding)
    assert isinstance(run, SystemRun)
    assert (run.verdict, run.verdict_text) == ("violated", shrunk.sentence.partition(": ")[2])
    mended = json.dumps({**json.loads(shrunk.case), "without": []})
    for case in (mended, "{}", "no JSON"):
        assert run_of(attrs.evolve(finding, shrunk=attrs.evolve(shrunk, case=case))) is None


def test_damaged_tables_have_no_page(model: FolderStorage) -> None:
    """A run that cannot be read is left out."""
    finding, shrunk = first(model)
    for itf in ("", "no JSON", "[]", '{"states": 3}'):
        assert run_of(attrs.evolve(finding, shrunk=attrs.evolve(shrunk, itf=itf))) is None


def test_a_signature_names_no_other_folder(
    model: FolderStorage, holdfast: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signature that is no signature gets no page, wherever it would lie."""
    summary = summarise(model)
    away = attrs.evolve(summary.findings[0], signature="../away")
    monkeypatch.setattr("spark.cli.look.summarise", lambda _: attrs.evolve(summary, findings=(away,)))
    page = tmp_path / "deep" / "mine.html"
    page.parent.mkdir()
    assert holdfast("campaign", "report", model.name, "--html", page).code == 0
    assert [path.name for path in sorted(tmp_path.rglob("*.html"))] == ["mine.html"]
