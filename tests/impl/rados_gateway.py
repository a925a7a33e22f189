"""Ceph's object store on this machine: one monitor, one OSD that keeps its data in memory, and the gateway for S3.

It needs the Debian packages ``ceph-mon``, ``ceph-osd`` and ``radosgw``. ``python -m tests.impl.rados_gateway`` runs it
until Ctrl-C, and prints its URL, bucket and credentials. All of it listens on the loopback interface, on free ports,
and lies in one temporary folder, which is removed in the end.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import attrs

from holdfast.check.temporary_folder import TemporaryFolder

PROGRAMS = ("ceph", "ceph-authtool", "ceph-mon", "ceph-osd", "monmaptool", "radosgw", "radosgw-admin")
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "holdfast", "AWS_SECRET_ACCESS_KEY": "holdfast", "AWS_DEFAULT_REGION": "us-east-1"}
CLUSTER, OSD = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"
"""The ids of the cluster and of its OSD. Nobody else talks to them, so they are always the same."""
PATIENCE_S = 60
"""How long one command, or the start of the gateway, may take."""

CAPABILITIES = {
    "mon.": {"mon": "allow *"},
    "client.admin": {"mon": "allow *", "osd": "allow *"},
    "client.rgw": {"mon": "allow rwx", "osd": "allow rwx"},
    "osd.0": {"mon": "allow profile osd", "osd": "allow *"},
}
"""By name of a user of Ceph: what it may do."""

CONFIGURATION = """\
[global]
fsid = {fsid}
mon host = {monitor}
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind ipv6 = false
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 4
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
osd objectstore = memstore
memstore device bytes = 2147483648
mon allow pool size one = true
mon data avail crit = 1
run dir = {folder}
admin socket = {folder}/$name.asok
log file = {folder}/$name.log
keyring = {folder}/keyring
rgw data = {folder}
rgw frontends = beast endpoint=127.0.0.1:{port}
"""


class GatewayError(Exception):
    """A program of Ceph is missing, or does not do its work. The text says which."""


def missing_programs() -> list[str]:
    """The programs of Ceph that are not installed."""
    return [name for name in PROGRAMS if shutil.which(name) is None]


@contextmanager
def rados_gateway() -> Iterator[str]:
    """The URL of a new gateway, without a bucket, for ``CREDENTIALS``. It ends with the block.

    Raises GatewayError.
    """
    lacking = missing_programs()
    if lacking:
        raise GatewayError(f"{lacking[0]} is not installed: apt-get install ceph-mon ceph-osd radosgw")
    with TemporaryFolder("ceph") as folder, ExitStack() as daemons:
        yield _Starting(folder, daemons).url()


@attrs.frozen
class _Starting:
    """Starts the daemons, each of which ``daemons`` ends again."""

    folder: Path
    daemons: ExitStack

    def url(self) -> str:
        monitor = f"[v2:127.0.0.1:{_free_port()},v1:127.0.0.1:{_free_port()}]"
        port = _free_port()
        text = CONFIGURATION.format(fsid=CLUSTER, monitor=monitor, folder=self.folder, port=port)
        (self.folder / "ceph.conf").write_text(text)
        self._make_users()
        self._start_monitor(monitor)
        self._start_osd()
        name, secret = CREDENTIALS["AWS_ACCESS_KEY_ID"], CREDENTIALS["AWS_SECRET_ACCESS_KEY"]
        user = ("--uid", "holdfast", "--display-name", "holdfast", "--access-key", name, "--secret", secret)
        self._run("radosgw-admin", *self._conf, "user", "create", *user)
        self._daemon("radosgw", "-n", "client.rgw")
        self._wait_for(port)
        return f"http://127.0.0.1:{port}"

    @property
    def _conf(self) -> tuple[str, str]:
        return "-c", str(self.folder / "ceph.conf")

    def _make_users(self) -> None:
        create = ["--create-keyring"]
        for name, allowed in CAPABILITIES.items():
            words = [word for kind, what in allowed.items() for word in ("--cap", kind, what)]
            self._run("ceph-authtool", *create, str(self.folder / "keyring"), "--gen-key", "-n", name, *words)
            create = []

    def _start_monitor(self, monitor: str) -> None:
        data, plan = str(self.folder / "mon"), str(self.folder / "monmap")
        self._run("monmaptool", "--create", "--fsid", CLUSTER, "--addv", "a", monitor, plan)
        self._run("ceph-mon", *self._conf, "--mkfs", "-i", "a", "--mon-data", data, "--monmap", plan)
        self._daemon("ceph-mon", "-i", "a", "--mon-data", data)
        self._run("ceph", *self._conf, "auth", "import", "-i", str(self.folder / "keyring"))

    def _start_osd(self) -> None:
        data = self.folder / "osd"
        data.mkdir()
        self._run("ceph", *self._conf, "osd", "new", OSD)
        self._run("ceph-osd", *self._conf, "-i", "0", "--mkfs", "--osd-uuid", OSD, "--osd-data", str(data))
        self._daemon("ceph-osd", "-i", "0", "--osd-data", str(data))
        self._run("ceph", *self._conf, "osd", "crush", "add", "osd.0", "1.0", "root=default", "host=here")

    def _run(self, *command: str) -> None:
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        except subprocess.TimeoutExpired:
            raise GatewayError(f"{command[0]} has not ended after {PATIENCE_S} s") from None
        if ran.returncode:
            raise GatewayError(f"{command[0]} ended with {ran.returncode}: {' '.join(ran.stderr.split())[-300:]}")

    def _daemon(self, *command: str) -> None:
        process = subprocess.Popen(
            [command[0], "-f", *self._conf, *command[1:]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=_die_with_parent,  # noqa: PLW1509 - it only makes one call of the system
        )
        self.daemons.callback(_kill, process)

    def _wait_for(self, port: int) -> None:
        """Wait until the gateway listens, which it does when it is ready."""
        pause = threading.Event()
        for _ in range(PATIENCE_S * 5):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                return
            pause.wait(0.2)
        raise GatewayError(f"the gateway does not answer after {PATIENCE_S} s")


def _free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        port: int = opened.getsockname()[1]
        return port


def _die_with_parent() -> None:
    """Let the kernel kill this process when its parent ends, however that ends (prctl(2), PR_SET_PDEATHSIG)."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def main() -> None:
    """Run a gateway with a bucket until Ctrl-C."""
    from impl.store.s3_boto import create_bucket  # noqa: PLC0415 - an extra

    os.environ.update(CREDENTIALS)
    try:
        with rados_gateway() as url:
            create_bucket("holdfast", url)
            words = " ".join(f"{name}={value}" for name, value in CREDENTIALS.items())
            sys.stdout.write(f"{words} holdfast cluster test --s3 {url} --bucket holdfast\n")
            sys.stdout.flush()
            threading.Event().wait()
    except GatewayError as error:
        sys.exit(f"rados_gateway: {error}")
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
