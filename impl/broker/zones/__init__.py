"""Zone routing in a broker: channels, proxies, mains, route epochs."""
