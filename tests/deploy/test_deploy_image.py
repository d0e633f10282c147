"""The image that `hack/image` builds: its contents, and the operator that runs in
it.
"""

import base64
import json
import re
import shutil
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from clusters import HAS_REAL, RealCluster
from keypairs import identity_file, pem, rsa_key
from operation import NAMESPACE, Operation, free_port
from podbox import Container, Image, why_not
from routing import endpoints, own_address
from tools import DEPLOY, ROOT, attempt, program, run
from world import resource_group

from asoreconcile.base.objects import ObjectKey
from asoreconcile.kube.resources import CONFIG_MAPS, NAMESPACES, SECRETS
from asoreconcile.testing.arm.applications import EntraApplication
from asoreconcile.testing.arm.assertions import Federated

ACCOUNT = "azureserviceoperator-default"
OURS = "asoreconcile"
ACCOUNT_FILES = "/var/run/secrets/kubernetes.io/serviceaccount"
IDENTITY = "/var/run/azure/identity.json"
# The programs that may be started, except the interpreter's own loader.
PROGRAMS = {"usr/bin/python3.13", "usr/local/bin/asoctl", "usr/local/bin/asoreconcile"}
pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The image's archive, made of the files that .dockerignore admits, and its bill of
    materials.

    Packages of a distribution are fetched the first time: with the other tests that take
    minutes on a new machine.
    """
    if not HAS_REAL:
        pytest.skip("KUBEBUILDER_ASSETS names no kube-apiserver")
    if (checked := attempt(ROOT / "hack" / "image", "--check")).returncode:
        pytest.skip(checked.stderr.strip())
    folder = tmp_path_factory.mktemp("image")
    source = folder / "source"
    for name in named_sources():
        target = source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, target, symlinks=True, ignore=ignored)
        else:
            shutil.copy(ROOT / name, target, follow_symlinks=False)
    done = attempt(source / "hack" / "image", folder / "out")
    if done.returncode == 3:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    archive = Path(done.stdout.strip())
    return archive, archive.with_name(archive.name.replace(".oci.tar", ".cdx.json"))


@pytest.fixture(scope="module")
def image(built, tmp_path_factory):
    return Image(built[0], tmp_path_factory.mktemp("unpacked"))


def named_sources():
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    return [line.removeprefix("!") for line in lines if line.startswith("!")]


def locked():
    """Version by distribution, of the image's lock."""
    text = (DEPLOY / "requirements.txt").read_text()
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", text, re.MULTILINE))


def test_nothing_but_the_operator_can_be_started(image):
    runnable = {name for name, path in image.files() if path.stat().st_mode & 0o111}
    loader = {name for name in runnable if "/ld-linux" in name}
    assert len(loader) == 1
    assert runnable - loader == PROGRAMS
    for name, path in image.files():
        assert not path.stat().st_mode & 0o6022, name
    for word in ("sh", "bash", "dash", "busybox", "apt", "dpkg", "pip"):
        assert not list(image.root.glob(f"usr/**/bin/{word}"))
    assert not list(image.root.glob("usr/**/dist-packages/pip"))


def test_it_says_how_it_is_started(image):
    assert image.config["User"] == "65532:65532"
    assert image.config["Entrypoint"] == ["/usr/local/bin/asoreconcile", "manager"]
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    for setting in image.config["Env"]:
        assert f"ENV {setting}\n" in dockerfile
    assert f"ENTRYPOINT {json.dumps(image.config['Entrypoint'])}" in dockerfile


def test_what_is_installed_is_what_is_locked(image, built):
    packages = image.root / "usr/local/lib/python3.13/dist-packages"
    found = {}
    for folder in packages.glob("*.dist-info"):
        name, _, version = folder.name.removesuffix(".dist-info").rpartition("-")
        found[name.lower().replace("_", "-").replace(".", "-")] = version
    assert found.pop("asoreconcile")
    assert found == locked()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for asked in (project["dependencies"], *(extras[x] for x in ("azure", "cel"))):
        for requirement in asked:
            assert re.split(r"[<>=\[]", requirement)[0].lower() in [*found, OURS]
    assert not list(packages.glob("asoreconcile/testing"))
    (record,) = packages.glob("asoreconcile-*.dist-info/RECORD")
    assert "asoreconcile/azure/" in record.read_text()
    assert "asoreconcile/testing/" not in record.read_text()
    bill = json.loads(built[1].read_text())
    named = {
        c["name"].lower().replace("_", "-"): c.get("version")
        for c in bill["components"]
    }
    assert found.items() <= named.items()
    for line in (DEPLOY / "image" / "debian-amd64.lock").read_text().splitlines()[1:]:
        assert re.search(r"/([^/_]+)_[^/]+\.deb$", line)[1] in named


