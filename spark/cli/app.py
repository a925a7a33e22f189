"""``holdfast campaign``: many random runs on Spark, kept in tables. Its verbs are loaded when they are called."""

from __future__ import annotations

from cyclopts import App

HELP = """Make millions of random runs of a model on Spark, and keep what they found in tables.

A campaign follows from its seed alone: what it finds depends neither on the machines nor on what failed on the way."""

campaign = App(name="campaign", help=HELP, help_format="plaintext")
campaign.command("spark.cli.run:run", name="run", help="Begin a campaign, and make its runs.")
campaign.command("spark.cli.run:resume", name="resume", help="Make the runs of a campaign that are missing.")
campaign.command("spark.cli.look:status", name="status", help="Say where a campaign stands.")
campaign.command("spark.cli.look:report", name="report", help="Write a page about a campaign, and reports.")
campaign.command("spark.cli.look:diff", name="diff", help="Compare two campaigns of a model.")
campaign.command("spark.cli.look:plan", name="plan", help="Say what a campaign would take.")
