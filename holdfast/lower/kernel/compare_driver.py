"""The kernel's loop that compares a model's steps with a mutant's, state by state. A template, as ``driver.py``."""

from holdfast.lower.kernel.injected import (
    Line,
    Rows,
    address,
    differs,
    entry,
    load,
)

# The template begins here.


@entry
def differing(states: Rows, first, last, wanted, whole: Line, mutant: Line):
    """The index of the first state in which a wanted action takes other steps in the mutant; ``last`` if none does.

    Looks at the states from ``first`` to one before ``last``. ``wanted`` is a bit mask of actions. ``whole`` and
    ``mutant`` have a word for each rule, 1 if the rule is removed.
    """
    states_at, whole_at, mutant_at = address(states), address(whole), address(mutant)
    for i in range(first, last):
        if differs(load(states_at, i), wanted, whole_at, mutant_at):
            return i
    return last
