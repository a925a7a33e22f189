"""The cells that decided a value or a step: a second, slow evaluator that keeps them."""
