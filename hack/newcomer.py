"""Do what a newcomer does in the first ten minutes, and print how it went as a table.

    hack/trial [--python PYTHON] [STEP...]

In a copy of the last commit and an empty home: the environment, both commands, a wheel,
manifests of one's own and wrong ones, what people do with kubectl, and the install of
deploy/README.md. PYTHON is the interpreter, by default python3. STEP runs the groups of
that name alone: setup, wheel, manifests, kubectl, deploy, ends. Exit code 1 if anything
is not as it should be. Needs nothing but Python and a package index; uses kubectl if
there is one.
"""

import argparse
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import Any

from newcomer_trial import Trial, TrialError, sandbox

ROOT = Path(__file__).resolve().parent.parent
SUBSCRIPTION = "11111111-1111-1111-1111-111111111111"
MEGABYTES = 150  # units of 2**20 bytes, as du counts
GROUP = """
apiVersion: resources.azure.com/v1api20200601
kind: ResourceGroup
metadata: {name: trial}
spec: {location: westeurope}
"""
MIXED = (
    GROUP
    + """---
apiVersion: network.azure.com/v1api20201101
kind: VirtualNetwork
metadata: {name: older}
spec: {owner: {name: trial}, location: westeurope, addressSpace: {addressPrefixes: [10.0.0.0/16]}}
---
apiVersion: network.azure.com/v20250301
kind: VirtualNetwork
metadata: {name: newer}
spec: {owner: {name: trial}, location: westeurope, addressSpace: {addressPrefixes: [10.1.0.0/16]}}
"""
)
BUS = """
apiVersion: servicebus.azure.com/v1api20240101
kind: Namespace
metadata: {name: trial-bus}
spec:
  owner: {name: shop}
  location: westeurope
  sku: {name: Standard}
  operatorSpec: {secrets: {primaryConnectionString: {name: bus, key: main}}}
"""
EXPRESSION = """
apiVersion: storage.azure.com/v20250601
kind: StorageAccount
metadata: {name: trialaccount}
spec:
  owner: {name: trial}
  location: westeurope
  kind: StorageV2
  sku: {name: Standard_LRS}
  operatorSpec:
    configMapExpressions: [{name: out, key: place, value: self.status.locaton}]
"""
SERVER = """
apiVersion: v1
kind: Secret
metadata: {name: password}
stringData: {passwort: none}
---
apiVersion: dbforpostgresql.azure.com/v20250801
kind: FlexibleServer
metadata: {name: trial-database}
spec:
  owner: {name: trial}
  location: westeurope
  administratorLogin: trial
  administratorLoginPassword: {name: password, key: password}
"""
REFERENCE = """
apiVersion: network.azure.com/v20250301
kind: VirtualNetworksSubnet
metadata: {name: subnet}
spec:
  owner: {name: newer}
  addressPrefix: 10.1.0.0/24
  routeTable: {reference: {group: network.azure.com, kind: RouteTables, name: none}}
"""
ELSEWHERE = """
apiVersion: v1
kind: Namespace
metadata: {name: elsewhere}
---
apiVersion: network.azure.com/v20250301
kind: VirtualNetwork
metadata: {name: it, namespace: elsewhere}
spec:
  owner: {name: shop}
  location: westeurope
  addressSpace: {addressPrefixes: [10.0.0.0/16]}
"""
# The mistake, the manifest, and the expected message.
WRONG = (
    (
        "a misspelt field",
        GROUP.replace("location", "locaton"),
        "did you mean 'location'?",
    ),
    (
        "a misspelt kind",
        GROUP.replace("ResourceGroup", "ResourceGruop"),
        "did you mean ResourceGroup",
    ),
    (
        "an owner that is not there",
        MIXED.replace("{name: trial}, loc", "{name: tril}, loc"),
        "ResourceGroup 'tril' is not among the manifests",
    ),
    (
        "an owner elsewhere",
        MIXED.replace("{name: trial}\nspec", "{name: trial, namespace: b}\nspec", 1),
        "is in namespace 'b'",
    ),
    (
        "a policy nobody knows",
        GROUP.replace(
            "{name: trial}",
            "{name: trial, annotations: "
            "{serviceoperator.azure.com/reconcile-policy: skipp}}",
        ),
        "did you mean skip?",
    ),
    ("a name Kubernetes refuses", GROUP.replace("trial", "My_Trial"), "no name that"),
    (
        "two objects, one resource",
        GROUP
        + "---"
        + GROUP.replace("{name: trial}", "{name: two}").replace(
            "spec: {", "spec: {azureName: trial, "
        ),
        "stands for the same Azure resource",
    ),
    (
        "an expression's path",
        GROUP + "---" + EXPRESSION,
        "undefined field 'locaton'; did you mean 'location'?",
    ),
    (
        "a key that a Secret lacks",
        GROUP + "---" + SERVER,
        "has no key 'password'; did you mean passwort? (it has passwort)",
    ),
    (
        "a reference to no kind",
        MIXED + "---" + REFERENCE,
        "has no kind 'RouteTables'; did you mean RouteTable?",
    ),
    (
        "metadata misspelt",
        GROUP.replace("metadata", "metadat"),
        "('metadat' is no field of a manifest)",
    ),
)


