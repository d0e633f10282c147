"""What a manager has loaded when it starts: no more than a start needs.

Loading is most of a start's CPU time, and a replica that does not lead, or one that only
answers webhooks, never needs what talks to Azure.
"""

import json
import subprocess
import sys

from asoreconcile.testing.kube import KubeServer

PROGRAM = """
import json, sys
import asoreconcile.azure.cmd.asoreconcile, asoreconcile.azure.cmd.manager, prometheus_client
from asoreconcile.azure.controllers import azure_operator, settings, webhooks
from asoreconcile.azure.controllers.options import Options
read = settings.from_environment({
    "POD_NAMESPACE": "ops", "AZURE_SUBSCRIPTION_ID": "s", "AZURE_TENANT_ID": "t",
    "AZURE_CLIENT_ID": "c", "AZURE_CLIENT_SECRET": "x",
})
# Metrics are to be secure, as by default, and are served nowhere: nobody needs a
# certificate.
options = Options(
    kubeconfig=sys.argv[1],
    webhooks=webhooks.WebhookOptions(address="0"),
    metrics_address="0",
    secure_metrics=True,
)
azure_operator.AzureOperator(read, options)
print(json.dumps(sorted(sys.modules)))
"""
# Each takes 0.02 to 0.3 s, and comes with the first object, certificate or plug-in.
NOT_AT_THE_START = {
    "azure",
    "cryptography",
    "kubernetes",
    "msal",
    "multiprocessing",
    "oauthlib",
    "pydantic",
    "requests",
}
# Those of the standard library are left out: how many it splits into differs by Python.
# Among them are the policies with annotations: each event of an object asks their rows.
MOST_MODULES = 415


def test_a_start_loads_nothing_that_only_reconciles_need(tmp_path):
    with KubeServer() as server:
        server.write_kubeconfig(tmp_path / "kubeconfig")
        command = [sys.executable, "-c", PROGRAM, str(tmp_path / "kubeconfig")]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    modules = json.loads(ran.stdout)
    # To look whether `azure.core` is there makes the namespace `azure`, and loads nothing.
    loaded = {name.partition(".")[0] for name in modules if name != "azure"}
    assert NOT_AT_THE_START & loaded == set()
    reconciling = {
        "asoreconcile.azure.reconcile.engine.reconciler",
        "asoreconcile.azure.arm.client",
    }
    assert not reconciling & set(modules)
    counted = [
        name
        for name in modules
        if name.partition(".")[0] not in sys.stdlib_module_names
    ]
    assert len(counted) <= MOST_MODULES, len(counted)
