"""The operator's start beside an API server that is in trouble for a moment."""

from operation import Operation
from world import resource_group

from asoreconcile.testing.http import HttpResponse


def test_a_start_outlives_a_discovery_and_crds_that_fail_once(tmp_path):
    obj = resource_group()
    with Operation(tmp_path) as operation:
        operation.install(obj)
        # What follows is asked by the manager alone.
        busy = HttpResponse(503, b"{}")
        operation.cluster.faults.respond("GET", "/customresourcedefinitions", busy)
        operation.cluster.faults.respond("GET", "/apis$", busy)
        pattern = "--crd-pattern=resources.azure.com/*"
        operation.start_manager(pattern)
        operation.apply(obj)
        operation.wait_ready(obj)
        again = [one["what"] for one in operation.log_records("Trying again")]
    assert again[:2] == ["install CRDs", "discover kinds"]