def setup(trial: Trial) -> None:
    def environment() -> str:
        trial.run("hack/env", "run")
        used = sum(
            path.lstat().st_blocks * 512
            for path in (trial.clone / ".venv-run").rglob("*")
        )
        if used > MEGABYTES * 2**20:
            raise TrialError(f"the environment takes {used / 2**20:.0f} MB")
        return f"({used / 2**20:.0f} MB)"

    def samples() -> str:
        began = time.monotonic()
        said = trial.run("hack/sandbox", "--exit-when-ready")
        ready = len(set(re.findall(r"(\S+ \S+): Ready=True", said)))
        kind = re.compile(r"^apiVersion: \S+\.azure\.com/", re.MULTILINE)
        files = (ROOT / "deploy" / "samples").glob("*.yaml")
        wanted = sum(len(kind.findall(file.read_text())) for file in files)
        if ready != wanted:
            raise TrialError(f"{ready} of {wanted} Ready: {said[-600:]}")
        return f"({wanted} of {wanted} Ready after {time.monotonic() - began:.1f} s)"

    trial.step("setup", "hack/env run, nothing there yet", environment)
    trial.step("setup", "hack/sandbox, warm", samples)
    for command in ("asoreconcile", "asoctl"):
        trial.runs(
            *("setup", f"{command} --help by the line of the README"),
            *("sh", "-c", f'export PATH="$(hack/env run):$PATH"; {command} --help'),
            says=command,
        )


def wheel(trial: Trial) -> None:
    venv = trial.folder / "venv"
    python = trial.environment["ASORECONCILE_PYTHON"]

    def install() -> None:
        trial.run(python, "-m", "venv", str(venv))
        trial.run(str(venv / "bin/pip"), "install", "--quiet", ".[azure]")

    if trial.step("wheel", "pip install '.[azure]'", install):
        trial.runs(
            *("wheel", "asoreconcile sandbox, without the CEL engine"),
            *(str(venv / "bin/asoreconcile"), "sandbox", "--exit-when-ready"),
        )


def manifests(trial: Trial) -> None:
    asoctl = str(trial.clone / ".venv-run/bin/asoctl")

    file = trial.folder / "mixed.yaml"
    file.write_text(MIXED)
    trial.runs(
        *("manifests", "a folder in mixed versions", "hack/sandbox", "-f", str(file)),
        *("--all-versions", "--exit-when-ready"),
        says="newer: Ready=True",
    )
    render = (asoctl, "render", "-f", "-", "--subscription", SUBSCRIPTION)
    for what, text, says in WRONG:
        wrong = {"stdin": text, "says": says, "code": 1}
        trial.runs("manifests", f"render: {what}", *render, **wrong)
    convert = (asoctl, "convert", "-f", "-", "--to", "newest")
    wrong = {"stdin": WRONG[0][1], "says": "did you mean", "code": 1}
    trial.runs("manifests", "convert: a misspelt field", *convert, **wrong)


