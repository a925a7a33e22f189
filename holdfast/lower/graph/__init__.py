"""The graph of all reachable states. Each edge has a label: the fairness demand that its step serves."""
