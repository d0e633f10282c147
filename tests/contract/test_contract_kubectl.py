"""Real kubectl, as a person uses it: the client that asks most of a server."""

import json
import os
import shutil
import subprocess
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from contractclient import GROUP, Json, Server, openapi_document, widget, widgets

_SECONDS = 60
Kubectl = Callable[..., subprocess.CompletedProcess[str]]


def program() -> str | None:
    """kubectl, of KUBEBUILDER_ASSETS or of the machine."""
    folder = os.environ.get("KUBEBUILDER_ASSETS", "")
    if folder and (found := Path(folder, "kubectl")).is_file():
        return str(found)
    return shutil.which("kubectl")


pytestmark = pytest.mark.skipif(program() is None, reason="kubectl is not there")


@pytest.fixture
def kubectl(server: Server, namespace: str, tmp_path: Path) -> Kubectl:
    """Run kubectl in the test's namespace; stdin is given as text."""
    authority = tmp_path / "ca.pem"
    authority.write_text(server.authority_pem)
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [
            {
                "name": "test",
                "cluster": {
                    "server": server.url,
                    "certificate-authority": str(authority),
                },
            }
        ],
        "users": [{"name": "test", "user": {"token": server.token}}],
        "contexts": [
            {
                "name": "test",
                "context": {"cluster": "test", "user": "test", "namespace": namespace},
            }
        ],
    }
    (tmp_path / "config").write_text(json.dumps(config))
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "KUBECONFIG": str(tmp_path / "config"),
        "KUBE_EDITOR": "sed -i s/size:.1/size:\\ 7/",
    }

    def run(
        *arguments: str, stdin: str = "", code: int = 0
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [str(program()), *arguments],
            input=stdin,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        assert done.returncode == code, done.stderr + done.stdout
        return done

    return run


def text(*objects: Json) -> str:
    return "".join(f"---\n{json.dumps(one)}\n" for one in objects)


def test_resources_are_discovered(kubectl: Kubectl):
    listed = kubectl("api-resources", f"--api-group={GROUP}", "--no-headers").stdout
    row = next(line.split() for line in listed.splitlines() if "widgets" in line)
    assert row == ["widgets", "wd", f"{GROUP}/v1", "true", "Widget"]
    assert f"{GROUP}/v1" in kubectl("api-versions").stdout


def test_apply_makes_changes_and_leaves_alone(
    kubectl: Kubectl, server: Server, namespace: str
):
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    both = (widget("a", size=1, color="red"), {**config_map, "data": {"a": "1"}})
    done = kubectl("apply", "-f", "-", stdin=text(*both)).stdout
    assert done == f"widget.{GROUP}/a created\nconfigmap/c created\n"
    done = kubectl("apply", "-f", "-", stdin=text(*both)).stdout
    assert done == f"widget.{GROUP}/a unchanged\nconfigmap/c unchanged\n"
    changed = (widget("a", size=2), {**config_map, "data": {"b": "2"}})
    done = kubectl("apply", "-f", "-", stdin=text(*changed)).stdout
    assert done == f"widget.{GROUP}/a configured\nconfigmap/c configured\n"
    assert server.get(widgets(namespace, "a")).json["spec"] == {"size": 2}
    shown = kubectl("get", "configmap", "c", "-o", "jsonpath={.data}").stdout
    assert json.loads(shown) == {"b": "2"}


def test_a_list_is_applied(kubectl: Kubectl):
    items = [widget("a", size=1), widget("b", size=2)]
    body = {"apiVersion": "v1", "kind": "List", "items": items}
    done = kubectl("apply", "-f", "-", stdin=json.dumps(body)).stdout
    assert done == f"widget.{GROUP}/a created\nwidget.{GROUP}/b created\n"


def test_server_side_apply_tells_of_conflicts(kubectl: Kubectl):
    def apply(size: int, manager: str, *more: str, code: int = 0) -> str:
        flags = ("--server-side", f"--field-manager={manager}", *more)
        body = text(widget("a", size=size))
        done = kubectl("apply", *flags, "-f", "-", stdin=body, code=code)
        return done.stdout + done.stderr

    assert apply(1, "one") == f"widget.{GROUP}/a serverside-applied\n"
    refused = apply(2, "two", code=1)
    assert 'conflict with "one"' in refused
    assert ".spec.size" in refused
    assert "--force-conflicts" in refused
    apply(2, "two", "--force-conflicts")
    fields = kubectl("get", "wd", "a", "--show-managed-fields", "-o", "json").stdout
    entries = json.loads(fields)["metadata"]["managedFields"]
    assert [entry["manager"] for entry in entries if "f:spec" in str(entry)] == ["two"]


def test_mistakes_are_told(kubectl: Kubectl):
    refused = kubectl("apply", "-f", "-", stdin=text(widget("a", seize=1)), code=1)
    assert 'unknown field "spec.seize"' in refused.stderr
    refused = kubectl("apply", "-f", "-", stdin=text(widget("a", size=999)), code=1)
    assert "spec.size" in refused.stderr
    assert "less than or equal to 100" in refused.stderr
    refused = kubectl("get", "widget", "nobody", code=1)
    assert refused.stderr == (
        f'Error from server (NotFound): widgets.{GROUP} "nobody" not found\n'
    )


def test_get_shows_the_columns(kubectl: Kubectl, server: Server, namespace: str):
    server.post(widgets(namespace), widget("a", size=3)).expect(201)
    head, row = kubectl("get", "widgets", "-o", "wide").stdout.splitlines()
    assert head.split() == ["NAME", "SIZE", "AGE"]
    assert row.split()[:2] == ["a", "3"]
    secret = {"metadata": {"name": "s"}, "stringData": {"a": "b", "c": "d"}}
    server.post(f"/api/v1/namespaces/{namespace}/secrets", secret).expect(201)
    head, row = kubectl("get", "secret,widget", "-o", "name").stdout.splitlines()
    assert (head, row) == ("secret/s", f"widget.{GROUP}/a")
    head, row = kubectl("get", "secrets").stdout.splitlines()
    assert head.split() == ["NAME", "TYPE", "DATA", "AGE"]
    assert row.split()[:3] == ["s", "Opaque", "2"]
    assert "No resources found" in kubectl("get", "leases").stderr


def test_get_watches(kubectl: Kubectl, server: Server, namespace: str):
    server.post(widgets(namespace), widget("a", size=3)).expect(201)
    # It ends by itself: the request may last no longer.
    flags = ("-w", "--output-watch-events", "--request-timeout=2s", "--no-headers")
    server.patch(widgets(namespace, "a"), {"spec": {"size": 4}}).expect(200)
    done = kubectl("get", "widgets", *flags)
    assert done.stdout.split()[:3] == ["ADDED", "a", "4"]


def test_edit_changes_what_is_there(kubectl: Kubectl, server: Server, namespace: str):
    server.post(widgets(namespace), widget("a", size=1)).expect(201)
    done = kubectl("edit", "widget", "a").stdout
    assert done == f"widget.{GROUP}/a edited\n"
    assert server.get(widgets(namespace, "a")).json["spec"]["size"] == 7


def test_explain_describes_fields(kubectl: Kubectl, server: Server):
    openapi_document(server, GROUP)
    told = kubectl("explain", "widgets.spec.nested").stdout
    assert "Widget" in told
    assert "must\t<string> -required-" in told
    assert "level\t<integer>" in told


def test_wait_sees_conditions_and_ends(
    kubectl: Kubectl, server: Server, namespace: str
):
    server.post(widgets(namespace), widget("a")).expect(201)
    condition = {"type": "Ready", "status": "True"}
    status = {"status": {"conditions": [condition]}}
    server.patch(widgets(namespace, "a", "status"), status).expect(200)
    kubectl("wait", "--for=condition=Ready", "widget/a", "--timeout=10s")
    kubectl("wait", "--for=jsonpath={.spec.size}=1", "widget/a", "--timeout=10s")
    refused = kubectl("wait", "--for=delete", "widget/a", "--timeout=1s", code=1)
    assert "timed out" in refused.stderr
    kubectl("delete", "widget", "a")
    kubectl("wait", "--for=delete", "widget/a", "--timeout=10s")


def test_diff_shows_what_would_change(kubectl: Kubectl, server: Server, namespace: str):
    body = widget("a", size=1)
    kubectl("apply", "--server-side", "-f", "-", stdin=text(body))
    flags = ("--server-side", "-f", "-")
    assert kubectl("diff", *flags, stdin=text(body)).stdout == ""
    told = kubectl("diff", *flags, stdin=text(widget("a", size=2)), code=1).stdout
    assert "-  size: 1\n+  size: 2\n" in told
    assert server.get(widgets(namespace, "a")).json["spec"]["size"] == 1


def test_describe_shows_the_object_and_its_events(
    kubectl: Kubectl, server: Server, namespace: str
):
    made = server.post(widgets(namespace), widget("a", size=1)).expect(201).json
    event = {
        "metadata": {"name": "e"},
        "involvedObject": {
            "kind": "Widget",
            "namespace": namespace,
            "name": "a",
            "uid": made["metadata"]["uid"],
        },
        "reason": "Tried",
        "message": "it was tried",
        "type": "Normal",
        "source": {"component": "contract"},
        "lastTimestamp": "2025-01-02T03:04:05Z",
        "count": 3,
    }
    server.post(f"/api/v1/namespaces/{namespace}/events", event).expect(201)
    told = kubectl("describe", "widget", "a").stdout
    assert "Size:  1" in told
    assert "Tried" in told
    assert "it was tried" in told


def test_labels_and_patches(kubectl: Kubectl, server: Server, namespace: str):
    server.post(widgets(namespace), widget("a", size=1)).expect(201)
    kubectl("label", "widget", "a", "tier=gold")
    kubectl("annotate", "widget", "a", "note=this")
    kubectl("patch", "widget", "a", "--type=merge", "-p", '{"spec":{"size":5}}')
    after = server.get(widgets(namespace, "a")).json
    assert after["metadata"]["labels"] == {"tier": "gold"}
    assert after["metadata"]["annotations"] == {"note": "this"}
    assert after["spec"]["size"] == 5
    listed = kubectl("get", "widgets", "-l", "tier=gold", "-o", "name").stdout
    assert listed == f"widget.{GROUP}/a\n"


@pytest.mark.parametrize("cascade", ["background", "orphan"])
def test_delete(kubectl: Kubectl, server: Server, namespace: str, cascade: str):
    server.post(widgets(namespace), widget("a")).expect(201)
    flags = (f"--cascade={cascade}", "--wait=false")
    done = kubectl("delete", "widget", "a", *flags).stdout
    assert done.startswith(f'widget.{GROUP} "a" deleted')


def test_delete_by_selector_and_create_from_literals(kubectl: Kubectl):
    name = f"c{uuid.uuid4().hex[:6]}"
    kubectl("create", "configmap", name, "--from-literal=a=1")
    kubectl("create", "secret", "generic", name, "--from-literal=a=1")
    shown = kubectl("get", "cm", name, "-o", "jsonpath={.data.a}").stdout
    assert shown == "1"
    kubectl("label", "cm", name, "gone=soon")
    assert name in kubectl("delete", "cm", "-l", "gone=soon").stdout
    assert "yes" in kubectl("auth", "can-i", "delete", "secrets").stdout
