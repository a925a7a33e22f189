"""``holdfast cluster``: a cluster of operating-system processes. A verb is loaded when it is called."""

from __future__ import annotations

from cyclopts import App

HELP = """Run a cluster of processes on this machine: a controller, brokers, and an object store.

Start with `holdfast cluster test`."""

CODES = """Exit codes:
    0  done; of test: nothing is violated, and the models allow the log
   12  of test: a property is violated, or a model does not allow the log
   20  no answer: interrupted, or a model has no answer
    2  a wrong argument or file; an object store that cannot be used
    1  a fault of holdfast"""

cluster = App(name="cluster", help=HELP, help_epilogue=CODES, help_format="plaintext")
cluster.command("impl.cli.cluster_test:run_test", name="test", help="Run a cluster under faults, and judge the run.")
