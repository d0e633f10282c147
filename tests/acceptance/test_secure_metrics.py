"""Metrics over HTTPS, for whom the cluster's roles let have them."""

import ssl
import urllib.error
import urllib.request

import pytest
from operation import Operation, free_port
from quickclock import QuickClock
from world import resource_group

from asoreconcile.azure.controllers.options import MetricsCertificateError, Options
from asoreconcile.base.certificates import Authority
from asoreconcile.base.clock import SystemClock
from asoreconcile.kube.resources import ApiResource

_RBAC = ("rbac.authorization.k8s.io", "v1")
ROLES = ApiResource(*_RBAC, "clusterroles", "ClusterRole", namespaced=False)
BINDINGS = ApiResource(
    *_RBAC, "clusterrolebindings", "ClusterRoleBinding", namespaced=False
)
SCRAPER = ("monitoring", "scraper")


@pytest.fixture
def operation(make_cluster, tmp_path):
    with Operation(tmp_path, cluster=make_cluster(rbac=True)) as running:
        yield running


def let_scrape(operation):
    """The rule that a scraper's documentation asks for."""
    rules = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    namespace, name = SCRAPER
    subject = {"kind": "ServiceAccount", "namespace": namespace, "name": name}
    reference = {
        "apiGroup": ROLES.group,
        "kind": "ClusterRole",
        "name": "metrics-reader",
    }
    metadata = {"name": "metrics-reader"}
    client = operation.client
    client.create(ROLES, {"metadata": metadata, "rules": rules})
    binding = {"metadata": metadata, "subjects": [subject], "roleRef": reference}
    client.create(BINDINGS, binding)


def status_and_text(port, context, token=""):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(f"https://localhost:{port}/metrics")
    request.headers.update(headers)
    try:
        with urllib.request.urlopen(request, context=context) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def own_pair(folder):
    """A certificate and key as a mounted Secret has them; a context that trusts it."""
    now = SystemClock().now()
    authority = Authority.make("tests", now=now, days=1)
    certificate, key = authority.issue(["localhost"], now=now, days=1)
    (folder / "tls.crt").write_bytes(certificate)
    (folder / "tls.key").write_bytes(key)
    return ssl.create_default_context(cadata=authority.pem.decode())


def unverified():
    """As scrapers are set up for a certificate that nobody vouches for."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


@pytest.mark.parametrize("own", [True, False], ids=["from files", "self-made"])
def test_only_who_may_read_the_metrics_gets_them(operation, own):
    group, port = resource_group(), free_port()
    operation.install(group)
    context = own_pair(operation.folder) if own else unverified()
    folder = str(operation.folder) if own else ""
    operation.start_manager(
        *("--metrics-addr", f":{port}", "--secure-metrics=true"),
        *("--metrics-cert-dir", folder),
    )
    operation.apply(group)
    operation.wait_ready(group)
    let_scrape(operation)
    scraper = operation.cluster.add_service_account(*SCRAPER)
    other = operation.cluster.add_service_account("monitoring", "other")
    refused = [
        status_and_text(port, context, token)[0] for token in ("", "unknown", other)
    ]
    assert refused == [401, 401, 403]
    status, text = status_and_text(port, context, scraper)
    assert (status, "workqueue_depth" in text) == (200, True)
    assert not any(token in operation.logs() for token in (scraper, other))


def test_an_unusable_certificate_is_said_at_the_start(tmp_path):
    options = Options(secure_metrics=True, metrics_certificates=str(tmp_path))
    with pytest.raises(MetricsCertificateError, match="--metrics-cert-dir"):
        options.scrape_certificates(QuickClock())
