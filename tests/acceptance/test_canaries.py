"""The security trial: secrets of every sort are quoted back by everybody, and appear in
no output of a manager process.

Canaries: the operator's and a namespace's client secret, tokens of Azure, the token of
the API server, passwords that an object reads (a long, a short and an awkward one), and
a key that it exports. Azure, the authority, the API server and a proxy quote them, raw
and in each form of `quotedforms`, also cut. Outputs: the log at its highest level,
conditions and everything else of the objects but Secrets' data, events, metrics, health
and readiness pages, temporary files, arguments and environment of processes that the
manager starts, and what `asoctl render` prints.
"""

import base64
import json
import os
import secrets
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner
from operation import Operation, free_port
from quotedforms import core, quoted_forms
from world import postgres_server, resource_group

from asoreconcile.azure.cmd.render import render
from asoreconcile.base.objects import ObjectKey
from asoreconcile.kube.resources import NAMESPACES, SECRETS
from asoreconcile.testing.arm.applications import EntraApplication
from asoreconcile.testing.http import HttpResponse

REFUSED = "it quotes"
random_text = secrets.token_urlsafe
HTML = {"Content-Type": "text/html"}


@pytest.fixture
def operation(tmp_path):
    with Operation(tmp_path, cluster=None) as running:
        running.answer_at_once("Cache/redis", "DBforPostgreSQL/flexibleServers")
        yield running


