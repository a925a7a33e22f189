"""The balancer: the metrics that brokers report, and the plans that follow from them."""
