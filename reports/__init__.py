"""Renderers of the one result record (``holdfast.records.record``) for other tools."""
