"""``holdfast cluster``: its errors are one line each, and no output or file has a credential."""

from __future__ import annotations

import importlib.util
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from holdfast.cli.app import main

boto3 = pytest.importorskip("boto3")
pytest.importorskip("moto")
pytest.importorskip("obstore")
Captured = pytest.CaptureFixture[str]


class Denial(BaseHTTPRequestHandler):
    """Denies every request, as S3 does with unknown keys."""

    def do_GET(self) -> None:
        """Answer with 403."""
        body = b"<Error><Code>InvalidAccessKeyId</Code><Message>unknown</Message></Error>"
        self.send_response(403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def denial() -> Iterator[str]:
    """The URL of a store that denies everything."""
    server = HTTPServer(("127.0.0.1", 0), Denial)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def complaint(capsys: Captured, *argv: str) -> str:
    """The line with which a command ends; it ends with 2."""
    assert main(["cluster", *argv]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    lines = [line for line in err.splitlines() if line.startswith("holdfast: ")]
    assert len(lines) == 1
    return lines[0]


@pytest.mark.usefixtures("keys")
def test_an_endpoint_that_nobody_answers(capsys: Captured) -> None:
    """The line names the bucket, the URL and the option."""
    line = complaint(capsys, "test", "--s3", "http://127.0.0.1:9", "--bucket", "b")
    assert line.startswith("holdfast: bucket b at http://127.0.0.1:9: it cannot be reached: ")
    assert line.endswith("; look at --s3")


@pytest.mark.usefixtures("keys")
def test_a_missing_bucket(capsys: Captured, s3: str) -> None:
    """The line says what to do about it."""
    assert complaint(capsys, "test", "--s3", s3, "--bucket", "nowhere") == (
        f"holdfast: bucket nowhere at {s3}: there is no such bucket; create it, or name another with --bucket"
    )


def test_wrong_credentials(capsys: Captured, denial: str, keys: tuple[str, str]) -> None:
    """The line says that the store refuses them, and does not show them."""
    line = complaint(capsys, "test", "--s3", denial, "--bucket", "b")
    assert "the store refuses the credentials (InvalidAccessKeyId)" in line
    assert not any(key in line for key in keys)


@pytest.mark.usefixtures("keys")
def test_a_bucket_with_objects(capsys: Captured, s3: str) -> None:
    """A run would mix its objects with others."""
    bucket = boto3.resource("s3", endpoint_url=s3, region_name="us-east-1").create_bucket(Bucket="full")
    bucket.put_object(Key="a", Body=b"")
    assert "bucket full: it is not empty" in complaint(capsys, "test", "--s3", s3, "--bucket", "full")


def test_without_moto(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line says what to install."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert complaint(capsys, "test") == (
        "holdfast: moto is not installed, and this command needs it; pip install 'holdfast[cluster]'"
    )


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("test", "--bucket", "b"), "--bucket b: it belongs to --s3"),
        (
            ("test", "--s3", "https://s3.eu-west-1.amazonaws.com"),
            "Amazon's store answers only calls to its own address",
        ),
        (("up", "--bucket", "b"), "--bucket b: it belongs to --s3"),
        (("test", "--without", "XX-99"), "--without: "),
        (("test", "--seconds", "0"), "seconds"),
        (("test", "--fast"), "--fast"),
        (("status", "--dir", "nowhere"), "nowhere/cluster.json: no cluster runs here; start one with"),
        (("produce", "t", "--dir", "nowhere"), "nowhere/cluster.json: no cluster runs here"),
        (("reassign", "t", "0", "2", "--dir", "nowhere"), "nowhere/cluster.json: no cluster runs here"),
        (("cancel", "t", "0", "--dir", "nowhere"), "nowhere/cluster.json: no cluster runs here"),
        (("elect", "t", "0", "--dir", "nowhere"), "nowhere/cluster.json: no cluster runs here"),
        (("reassign", "t", "0"), "NODE"),
        (("cancel", "t", "-1"), "-1"),
        (("elect", "t", "first"), "first"),
    ],
)
def test_wrong_arguments(
    capsys: Captured, argv: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is one line that names the argument."""
    monkeypatch.chdir(tmp_path)
    assert said in complaint(capsys, *argv)


def test_a_folder_that_is_not_empty(capsys: Captured, tmp_path: Path) -> None:
    """The logs of a run are not mixed with other files."""
    (tmp_path / "a").touch()
    assert f"--out {tmp_path}: the folder is not empty" in complaint(capsys, "test", "--out", str(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("version", ["V6", "legacy"])
def test_a_run_under_faults(capsys: Captured, tmp_path: Path, s3: str, keys: tuple[str, str], version: str) -> None:
    """Nothing is lost, the models allow the log, and no file and no output has a credential."""
    name = f"run-{version.lower()}"
    boto3.resource("s3", endpoint_url=s3, region_name="us-east-1").create_bucket(Bucket=name)
    out = tmp_path / "out"
    argv = ["--seconds", "12", "--kill-every", "4", "--version", version, "--s3", s3, "--bucket", name]
    code = main(["cluster", "test", *argv, "--out", str(out), "--html", str(out / "page.html"), "--json"])
    output, errors = capsys.readouterr()
    found = json.loads(output)
    assert (code, found["violations"], found["not_judged"]) == (0, [], None), found
    assert {each["verdict"] for each in found["models"]} == {"conforms"}
    assert (found["records"]["lost"], found["records"]["twice"]) == (0, 0)
    assert found["records"]["acked"] > 1_000
    assert sum(each["signal"] == "SIGKILL" for each in found["signals"]) >= 2
    assert "kill -9 of b" in (out / "page.html").read_text(encoding="utf-8")
    texts = [output.encode(), errors.encode(), *(path.read_bytes() for path in out.iterdir())]
    assert not any(key.encode() in text for key in keys for text in texts)
