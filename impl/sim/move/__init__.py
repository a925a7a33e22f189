"""A move of one partition in the simulator, without faults: how long each of its steps takes, and why."""
