"""Benchmarks of Holdfast. Figures are compared as ratios within one run; see README.md."""
