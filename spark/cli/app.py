"""``holdfast campaign``: many random runs on Spark, kept in tables. Its verbs are loaded when they are called."""

from __future__ import annotations

from cyclopts import App

HELP = """Make millions of random runs on Spark, or judge recorded logs there, and keep the findings in tables.

The runs are those of a model, of simulated clusters, or of the balancer. The seed determines all of them: the findings
do not depend on the machines, nor on failures on the way."""

campaign = App(name="campaign", help=HELP, help_format="plaintext")
campaign.command("spark.cli.run:run", name="run", help="Begin a campaign, and make its runs.")
campaign.command("spark.cli.run:resume", name="resume", help="Make the missing runs of a campaign.")
campaign.command("spark.cli.look:status", name="status", help="Show the progress of a campaign.")
campaign.command("spark.cli.look:report", name="report", help="Write a page about a campaign, and reports.")
campaign.command("spark.cli.look:diff", name="diff", help="Compare two campaigns of one target.")
campaign.command("spark.cli.look:plan", name="plan", help="Estimate the costs of a campaign.")
