"""The manager's flags, as Deployments of Azure Service Operator have them."""

import ssl
import tempfile

import pytest
from click.testing import CliRunner

from asoreconcile.azure.cmd.manager import manager
from asoreconcile.azure.controllers import azure_operator
from asoreconcile.base import log

ASO = [
    "--metrics-addr=0.0.0.0:8443",
    "--secure-metrics=true",
    "--profiling-metrics=false",
    "--metrics-cert-dir=/certs",
    "--health-addr=:8081",
    "--enable-leader-election",
    "--v=2",
    "--crd-management=auto",
    "--crd-pattern=resources.azure.com/*",
    "--json-logging=false",
    "--tls-min-version=VersionTLS12",
]


class MadeError(Exception):
    """The options that an operation was to be made with."""


@pytest.fixture
def options(monkeypatch):
    def refuse(settings, options):
        raise MadeError(options)

    monkeypatch.setattr(azure_operator, "AzureOperator", refuse)

    def read(*arguments, **settings):
        environment = {"POD_NAMESPACE": "azureserviceoperator-system", **settings}
        ended = CliRunner().invoke(manager, arguments, env=environment)
        assert isinstance(ended.exception, MadeError), ended.output
        return ended.exception.args[0]

    return read


@pytest.mark.parametrize(
    ("mode", "serves"), [("watchers", False), ("both", True), ("webhooks", True)]
)
def test_watchers_serve_no_webhooks_and_leave_crds_alone(options, mode, serves):
    """Another operator of the cluster sees to both: two would fight over them."""
    read = options(
        *(
            "--webhook-port=9443",
            "--all-versions",
            "--crd-pattern=resources.azure.com/*",
        ),
        AZURE_OPERATOR_MODE=mode,
    )
    assert read.webhooks.on is serves
    assert bool(read.crd_pattern) is serves
    assert read.manages_crds is serves
    assert read.all_versions is serves


def test_the_authority_of_the_webhooks_clients_is_a_file(options, tmp_path):
    read = options("--webhook-port=9443", f"--webhook-client-ca={tmp_path / 'ca.crt'}")
    assert read.webhooks.client_authority == tmp_path / "ca.crt"


@pytest.mark.parametrize(
    ("flags", "is_json"),
    [
        ((), True),
        (("--log-format=text",), False),
        (("--log-format=text", "--json-logging"), True),
    ],
)
def test_the_log_is_json_unless_a_flag_asks_for_text(
    options, monkeypatch, flags, is_json
):
    asked = []
    monkeypatch.setattr(log, "configure", lambda **given: asked.append(given["json"]))
    options(*flags)
    assert asked == [is_json]


@pytest.fixture
def usual(tmp_path, monkeypatch):
    """The folder in which ASO looks for its certificate; it is not there yet."""
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    return tmp_path / "k8s-webhook-server" / "serving-certs"


def test_webhooks_are_off_where_nothing_asks_for_them(options, usual):
    read = options()
    assert not read.webhooks.on
    assert not read.all_versions


@pytest.mark.parametrize("mode", ["webhooks", "watchers-and-webhooks", "both"])
def test_a_mode_that_names_webhooks_has_aso_s_port(options, usual, mode):
    read = options(AZURE_OPERATOR_MODE=mode)
    assert (read.webhooks.address, read.webhooks.cert_dir) == (":9443", None)
    assert read.all_versions


@pytest.mark.parametrize("port", [[], ["--webhook-port=8444"]], ids=["", "a port"])
def test_the_certificate_that_aso_s_manifest_mounts_is_found(options, usual, port):
    usual.mkdir(parents=True)
    assert options(*port).webhooks.cert_dir is None
    (usual / "tls.crt").write_text("a certificate")
    read = options(*port)
    assert read.webhooks.cert_dir == usual
    assert read.webhooks.address == (":8444" if port else ":9443")
    assert not options("--webhook-port=0").webhooks.on


def test_all_versions_are_served_where_somebody_converts(options, usual):
    assert options("--webhook-port=9443").all_versions
    assert not options("--webhook-port=9443", "--all-versions=false").all_versions


