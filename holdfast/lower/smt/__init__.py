"""Systems as formulas of first-order logic, and Z3, which decides them."""
