"""What a server warns of as it answers lists and watches."""

from contextlib import closing

import pytest
from applications import until
from loopreader import listed

from asoreconcile.base.clock import SystemClock
from asoreconcile.cache.informer import Informer
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.resources import CONFIG_MAPS
from asoreconcile.testing.http import HttpResponse, HttpServer


@pytest.mark.parametrize(
    "read",
    [
        lambda client, _: list(client.list_all(CONFIG_MAPS)),
        lambda client, _: listed(client, CONFIG_MAPS),
        lambda client, _: client.watch(CONFIG_MAPS, timeout_seconds=1).close(),
        lambda client, steps: steps(client),
    ],
    ids=["documents", "lists", "watches", "informers"],
)
def test_reads_of_a_deprecated_version_are_told_too(caplog, read):
    """Its informer would go quiet with the server's next release."""

    def handle(request):
        body = b'{"kind": "ConfigMapList", "metadata": {}, "items": []}'
        return HttpResponse(200, body, {"Warning": '299 - "v1 is deprecated"'})

    def steps(client):
        informer = Informer(client, CONFIG_MAPS, clock=SystemClock())
        informer.start()
        until(lambda: caplog.records)
        assert informer.stop(10) == []

    with HttpServer(handle) as server:
        config = ClusterConfig(server.url, None, authorization=lambda: "Bearer a")
        with closing(KubeClient(config, user_agent="tests")) as client:
            read(client, steps)
    (said,) = [one for one in caplog.records if one.msg == "API server warns"]
    assert said.asoreconcile_fields["warning"] == "v1 is deprecated"
    assert said.asoreconcile_fields["path"] == "/api/v1/configmaps"
