"""TLC as a second opinion on a model: running it, reading its answer, and comparing it with the search."""
