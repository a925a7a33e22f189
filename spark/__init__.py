"""Campaigns and exhaustive searches on Spark."""
