"""Special cases of network: Networks, load balancers, endpoints."""
