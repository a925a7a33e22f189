"""Real processes: each node is an operating-system process, and messages travel over TCP on the loopback interface.

The code of the nodes is the code that the simulator runs. Here, drivers hand it frames, answers and the time.
"""