def test_the_bill_and_the_notices_name_the_libraries_inside_wheels(image, built):
    components = json.loads(built[1].read_text())["components"]
    inside = [c for c in components if c.get("purl", "").startswith("pkg:generic/")]
    assert {"curl", "nghttp2", "openssl"} <= {
        c["name"] for c in inside if "version" in c
    }
    # A library without a row in bundled.toml has no repository.
    files = [c["name"] for c in inside if ".so" in c["name"]]
    assert files == []
    notices = image.root / "usr/share/doc/asoreconcile/NOTICES.md"
    assert notices.read_text() == (DEPLOY / "image" / "NOTICES.md").read_text()
    provenance = json.loads(
        built[0]
        .with_name(built[0].name.replace(".oci.tar", ".intoto.json"))
        .read_text()
    )
    assert provenance["subject"][0]["name"] == built[0].name


def test_the_same_sources_make_the_same_archive(built, tmp_path):
    environment = f"SOURCE_DATE_EPOCH=0 {ROOT / 'hack' / 'image'} {tmp_path}"
    again = Path(run("bash", "-c", environment).strip())
    assert again.read_bytes() == built[0].read_bytes()


def test_the_operator_runs_in_it_and_signs_in_each_way(image, tmp_path):
    """The operator runs with the user, mounts, arguments and role of a pod of
    operator.yaml.

    Each way to sign in once: the settings say workload identity, by the token that the
    Deployment projects; four namespaces have credentials of their own. The machine's
    identity is asked at another address than in Azure, as Azure's library allows.
    """
    if reason := why_not():
        pytest.skip(reason)
    if not HAS_REAL:
        pytest.skip("KUBEBUILDER_ASSETS names no kube-apiserver")
    at = own_address(), free_port()
    routed = RealCluster("--enable-aggregator-routing=true")
    with Operation(tmp_path, cluster=routed) as operation:
        kubeconfig = operation.folder / "kubeconfig"
        kubectl = [program("envtest", "kubectl"), "--kubeconfig", str(kubeconfig)]
        for name in ("operator", "rbac"):
            run(*kubectl, "apply", "--server-side", "-f", DEPLOY / f"{name}.yaml")
        with operation.azure.machine(own="machine") as machine:
            credentials = ways_to_sign_in(operation.azure)
            credentials["by-file"] = {
                "AZURE_CLIENT_ID": "by-file",
                "AZURE_USER_ASSIGNED_IDENTITY_CREDENTIALS": IDENTITY,
            }
            signed_in = noted_sign_ins(operation.azure.entra)
            slice_ = json.dumps(endpoints(*at))
            run(*kubectl, "apply", "-f", "-", given=slice_)
            container = start(operation, kubectl, image, machine, at[1])
            operation.manager = container
            group = resource_group()
            group["spec"]["operatorSpec"] = {
                "configMapExpressions": [
                    {
                        "name": "made",
                        "key": "id",
                        "value": "self.status.id.lowerAscii()",
                    }
                ]
            }
            operation.wait_served(group)
            operation.apply_once_trusted(group)
            operation.wait_ready(group)
            explained = run(*kubectl, "explain", "resourcegroup.spec.azureName")
            assert "name in Azure; by default metadata.name" in explained
            made = operation.client.get(CONFIG_MAPS, ObjectKey("default", "made"))
            assert made["data"]["id"].endswith("/resourcegroups/rg")
            for name, data in credentials.items():
                operation.client.create(NAMESPACES, {"metadata": {"name": name}})
                secret = {
                    "metadata": {"name": "aso-credential", "namespace": name},
                    "stringData": {
                        "AZURE_SUBSCRIPTION_ID": operation.azure.subscription_id,
                        "AZURE_TENANT_ID": operation.azure.tenant_id,
                        **data,
                    },
                }
                operation.client.create(SECRETS, secret)
                other = resource_group(name)
                other["metadata"]["namespace"] = name
                operation.apply(other)
                operation.wait_ready(other)
        machines = operation.azure.client_id
        named = {"federated", "by-secret", "by-certificate", "by-file"}
        assert signed_in == named | {machines}
        status = container.status()
        assert status["Uid"].split() == ["65532"] * 4
        assert status["Gid"].split() == ["65532"] * 4
        assert (int(status["CapEff"], 16), status["NoNewPrivs"].strip()) == (0, "1")
        mounts = container.mounts()
        assert "ro" in mounts["/"]
        assert "rw" in mounts["/tmp"]
        assert container.end() == 0
        assert " is forbidden: " not in operation.logs()


