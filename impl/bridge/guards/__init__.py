"""What finds the lack of each rule of the implementation: oracles, models, or the rule that decides in its place."""
