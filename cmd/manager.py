"""`asoreconcile manager`: run the operator, with any cluster and any Azure."""

import gc
import logging
import os
import signal
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from asoreconcile.azure.cmd import sharedoptions
from asoreconcile.azure.cmd.broken_pipe import usage_errors
from asoreconcile.azure.cmd.parent_watch import on_stdin_end
from asoreconcile.azure.cmd.sharedoptions import switch
from asoreconcile.base import log

if TYPE_CHECKING:
    from asoreconcile.azure.controllers.settings import Settings
    from asoreconcile.runtime.leaderelection.lease import LeaderElectionOptions

_SWITCH_INTERVAL_SECONDS = 0.0005
_EACH_STEP = 3
# Azure Service Operator's: one of the two may lead, never both.
_LEASE = "controllers-leader-election-azinfra-generated"
_WEBHOOK_SERVICE = "azureserviceoperator-webhook-service"
_WEBHOOK_PORT = 9443
# The folder of Azure Service Operator's certificate, below the temporary folder.
_CERTIFICATES = Path("k8s-webhook-server", "serving-certs")
# Azure Service Operator's Deployment leaves a pod ten seconds to stop.
_GRACE_SECONDS = 8.0


@click.command()
@click.option(
    "--crd-pattern",
    default="",
    metavar="GLOBS",
    help="Install the CRDs of these kinds: globs over group/Kind, separated by "
    "';'. Without it the manager runs the kinds whose CRDs are installed.",
)
@click.option(
    "--crd-labels",
    default="",
    metavar="KEY=VALUE,...",
    help="Labels for the CRDs that it installs, separated by ',' or ';'.",
)
@click.option(
    "--metrics-addr",
    "metrics_address",
    default="0",
    show_default=True,
    metavar="[HOST]:PORT",
    help="Address of /metrics; 0 turns it off.",
)
@click.option(
    "--health-addr",
    "health_address",
    default="0",
    show_default=True,
    metavar="[HOST]:PORT",
    help="Address of /healthz and /readyz; 0 turns them off.",
)
@switch(
    "--secure-metrics",
    default=True,
    text="Serve /metrics over HTTPS, to users whose roles allow it.",
)
@click.option(
    "--metrics-cert-dir",
    "metrics_certificates",
    default="",
    metavar="DIR",
    help="Folder with tls.crt and tls.key for --secure-metrics. Default: a "
    "self-signed certificate.",
)
@switch(
    "--enable-leader-election",
    text="Only one replica works; another one takes over when it ends.",
)
@click.option(
    "--leader-election-seconds",
    type=(float, float, float),
    default=(15, 10, 2),
    show_default=True,
    metavar="LEASE RENEW RETRY",
    help="Seconds after the last renewal until others may take the lease, seconds "
    "after it until the leader stops, and seconds between attempts.",
)
@click.option(
    "--kubeconfig",
    default=None,
    metavar="FILE",
    help="Default: KUBECONFIG, else the pod's service account, else ~/.kube/config.",
)
@click.option(
    "--extensions",
    "extension_names",
    multiple=True,
    metavar="NAME",
    help="Load this set of extensions of another installed package; repeatable, or "
    "ASORECONCILE_EXTENSIONS in the environment, names separated by commas.",
)
@click.option(
    "--webhook-port",
    type=click.IntRange(0, 65535),
    default=None,
    help="Port of the conversion and admission webhooks; 0 turns them off. "
    f"Default: {_WEBHOOK_PORT} if --webhook-cert-dir is given or its default exists, "
    "or if AZURE_OPERATOR_MODE names webhooks; else 0.",
)
@click.option(
    "--webhook-cert-dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder with tls.crt, tls.key, and ca.crt unless tls.crt is its own "
    "authority. "
    f"Default: {_CERTIFICATES} in the temporary folder, if it has a tls.crt; else a "
    "certificate is made, kept in a Secret in POD_NAMESPACE and renewed, and its "
    "caBundle is written into the CRDs.",
)
@click.option(
    "--tls-min-version",
    envvar="TLS_MIN_VERSION",
    type=click.Choice(["VersionTLS12", "VersionTLS13"]),
    default="VersionTLS12",
    show_default=True,
    help="The webhook port and /metrics refuse clients with an older version of TLS. "
    "Also TLS_MIN_VERSION in the environment.",
)
@click.option(
    "--webhook-client-ca",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="PEM of an authority: admission reviews are answered only to API servers with "
    "a certificate from it. See deploy/docs/webhook-access.md. Default: to any client.",
)
@click.option(
    "--webhook-service",
    default="",
    metavar="NAMESPACE/NAME",
    help="The Service of the webhook port, for CRDs and our certificate. "
    "Default: azureserviceoperator-webhook-service in POD_NAMESPACE.",
)
@click.option(
    "--webhook-url",
    default="",
    metavar="URL",
    help="Instead of a Service, the URL of the webhook port: https://HOST:PORT",
)
@switch(
    "--all-versions",
    default=None,
    text="Install CRDs that serve every version of a kind; needs the webhooks. "
    "Default: true if webhooks are served.",
)
@sharedoptions.seconds(
    "--grace-seconds",
    "How long a shutdown may take; the pod's terminationGracePeriodSeconds must "
    "be longer.",
    _GRACE_SECONDS,
)
@sharedoptions.seconds(
    "--drain-seconds",
    "How long webhooks are answered after a shutdown was requested, so that the "
    "cluster can take the pod out of their Service. Part of --grace-seconds.",
)
@click.option(
    "--log-format",
    type=click.Choice(["json", "text"]),
    default="json",
    show_default=True,
)
@click.option(
    "--verbose",
    "--v",
    "-v",
    type=click.IntRange(min=0),
    is_flag=False,
    flag_value=_EACH_STEP,
    default=_EACH_STEP - 1,
    show_default=True,
    metavar="[LEVEL]",
    help=f"From {_EACH_STEP} on, and without LEVEL, log each step of each reconcile.",
)
@switch("--json-logging", text="The same as --log-format json.")
@click.option(
    "--crd-management",
    type=click.Choice(["auto", "none"]),
    default="auto",
    show_default=True,
    help="none: leave CRDs alone, whatever --crd-pattern says.",
)
@switch(
    "--profiling-metrics",
    text="Accepted, without effect: there is no profiler.",
    effect=False,
)
@sharedoptions.until_stdin_closes
def manager(
    *,
    crd_pattern: str,
    crd_labels: str,
    enable_leader_election: bool,
    leader_election_seconds: tuple[float, float, float],
    webhook_port: int | None,
    webhook_cert_dir: Path | None,
    tls_min_version: str,
    webhook_client_ca: Path | None,
    webhook_service: str,
    webhook_url: str,
    all_versions: bool | None,
    log_format: str,
    verbose: int,
    json_logging: bool,
    crd_management: str,
    until_stdin_closes: bool,
    **others: Any,
) -> None:
    """Run the operator until SIGTERM or SIGINT.

    Settings are environment variables; deploy/docs/operations.md explains each. Under
    Azure Service Operator's names, with their defaults: POD_NAMESPACE (required);
    AZURE_SUBSCRIPTION_ID, AZURE_TENANT_ID, AZURE_CLIENT_ID, AZURE_CLIENT_SECRET; for
    another cloud AZURE_RESOURCE_MANAGER_ENDPOINT, AZURE_RESOURCE_MANAGER_AUDIENCE and
    AZURE_AUTHORITY_HOST; MAX_CONCURRENT_RECONCILES (4 for each kind),
    AZURE_TARGET_NAMESPACES (all; else names separated by commas), AZURE_OPERATOR_MODE
    (watchers-and-webhooks; watchers: no webhooks, and CRDs are left alone, whatever the
    options say; webhooks: nothing is reconciled).

    Settings with the value for objects without the annotation: DEFAULT_RECONCILE_POLICY
    (manage; serviceoperator.azure.com/reconcile-policy), ASORECONCILE_SYNC_MODE
    (compare; asoreconcile/sync-mode), AZURE_SYNC_PERIOD (1h; asoreconcile/sync-period),
    ASORECONCILE_WAIT_FOR_REFERENCES (true; asoreconcile/wait-for-references),
    ASORECONCILE_IGNORE_FIELDS (none; asoreconcile/ignore-fields),
    ASORECONCILE_FOREIGN_TAGS (keep; asoreconcile/foreign-tags).

    Settings that Azure Service Operator does not have: ASORECONCILE_UNDECLARED (put;
    report, ignore), ASORECONCILE_FORCE_PUT_PERIOD (never), ASORECONCILE_BULK_READS
    (list; off), ASORECONCILE_SYNC_PERIODS (KIND.GROUP=PERIOD, separated by commas),
    ASORECONCILE_EXTENSIONS (names separated by commas),
    ASORECONCILE_HOLD_CREDENTIALS and ASORECONCILE_WIDER_CREDENTIALS (false; see
    "Credentials" there), ASORECONCILE_CLOUD_HOSTS (hosts of the clouds that
    credential Secrets may name), and ASORECONCILE_CHECK_SECRET_ACCESS (false; true
    says on objects that name Secrets if nothing checks that their writers may get
    these).

    \b
    Example:
      POD_NAMESPACE=azureserviceoperator-system AZURE_SUBSCRIPTION_ID=... \\
        asoreconcile manager --crd-pattern 'resources.azure.com/*;network.azure.com/*'

    Exit codes: 0 after a clean stop, 1 when something failed or the leader's lease was
    lost, 2 for bad usage.
    """  # noqa: D301 - click's mark for "do not wrap" is this very character
    # Until `run` handles signals: the first process of a container, as this one is,
    # does not get a signal without a handler, and would be killed when the pod's grace
    # period is over.
    click.get_current_context().with_resource(_ending_when_asked())
    # Imported here: --help must not pay for the Azure and Kubernetes libraries.
    with _uncollected():
        import prometheus_client

        from asoreconcile.azure.controllers import azure_operator, settings, webhooks
        from asoreconcile.azure.controllers.crd_labels import crd_labels as labels_in
        from asoreconcile.azure.controllers.options import Options

    if all_versions and webhook_port == 0:
        message = "--all-versions needs --webhook-port, for the conversion webhook"
        raise click.UsageError(message)
    log.configure(
        json=json_logging or log_format == "json",
        level=logging.DEBUG if verbose >= _EACH_STEP else logging.INFO,
        # The same problems are also raised as exceptions, and are logged with their
        # object.
        errors_only=("azure.identity", "msal"),
        warnings_only=("azure", "pymysql", "pytds"),
    )
    certificates = webhook_cert_dir or _usual_certificates()
    with usage_errors(ValueError, option="--crd-labels"):
        labels = labels_in(crd_labels)
    with usage_errors(settings.SettingsError, webhooks.WebhookOptionsError):
        read = settings.from_environment(os.environ)
        if webhook_port is None:
            asked = certificates or read.wants_webhooks or all_versions
            webhook_port = _WEBHOOK_PORT if asked else 0
        answers = read.mode.answers and webhook_port
        answering = webhooks.WebhookOptions(
            address=f":{webhook_port}" if answers else "0",
            cert_dir=certificates,
            service=webhook_service or f"{read.pod_namespace}/{_WEBHOOK_SERVICE}",
            url=webhook_url,
            least_tls=ssl.TLSVersion[f"TLSv1_{tls_min_version[-1]}"],
            client_authority=webhook_client_ca,
        )
    if not read.mode.watches and not answering.on:
        message = "AZURE_OPERATOR_MODE=webhooks needs --webhook-port: it does only that"
        raise click.UsageError(message)
    # Series with the creation time of each counter are not needed.
    prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
    # A reconcile that parses a large answer must not hold up watches.
    sys.setswitchinterval(_SWITCH_INTERVAL_SECONDS)
    # Imported here: a start of another command must not pay for it.
    from asoreconcile.azure.expressions.confinement import forbid_dumps

    # The process that evaluates tenants' expressions has the same user.
    forbid_dumps()
    installs = crd_management == "auto" and read.mode.answers
    options = Options(
        crd_pattern=crd_pattern if installs else "",
        crd_labels=labels,
        manages_crds=installs,
        leader_election=_election(read, leader_election_seconds)
        if enable_leader_election
        else None,
        webhooks=answering,
        all_versions=answering.on and all_versions is not False,
        # Each has the name of the option's field.
        **others,
    )
    with _uncollected():
        operation = azure_operator.AzureOperator(read, options)
    # The present objects stay to the end, so no collection needs to visit them.
    gc.freeze()
    if until_stdin_closes:
        on_stdin_end(operation.stop)
    sys.exit(operation.run())


@contextmanager
def _ending_when_asked() -> Iterator[None]:
    """Make SIGTERM end the process with 0: nothing has been started that must be
    stopped.
    """

    def end(_number: int, _frame: FrameType | None) -> None:
        sys.exit(0)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        # None: set by code that is not Python's.
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Switch the garbage collector off while modules are imported, which saves
    a fifth.
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def _usual_certificates() -> Path | None:
    import tempfile

    folder = Path(tempfile.gettempdir()) / _CERTIFICATES
    return folder if (folder / "tls.crt").is_file() else None


def _election(
    settings: "Settings", seconds: tuple[float, float, float]
) -> "LeaderElectionOptions":
    from asoreconcile.runtime.leaderelection.lease import (
        LeaderElectionOptions,
        LeaseTiming,
    )

    with usage_errors(ValueError, option="--leader-election-seconds"):
        return LeaderElectionOptions(
            _LEASE,
            settings.pod_namespace,
            timing=LeaseTiming(*seconds),
            pod_uid=settings.pod_uid,
        )
