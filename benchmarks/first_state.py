"""A search of `ownership` on the kernel that ends after the first states: used to measure the start of Holdfast."""

from __future__ import annotations

from holdfast.check.budget import Budget
from holdfast.check.search.engine import search
from holdfast.ir.variants import load_variant


def main() -> None:
    """Start, expand the initial states, stop."""
    model = load_variant("ownership")
    result = search(model, model.scopes["default"], engine="kernel", budget=Budget(states=1))
    assert result.figures.distinct > 1


if __name__ == "__main__":
    main()