class Canaries:
    """The secrets of a trial, by sort."""

    def __init__(self):
        self.password = f"Pa%ss&<w>-\"{os.urandom(6).hex()}'\\n"
        self.plain = f"canary-{random_text(12)}"
        self.short = "q~7Z"
        self.namespace = f"ns8Q~{random_text(25)}"
        self.values = {
            "password": self.password,
            "plain password": self.plain,
            "namespace's client secret": self.namespace,
        }

    def quoted(self):
        """One text that quotes all of them in all forms."""
        labels = []
        for value in self.values.values():
            labels += quoted_forms(value).values()
            labels += [value[: 2 * len(value) // 3], value[len(value) // 3 :]]
        labels += [f"'{self.short}'", base64.b64encode(self.short.encode()).decode()]
        return " ; ".join(labels)

    def assert_absent(self, outputs):
        found = [
            (output, what, form)
            for output, text in outputs.items()
            for what, value in self.values.items()
            for form, quoted in self._forms(value).items()
            if core(form, quoted) in text
        ]
        found += [(name, "short", "") for name, t in outputs.items() if self.short in t]
        assert found == []

    def _forms(self, value):
        third = len(value) // 3
        cut = {"cut end": value[third:][:-2], "cut head": value[: 2 * third]}
        return {**quoted_forms(value), **cut}


def redis():
    return {
        "apiVersion": "cache.azure.com/v20241101",
        "kind": "Redis",
        "metadata": {"name": "carts"},
        "spec": {
            "owner": {"name": "rg"},
            "location": "westeurope",
            "sku": {"family": "C", "name": "Standard", "capacity": 1},
            "operatorSpec": {
                "secrets": {"primaryKey": {"name": "carts-keys", "key": "primary"}},
                "secretExpressions": [
                    {
                        "name": "carts-url",
                        "key": "url",
                        "value": '"redis://:" + secret.primaryKey + "@host"',
                    }
                ],
            },
        },
    }


def server(name):
    return {**postgres_server(name), "metadata": {"name": name}}


def secret(name, **values):
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "stringData": values,
    }


def page(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as answer:
        return answer.read().decode()


def processes_below(pid):
    """Ids of the processes that a process has started, and theirs."""
    found = []
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, children.read_text().split()):
            found += [child, *processes_below(child)]
    return found


def shown_by_processes(pid):
    """Return the arguments of the manager and of its child processes, and the
    children's environment.

    The manager's own has its settings in it, as it has with ASO.
    """
    below = processes_below(pid)
    paths = [f"/proc/{one}/cmdline" for one in (pid, *below)]
    paths += [f"/proc/{one}/environ" for one in below]
    return {path: Path(path).read_bytes().decode() for path in paths}, below


def everything(operation, ports, objs):
    """Each output of the operator as text."""
    objects = [operation.read(obj) for obj in objs]
    shown, below = shown_by_processes(operation.manager.pid)
    assert below, "the expressions' process is to be looked at, too"
    exported = operation.client.get(SECRETS, ObjectKey("default", "carts-keys"))
    metrics, health = ports
    return {
        "log": operation.logs(),
        "objects": json.dumps(objects, ensure_ascii=False),
        "events": json.dumps(operation.events(), ensure_ascii=False),
        "metrics": page(metrics, "/metrics"),
        "healthz": page(health, "/healthz?verbose"),
        "readyz": page(health, "/readyz?verbose"),
        "temporary files": "".join(_files(operation.folder / "temporary")),
        "exported secret's metadata": json.dumps(exported["metadata"]),
        **shown,
    }


def _files(folder):
    """Return the names of all files below a folder, and their contents."""
    for path in folder.rglob("*"):
        yield path.name
        if path.is_file():
            yield path.read_bytes().decode(errors="replace")


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="reads /proc")  # noqa: PTH112
def test_no_canary_in_any_form_reaches_any_output(operation):
    canaries = Canaries()
    metrics, health = free_port(), free_port()
    temporary = operation.folder / "temporary"
    temporary.mkdir()
    group, cache = resource_group(), redis()
    awkward, plain, short = (server(name) for name in ("awkward", "plain", "short"))
    operation.install(group, cache, awkward)
    operation.start_manager(
        *("-v", "9"),
        *("--metrics-addr", f"127.0.0.1:{metrics}", "--secure-metrics=false"),
        *("--health-addr", f"127.0.0.1:{health}"),
        TMPDIR=str(temporary),
    )
    # A namespace with a credential of its own, and one with the operator's.
    entra = operation.azure.entra
    entra.register(EntraApplication("theirs", canaries.namespace))
    credential = {
        "AZURE_SUBSCRIPTION_ID": operation.azure.subscription_id,
        "AZURE_TENANT_ID": operation.azure.tenant_id,
        "AZURE_CLIENT_ID": "theirs",
        "AZURE_CLIENT_SECRET": canaries.namespace,
    }
    operation.apply(secret("aso-credential", **credential))
    operation.client.create(NAMESPACES, {"metadata": {"name": "team"}})
    elsewhere = resource_group("elsewhere")
    elsewhere["metadata"]["namespace"] = "team"
    servers = {
        "awkward": (awkward, canaries.password),
        "plain": (plain, canaries.plain),
        "short": (short, canaries.short),
    }
    for name, (obj, password) in servers.items():
        obj["spec"]["administratorLoginPassword"] = {"name": name, "key": "password"}
        operation.apply(secret(name, password=password))
    objs = (group, elsewhere, cache, awkward, plain, short)
    for obj in objs:
        operation.apply(obj)
    for obj in objs:
        operation.wait_ready(obj)
    keys = operation.client.get(SECRETS, ObjectKey("default", "carts-keys"))["data"]
    canaries.values["exported key"] = base64.b64decode(keys["primary"]).decode()
    canaries.values["client secret"] = operation.azure.client_secret
    canaries.values["cluster's token"] = operation.cluster.token
    for number, token in enumerate(entra.tokens()):
        canaries.values[f"token {number}"] = token
    text = f"{REFUSED} {canaries.quoted()}"
    edit = {"spec": {"tags": {"a": "b"}}}

    # Azure and a proxy before it quote what they were sent, and much else.
    faults = operation.azure.faults
    faults.answer("PUT", "flexibleServers/awkward", 400, code="Bad", message=text)
    faults.answer(
        "PUT", "flexibleServers/plain", 409, code=canaries.plain, message=text
    )
    proxy = HttpResponse(502, f"<pre>{text}</pre>".encode(), HTML)
    faults.respond("PUT", "flexibleServers/short", proxy)
    for obj, _ in servers.values():
        operation.edit(obj, edit)
        event = operation.wait_event(obj, "CreateOrUpdateActionError")
        assert event["source"] == {"component": "dbforpostgresql_flexibleserver"}

    # The API server passes on the message of an admission webhook.
    denied = {"kind": "Status", "reason": "Forbidden", "message": text, "code": 403}
    refusal = HttpResponse(403, json.dumps(denied).encode())
    held = faults.hold(method="PUT", path="redis/carts", phase="after")
    operation.edit(cache, edit)
    assert held.wait_arrived(30.0)
    operation.cluster.faults.respond("PATCH", "/redis/carts", refusal)
    held.release()
    operation.wait_event(cache, "CreateOrUpdateActionError")

    # The authority quotes a credential that it refuses.
    renewed = canaries.values["renewed client secret"] = f"ns9Q~{random_text(25)}"
    quoting = {"error_description": f"AADSTS7: {REFUSED} {canaries.quoted()}"}
    answer = HttpResponse(
        401, json.dumps({"error": "invalid_client", **quoting}).encode()
    )
    operation.azure.token_faults.respond("POST", "/token", answer, times=99)
    credential["AZURE_CLIENT_SECRET"] = renewed
    operation.apply(secret("aso-credential", **credential))
    operation.wait_condition(group, "CredentialError")

    outputs = everything(operation, (metrics, health), objs)
    for name in ("log", "objects", "events"):
        # The texts came through; it is only the secrets that are not in them.
        assert REFUSED in outputs[name], name
        assert "***" in outputs[name], name
    assert "AADSTS7" in outputs["log"]
    canaries.assert_absent(outputs)


def test_no_canary_is_rendered(tmp_path):
    canaries = Canaries()
    files = [resource_group()]
    for name, value in (("awkward", canaries.password), ("plain", canaries.plain)):
        obj = server(name)
        obj["spec"]["administratorLoginPassword"] = {"name": name, "key": "password"}
        files += [obj, secret(name, password=value)]
    path = tmp_path / "all.json"
    path.write_text("\n---\n".join(json.dumps(obj) for obj in files))
    options = ["-f", str(path), "--subscription", "s"]
    result = CliRunner().invoke(render, options)
    assert result.exit_code == 0, result.output
    assert result.output.count("***") == 2
    canaries.assert_absent({"render": result.output})