def ways_to_sign_in(azure):
    """Return the contents of each namespace's credential, whose applications Azure
    knows.
    """
    key = pem(rsa_key())
    certificate = key[key.index(b"-----BEGIN CERTIFICATE") :]
    subject = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"
    for application in (
        EntraApplication(
            "federated", federated=(Federated("https://localhost", subject),)
        ),
        EntraApplication("by-secret", "s3cret"),
        EntraApplication("by-certificate", certificates=(certificate,)),
        EntraApplication("by-file", certificates=(certificate,)),
    ):
        azure.entra.register(application)
    return {
        "by-secret": {"AZURE_CLIENT_ID": "by-secret", "AZURE_CLIENT_SECRET": "s3cret"},
        "by-certificate": {
            "AZURE_CLIENT_ID": "by-certificate",
            "AZURE_CLIENT_CERTIFICATE": key.decode(),
        },
        "by-machine": {"AZURE_CLIENT_ID": azure.client_id, "AUTH_MODE": "podidentity"},
    }


def noted_sign_ins(entra):
    """The client ids that got a token, from now on."""
    found, issue = set(), entra.issue

    def noting(client_id, **details):
        found.add(client_id)
        return issue(client_id, **details)

    entra.issue = noting
    return found


def start(operation, kubectl, image, machine, webhook_port):
    """The manager in the image, as the stored Deployment's pod would have it."""
    stored = run(*kubectl, "get", "deployment", "-n", NAMESPACE, "-o", "json")
    (deployment,) = json.loads(stored)["items"]
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    azure = operation.azure
    settings = azure.settings()
    del settings["AZURE_CLIENT_SECRET"]
    environment = {**settings, "AZURE_CLIENT_ID": "federated"}
    environment |= {"USE_WORKLOAD_IDENTITY_AUTH": "true", "POD_NAMESPACE": NAMESPACE}
    environment |= machine.environment
    environment["REQUESTS_CA_BUNDLE"] = "/var/run/azure/ca.pem"
    mounted = {
        "/var/run/azure/ca.pem": azure.ca_pem.decode(),
        IDENTITY: identity_file(azure.tenant_id, "by-file", azure.authority),
        **in_cluster(operation, kubectl, environment),
    }
    token = (*kubectl, "create", "token", ACCOUNT, "-n", NAMESPACE)
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    temporary = []
    for mount in container["volumeMounts"]:
        volume = volumes[mount["name"]]
        if "emptyDir" in volume:
            temporary.append(mount["mountPath"])
            continue
        for source in volume["projected"]["sources"]:
            projected = source["serviceAccountToken"]
            mounted[f"{mount['mountPath']}/{projected['path']}"] = run(
                *token,
                f"--audience={projected['audience']}",
                f"--duration={projected['expirationSeconds']}s",
            )
    # Which kinds is the user's to say; ports of the machine are shared.
    replaced = {
        "--webhook-port": webhook_port,
        "--crd-pattern": "resources.azure.com/*",
    }
    arguments = [
        f"{option}={replaced[option]}"
        if option in replaced
        else f"{option}=127.0.0.1:{free_port()}"
        if option.endswith("-addr")
        else argument
        for argument in container["args"]
        for option in [argument.partition("=")[0]]
    ]
    return Container(
        image,
        arguments,
        environment=environment,
        mounted=mounted,
        temporary=temporary,
        log_path=operation.folder / "manager-box.log",
    )


def in_cluster(operation, kubectl, environment):
    """Return the files of a pod's service account, and set the API server's address."""
    config = yaml.safe_load((operation.folder / "kubeconfig").read_text())
    at = config["clusters"][0]["cluster"]
    server = urlsplit(at["server"])
    environment["KUBERNETES_SERVICE_HOST"] = server.hostname
    environment["KUBERNETES_SERVICE_PORT"] = str(server.port)
    authority = base64.b64decode(at["certificate-authority-data"]).decode()
    return {
        f"{ACCOUNT_FILES}/ca.crt": authority,
        f"{ACCOUNT_FILES}/namespace": NAMESPACE,
        f"{ACCOUNT_FILES}/token": run(
            *kubectl, "create", "token", ACCOUNT, "-n", NAMESPACE
        ),
    }
