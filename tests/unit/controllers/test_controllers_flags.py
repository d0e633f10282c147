"""The manager's flags, as Deployments of Azure Service Operator have them."""

import pytest
from click.testing import CliRunner

from asoreconcile.cmd.manager import manager
from asoreconcile.controllers import azure_operator

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
    ("mode", "serves"), [("watchers", False), ("both", True), ("", True)]
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
    assert read.all_versions is serves


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
        ([], False),
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
