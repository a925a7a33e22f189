"""A search of `ownership` on the kernel that ends after its first states: what a second start is measured with."""

from __future__ import annotations

from holdfast.check.budget import Budget
from holdfast.check.search.engine import search
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model


def main() -> None:
    """Start, expand the initial states, stop."""
    model = compile_model(load_model("ownership"))
    result = search(model, model.scopes["default"], engine="kernel", budget=Budget(states=1))
    assert result.figures.distinct > 1


if __name__ == "__main__":
    main()
