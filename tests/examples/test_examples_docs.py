"""What the documents show is what runs."""

import base64
import re
from pathlib import Path

import orjson
from applications import until

from asoreconcile import Application
from asoreconcile.serving.messages import ServerRequest
from asoreconcile.testing.kube import KubeServer
from asoreconcile.testing.throwaway_certificates import certificate_authority

ROOT = Path(__file__).parent.parent.parent
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(path):
    return _BLOCK.findall((ROOT / path).read_text())


def test_the_readme_shows_the_example_controller():
    """Whole, after its docstring."""
    program = (ROOT / "tests/examples/mirror_config_maps.py").read_text()
    _, _, shown = program.partition('"""\n\n')
    assert shown in blocks("README.md")


def names_of(word):
    """What the runtime's page defines where it shows that word."""
    (program,) = [b for b in blocks("asoreconcile/README.md") if word in b]
    names = {}
    exec(compile(program, "asoreconcile/README.md", "exec"), names)
    return names


def test_the_test_of_a_controller_passes(tmp_path):
    names_of("test_greeting")["test_greeting"](tmp_path)


def test_the_webhooks_that_are_shown_answer(tmp_path):
    pair = certificate_authority().issue(["localhost"])
    for name, pem in zip(("tls.crt", "tls.key"), pair, strict=True):
        (tmp_path / name).write_bytes(pem)
    with KubeServer() as cluster:
        cluster.write_kubeconfig(tmp_path / "kubeconfig")
        app = Application("guard", cluster=str(tmp_path / "kubeconfig"))
        server = names_of("def guard")["guard"](app, tmp_path)
        app.client.close()
    many = {"metadata": {}, "data": {str(n): "" for n in range(11)}}
    denied = review(server, "/validate--v1-configmap", many)
    assert "ten keys at most" in denied["status"]["message"]
    mutated = review(server, "/mutate--v1-configmap", many)
    assert b"nobody" in base64.b64decode(mutated["patch"])


def test_the_certificates_that_are_shown_look_after_themselves(tmp_path):
    with KubeServer() as cluster:
        cluster.write_kubeconfig(tmp_path / "kubeconfig")
        app = Application("guard", cluster=str(tmp_path / "kubeconfig"))
        certificates = names_of("certificates_of")["certificates_of"](app)
        app.webhooks("127.0.0.1:0", certificates=certificates)
        with app.running():
            until(lambda: certificates.authorities)


def review(server, path, obj):
    """What an API server that asks about a new ConfigMap is answered."""
    kind = {"group": "", "version": "v1", "kind": "ConfigMap"}
    request = {"uid": "u", "operation": "CREATE", "kind": kind, "object": obj}
    document = {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": request,
    }
    headers = {"content-type": "application/json"}
    answer = server.answer(ServerRequest("POST", path, headers, orjson.dumps(document)))
    return orjson.loads(answer.body)["response"]
