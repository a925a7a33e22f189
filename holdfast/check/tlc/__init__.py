"""TLC as a second opinion: run it on a model, read its answer, and compare it with the search."""
