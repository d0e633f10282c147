"""Import of a large estate: time against what the read budget needs, and memory.

    hack/bench import-azure [--groups N] [--resources N] [--latency SECONDS]

Claims: at most 1.2 of the time that the read budget alone needs, and 150 MiB. The
simulator throttles as Azure does (250 reads at once, 25 a second after that); the
command runs in a process of its own.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from asoreconcile.testing.arm import ArmServer

_PROGRAM = "from asoreconcile.azure.cmd.asoctl import main; main()"
_BURST, _PER_SECOND = 250, 25.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=50)
    parser.add_argument("--resources", type=int, default=1000)
    parser.add_argument("--latency", type=float, default=0.05)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        _measure(Path(folder), given)


def _measure(folder: Path, given: argparse.Namespace) -> None:
    with ArmServer(latency=given.latency, throttle=True) as azure:
        azure.write_ca(folder / "ca.pem")
        environment = {
            **os.environ,
            **azure.settings(),
            "REQUESTS_CA_BUNDLE": str(folder / "ca.pem"),
        }
        ids = _seed(azure, given.groups, given.resources)
        command = [sys.executable, "-c", _PROGRAM, "import", "azure-resource", *ids]
        kinds = ("resources.azure.com/*", "managedidentity.azure.com/User*")
        only = [part for kind in kinds for part in ("--only", kind)]
        output = ["--output", str(folder / "all.yaml"), "--workers", "8"]
        began = time.monotonic()
        subprocess.run([*command, *only, *output], env=environment, check=True)
        seconds = time.monotonic() - began
        reads = sum(exchange.method == "GET" for exchange in azure.journal)
        refused = sum(exchange.status == 429 for exchange in azure.journal)
    needed = max(reads - _BURST, 0) / _PER_SECOND
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    figures = {
        "benchmark": "import-azure",
        "manifests": (folder / "all.yaml").read_text().count("---\n"),
        "reads": reads,
        "refused": refused,
        "seconds": round(seconds, 1),
        "budgetSeconds": round(needed, 1),
        "peakMiB": round(peak),
    }
    print(json.dumps(figures), flush=True)  # noqa: T201


def _seed(azure: ArmServer, groups: int, resources: int) -> list[str]:
    ids = []
    for number in range(groups):
        group = f"/subscriptions/{azure.subscription_id}/resourceGroups/g{number}"
        azure.seed(group, {"location": "westeurope"})
        ids.append(group)
    identities = "providers/Microsoft.ManagedIdentity/userAssignedIdentities"
    for number in range(resources - groups):
        arm_id = f"{ids[number % groups]}/{identities}/i{number}"
        azure.seed(arm_id, {"location": "westeurope"})
    return ids


if __name__ == "__main__":
    main()
