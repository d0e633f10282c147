"""The way from a real API server to a manager's webhooks, as controllers would make it."""

import socket
import time

import pytest
from operation import NAMESPACE, WAIT_SECONDS

from asoreconcile.kube.errors import ApiError


def endpoints(address, port):
    """What a controller makes of a Service and its pods."""
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
    """Until it is told of the certificate the API server calls in vain."""
    end = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            return operation.apply(obj)
        except ApiError as error:
            if time.monotonic() > end or "webhook" not in str(error):
                raise


def own_address():
    """An IPv4 address of this machine's that others could have; skips without one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            pytest.skip("this machine has no address but the loopback's")
        address = probe.getsockname()[0]
    if address.startswith("127."):
        pytest.skip("this machine has no address but the loopback's")
    return address