def kubectl(trial: Trial) -> None:
    program = shutil.which("kubectl")
    if program is None:
        trial.rows.append(("kubectl", "all", "skipped: no kubectl", 0.0, 0.0))
        return
    with sandbox(trial) as (_, kubeconfig):
        kube = {"KUBECONFIG": kubeconfig}

        def ask(*arguments: str, **expected: Any) -> None:
            trial.run(program, *arguments, **expected, more=kube)

        def try_(what: str, *arguments: str, **expected: Any) -> None:
            trial.runs("kubectl", what, program, *arguments, **expected, more=kube)

        def edit() -> None:
            editor = {**kube, "EDITOR": "sed -i s,10.20.0.0/16,10.20.0.0/15,"}
            trial.run(
                *(program, "edit", "virtualnetworks.network.azure.com/shop-network"),
                more=editor,
                says="edited",
            )

        def prune() -> None:
            labelled = GROUP.replace("{name: trial}", "{name: trial, labels: {a: b}}")
            both = labelled + "---" + labelled.replace("name: trial", "name: gone")
            ask("apply", "-f", "-", stdin=both, says="gone")
            ask(
                *("apply", "--prune", "-l", "a=b", "-f", "-"),
                "--prune-allowlist=resources.azure.com/v1api20200601/ResourceGroup",
                stdin=labelled,
                says="pruned",
            )

        def expression() -> None:
            ask("apply", "-f", "-", stdin=EXPRESSION.replace("trial}", "shop}"))
            account = "storageaccounts.storage.azure.com/trialaccount"
            reason = "FailedWritingAdditionalKubernetesObjects"
            ready = "{.status.conditions[0].reason}"
            ask("wait", account, f"--for=jsonpath={ready}={reason}", "--timeout=60s")
            ask("describe", account, says="did you mean 'location'?")
            shown = trial.run(
                *(program, "get", account, "-o", "jsonpath={.status.id}"), more=kube
            )
            if shown:
                raise TrialError(f"it was made all the same: {shown}")
            ask("delete", account, "--timeout=60s", says="deleted")

        asoctl = str(trial.clone / ".venv-run/bin/asoctl")
        bus = "namespaces.servicebus.azure.com/trial-bus"
        shop = "resourcegroups.resources.azure.com/shop"
        try_("get azure", "get", "azure", says="shop-network")
        try_("describe", "describe", shop, says="Succeeded")
        try_("explain", "explain", "virtualnetworks.spec.addressSpace", says="FIELD")
        trial.step("kubectl", "edit", edit)
        try_("apply a kind the samples lack", "apply", "-f", "-", stdin=BUS)
        try_(
            *("wait until it is Ready", "wait", "--for=condition=Ready", bus),
            "--timeout=60s",
        )
        try_("read the Secret it exports", "get", "secret", "bus")
        try_("events", "events", "--for", shop, says="Normal")
        try_(
            *("diff", "diff", "-f", "-"),
            stdin=BUS.replace("Standard", "Premium"),
            code=1,
            says="+    name: Premium",
        )
        try_(
            *("apply a misspelt field", "apply", "-f", "-"),
            stdin=GROUP.replace("location", "locaton"),
            code=1,
            says='unknown field "spec.locaton"',
        )
        try_(
            *("change a name in Azure", "patch"),
            "virtualnetworks.network.azure.com/shop-network",
            *("--type=merge", "-p", '{"spec": {"azureName": "other"}}'),
            code=1,
            says="azureName cannot change once the resource is in Azure",
        )
        trial.step("kubectl", "apply a wrong expression", expression)
        apply = ("apply", "-f", "-")
        try_("an owner in another namespace", *apply, stdin=ELSEWHERE, says="created")
        try_(
            *("which its condition does not find", "wait", "-n", "elsewhere"),
            "virtualnetwork.network.azure.com/it",
            "--for=jsonpath={.status.conditions[0].reason}=WaitingForOwner",
            "--timeout=60s",
        )
        trial.runs(
            *("kubectl", "and asoctl explain does"),
            *(asoctl, "explain", "VirtualNetwork/it", "-n", "elsewhere"),
            more=kube,
            says="there is one in namespace 'default'",
        )
        trial.step("kubectl", "apply --prune", prune)
        try_("delete", "delete", bus, "--timeout=60s", says="deleted")


