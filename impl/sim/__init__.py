"""The simulator: brokers and controllers under one seed, with a virtual clock and faults."""
