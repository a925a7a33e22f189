"""``holdfast scenario``: scenario files for the reference implementation. A verb is loaded when it is called."""

from __future__ import annotations

from cyclopts import App

HELP = """Run scenario files: operations on the reference implementation's controller, each with its expected result.

Start with `holdfast scenario new mine` and `holdfast scenario run mine.yaml`."""

CODES = """Exit codes:
    0  all is as expected
   12  a result is not as expected
   20  interrupted before all scenarios were run
    2  a wrong argument, or a file that is malformed
    1  a fault of holdfast"""

scenario = App(name="scenario", help=HELP, help_epilogue=CODES, help_format="plaintext")
scenario.command("impl.cli.scenario_run:run", name="run", help="Run scenario files, or folders of them.")
scenario.command("impl.cli.scenario_write:new", name="new", help="Write a first scenario file, with comments.")
scenario.command("impl.cli.scenario_from:from_trace", name="from-trace", help="Make a scenario file of a model's run.")
scenario.command("impl.cli.scenario_from:from_model", name="from-model", help="Make scenario files that cover a model.")
scenario.command("impl.cli.scenario_write:schema", name="schema", help="Print the JSON schema of scenario files.")
