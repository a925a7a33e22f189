"""The graph of all reachable states, with what each step says of fairness."""
