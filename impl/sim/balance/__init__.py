"""The balancer in a simulated cluster: an empty broker joins, loads change, and moves cost what moves cost."""
