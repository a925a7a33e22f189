"""``holdfast cluster``: a cluster of operating-system processes. A verb is loaded when it is called."""

from __future__ import annotations

from cyclopts import App

HELP = """Run a cluster of processes on this machine: a controller, brokers, and an object store.

Start with `holdfast cluster up`, and in another terminal with `holdfast cluster status`."""

CODES = """Exit codes:
    0  done; of test: nothing is violated, and the models allow the log
   12  of test: a property is violated, or a model does not allow the log; of consume: records are lost or twice
   10  the cluster refuses the request
   20  no answer: interrupted, the cluster does not answer; of test: too few kills or acknowledged records
    2  a wrong argument or file; an object store that cannot be used
    1  a fault of holdfast"""

cluster = App(name="cluster", help=HELP, help_epilogue=CODES, help_format="plaintext")
cluster.command("impl.cli.cluster_up:up", name="up", help="Run a cluster until Ctrl-C.")
cluster.command("impl.cli.cluster_test:run_test", name="test", help="Run a cluster under faults, and judge the run.")
for verb, text in {
    "produce": "Send records to a topic.",
    "consume": "Read a topic, and look for all acknowledged records.",
    "topics": "List the topics, or create one.",
    "reassign": "Move a partition to another broker.",
    "cancel": "Cancel the move of a partition.",
    "elect": "Elect the leader of a partition.",
    "status": "Show the processes and who leads what.",
}.items():
    cluster.command(f"impl.cli.cluster_client:{verb}", name=verb, help=text)
