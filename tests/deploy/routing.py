"""The route from a real API server to a manager's webhooks, as controllers make it."""

import socket

import pytest
from operation import NAMESPACE

from asoreconcile.base.objects import JsonObject


def endpoints(address: str, port: int) -> JsonObject:
    """Return the Endpoints that a controller makes from a Service and its pods."""
    name = "azureserviceoperator-webhook-service"
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {"kubernetes.io/service-name": name},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
        "ports": [{"name": "webhooks", "port": port, "protocol": "TCP"}],
    }


def own_address() -> str:
    """Return an IPv4 address of this machine other than loopback. Skips without one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # this sends no packet
        except OSError:
            pytest.skip("this machine has no address but the loopback's")
        address = str(probe.getsockname()[0])
    if address.startswith("127."):
        pytest.skip("this machine has no address but the loopback's")
    return address
