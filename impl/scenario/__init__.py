"""Scenario files: operations on the controller, in order, each with the expected result."""
