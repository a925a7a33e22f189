"""Campaigns: many random runs as a table of seeds, what they found and covered."""
