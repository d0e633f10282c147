"""The route from a real API server to a manager's webhooks, as controllers make it."""

import socket
import time

import pytest
from operation import NAMESPACE, WAIT_SECONDS

from asoreconcile.kube.errors import ApiError


def endpoints(address, port):
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


def apply_once_trusted(operation, obj):
    """Apply an object, repeatedly until the API server trusts the webhook's
    certificate.
    """
    end = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            return operation.apply(obj)
        except ApiError as error:
            if time.monotonic() > end or "webhook" not in str(error):
                raise


def own_address():
    """Return an IPv4 address of this machine other than loopback. Skips without one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # this sends no packet
        except OSError:
            pytest.skip("this machine has no address but the loopback's")
        address = probe.getsockname()[0]
    if address.startswith("127."):
        pytest.skip("this machine has no address but the loopback's")
    return address
