"""What the kernel does to compare two mutants of any model: go through states. A template, as ``driver.py``."""
# ruff: noqa: F821 - the model's functions are defined by the text that this one follows
# mypy: ignore-errors


@entry
def differing(states, first, last, wanted, whole, mutant):
    """The first of these states in which a wanted action takes other steps without the mutant's rules, or ``last``."""
    states_at, whole_at, mutant_at = address(states), address(whole), address(mutant)
    for i in range(first, last):
        if differs(load(states_at, i), wanted, whole_at, mutant_at):
            return i
    return last
