"""Spark itself: settings, its Java, a session, tasks and their files."""
