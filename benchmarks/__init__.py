"""How fast Holdfast is, as ratios measured within one run; see README.md."""
