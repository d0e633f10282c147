"""One namespace with hundreds of slow objects, and another with one object: a manager
as a process, with Azure's answers late.
"""

import time

import pytest
from operation import Operation

from asoreconcile.kube.resources import NAMESPACES
from asoreconcile.testing.arm.server import ArmServer

COUNT = 500
SLOW_SECONDS = 1.5


class LateForBusy(ArmServer):
    """Answers late about the resource groups of one namespace."""

    def serve(self, request):
        if "/busy-" in request.path:
            time.sleep(SLOW_SECONDS)
        return super().serve(request)


def group(namespace, name):
    return {
        "apiVersion": "resources.azure.com/v1api20200601",
        "kind": "ResourceGroup",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"location": "westeurope"},
    }


@pytest.mark.long
@pytest.mark.timeout(600)
def test_one_object_is_ready_soon_beside_five_hundred_slow_ones(tmp_path):
    with Operation(tmp_path, azure=LateForBusy()) as operation:
        for namespace in ("small", "busy"):
            operation.client.create(NAMESPACES, {"metadata": {"name": namespace}})
        operation.install(group("small", "alone"))
        operation.start_manager(AZURE_SYNC_PERIOD="never")
        began = time.monotonic()
        operation.apply(group("small", "alone"))
        operation.wait_ready(group("small", "alone"))
        alone_seconds = time.monotonic() - began

        for number in range(COUNT):
            operation.apply(group("busy", f"busy-{number}"))
        # The first of them: all workers are busy by now.
        operation.wait_ready(group("busy", "busy-0"))
        began = time.monotonic()
        operation.apply(group("small", "one"))
        operation.wait_ready(group("small", "one"))
        took = time.monotonic() - began
        assert len(operation.requests("PUT", "/busy-")) < COUNT
        # One call that is under way, and the delays of a busy machine.
        assert took <= 3 * alone_seconds + SLOW_SECONDS + 1.0, (took, alone_seconds)
