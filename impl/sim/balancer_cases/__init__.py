"""The balancer without a cluster: rounds on random clusters, histories of reports, executions; an oracle for each."""