def test_the_mode_webhooks_is_bad_usage_without_a_port(usual):
    environment = {"POD_NAMESPACE": "ops", "AZURE_OPERATOR_MODE": "webhooks"}
    ended = CliRunner().invoke(manager, ["--webhook-port=0"], env=environment)
    assert ended.exit_code == 2
    assert "AZURE_OPERATOR_MODE=webhooks needs --webhook-port" in ended.output


def test_a_stop_fits_into_the_time_that_aso_s_pods_have(options):
    assert options().grace_seconds < 10
    assert options("--grace-seconds=25").grace_seconds == 25


@pytest.mark.parametrize(
    ("written", "labels"),
    [
        ("", {}),
        ("team=net", {"team": "net"}),
        (" a/b=c ; d=,", {"a/b": "c", "d": ""}),
    ],
)
def test_labels_of_crds(options, written, labels):
    read = options(f"--crd-labels={written}", AZURE_OPERATOR_MODE="watchers")
    assert read.crd_labels == labels


def test_all_mistakes_in_labels_of_crds_are_bad_usage_in_every_mode():
    environment = {"POD_NAMESPACE": "ops", "AZURE_OPERATOR_MODE": "watchers"}
    written = (
        "plain,a=1;a=2,app.kubernetes.io/version=3,serviceoperator.azure.com/x=1,"
        "-=x,a b=c,k=v!,up/K=v,UP/k=v"
    )
    ended = CliRunner().invoke(manager, [f"--crd-labels={written}"], env=environment)
    assert ended.exit_code == 2
    told = ended.output.replace("\n", " ")
    for text in (
        "'plain' is not of the form key=value",
        "a is there twice",
        "app.kubernetes.io/version is the operator's own",
        "serviceoperator.azure.com/x is the operator's own",
        "'-' is no key",
        "'a b' is no key",
        "'v!' is no value",
        "'UP/k' is no key",
    ):
        assert text in told
    assert "up/K" not in told


def test_the_flags_of_an_aso_deployment_are_understood(options):
    read = options(*ASO)
    assert (read.metrics_address, read.health_address) == ("0.0.0.0:8443", ":8081")
    assert (read.secure_metrics, read.metrics_certificates) == (True, "/certs")
    assert read.crd_pattern == "resources.azure.com/*"
    assert read.leader_election.lease == "controllers-leader-election-azinfra-generated"


@pytest.mark.parametrize(
    ("written", "on"),
    [
        (["--secure-metrics"], True),
        (["--secure-metrics=true"], True),
        (["--secure-metrics=false"], False),
        (["--secure-metrics", "--health-addr=:1"], True),
        ([], True),
    ],
    ids=["bare", "true", "false", "before another", "absent"],
)
def test_switches_are_gos(options, written, on):
    assert options(*written).secure_metrics is on


def test_crds_can_be_left_alone(options):
    assert options("--crd-pattern=*", "--crd-management=none").crd_pattern == ""


@pytest.mark.parametrize(
    ("written", "word"),
    [
        (["--crd-management=sometimes"], "auto"),
        (["--v=loud"], "integer"),
        (["--enable-leader-election=perhaps"], "boolean"),
    ],
)
def test_mistakes_are_bad_usage(written, word):
    ended = CliRunner().invoke(manager, written)
    assert ended.exit_code == 2
    assert word in ended.output


@pytest.mark.parametrize(
    ("arguments", "environment", "least"),
    [
        ([], {}, ssl.TLSVersion.TLSv1_2),
        ([], {"TLS_MIN_VERSION": ""}, ssl.TLSVersion.TLSv1_2),
        (["--tls-min-version", "VersionTLS13"], {}, ssl.TLSVersion.TLSv1_3),
        ([], {"TLS_MIN_VERSION": "VersionTLS13"}, ssl.TLSVersion.TLSv1_3),
    ],
)
def test_older_clients_than_the_least_version_of_tls_are_refused(
    options, arguments, environment, least
):
    read = options("--metrics-addr=:8443", *arguments, **environment)
    assert read.webhooks.least_tls is least
    shown = read.scrape_certificates(None).context()
    assert shown.minimum_version is least


def test_a_version_of_tls_that_is_not_served_is_named():
    ended = CliRunner().invoke(manager, ["--tls-min-version=VersionTLS11"])
    assert ended.exit_code == 2
    assert "VersionTLS11" in ended.output
    assert "VersionTLS13" in ended.output