def deploy(trial: Trial) -> None:
    """Try the commands of deploy/README.md on the API server for tests."""
    program = shutil.which("kubectl")
    if program is None:
        trial.rows.append(("deploy", "all", "skipped: no kubectl", 0.0, 0.0))
        return
    kubeconfig = trial.folder / "rehearsal"
    command = str(trial.clone / ".venv-run/bin/asoreconcile")
    arguments = ("testserver", "kube", "--kubeconfig-out", str(kubeconfig))
    kube = {"KUBECONFIG": str(kubeconfig)}
    page = (trial.clone / "deploy/README.md").read_text()
    section = page.partition("\n## Into a cluster\n")[2].partition("```\n")[2]
    install = "\n".join(
        line
        for line in re.split(r"(?<![\\|])\n", section.partition("```")[0])
        if not line.startswith(("docker build", "kubectl rollout status"))
    ).replace("REGISTRY", "registry.example")
    change = "kubectl set image -n azureserviceoperator-system"
    change += " deploy/azureserviceoperator-controller-manager manager=registry.example"

    def shell(what: str, script: str, **expected: Any) -> None:
        line = f"set -euo pipefail; {script}"
        trial.runs("deploy", what, "bash", "-c", line, **expected, more=kube)

    with subprocess.Popen(
        [command, *arguments], cwd=trial.clone, env=trial.environment
    ) as process:
        try:
            deadline = time.monotonic() + 60
            while not kubeconfig.exists() and time.monotonic() < deadline:
                time.sleep(0.1)
            conflict = 'conflict with "kubectl-set"'
            updated = "image updated"
            shell("the install of the page", install)
            shell("kubectl set image, to the same", f"{change}/asoreconcile:0.1.0")
            shell("apply again: no fight", install.partition("kubectl create")[0])
            shell("kubectl set image, to another", f"{change}/mine:1", says=updated)
            shell("apply again: says who changed it", install, says=conflict, code=1)
            shell(
                "argocd.yaml by its command",
                "kubectl create namespace argocd;"
                " kubectl apply --server-side -f deploy/argocd.yaml",
            )
        finally:
            process.terminate()


def ends(trial: Trial) -> None:
    def left() -> None:
        found = [p.name for p in (trial.folder / "tmp").glob("asoreconcile-*")]
        if found:
            raise TrialError(f"left behind: {found}")

    def hang_up() -> None:
        with sandbox(trial) as (process, _):
            process.send_signal(signal.SIGHUP)
            if process.wait(60):
                raise TrialError(f"exit code {process.returncode}")
        left()

    def head() -> None:
        script = "set -o pipefail; hack/sandbox | head -1"
        trial.run("bash", "-c", script, says="export KUBECONFIG=")
        left()

    trial.step("ends", "the terminal is closed (SIGHUP)", hang_up)
    trial.step("ends", "hack/sandbox | head -1", head)


GROUPS = {f.__name__: f for f in (setup, wheel, manifests, kubectl, deploy, ends)}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=textwrap.dedent(__doc__ or ""),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--python", default=shutil.which("python3") or "python3")
    parser.add_argument("steps", nargs="*", choices=[*GROUPS, []], metavar="STEP")
    given = parser.parse_args()
    chosen = given.steps or list(GROUPS)
    with tempfile.TemporaryDirectory(prefix="trial-") as name:
        trial = Trial(Path(name), given.python)
        subprocess.run(
            ["git", "clone", "--quiet", str(ROOT), str(trial.clone)], check=True
        )
        if chosen != ["setup"] and "setup" not in chosen:
            trial.run("hack/env", "run")
        for group in chosen:
            GROUPS[group](trial)
        print(trial.table())
    return int(any(row[2].startswith("FAILED") for row in trial.rows))


if __name__ == "__main__":
    sys.exit(main())
