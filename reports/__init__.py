"""Renderers of the one result record (``holdfast.check.record``) for other tools."""
