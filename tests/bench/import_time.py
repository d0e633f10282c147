"""How long imports take: the library, what a controller needs of it, and its peers.

    hack/bench import-time [--rounds N] [--peers-python PATH]

Each import in a process of its own, compiled before; the fastest of the rounds counts.
Claims: the library, and what a controller names of it, in less than 100 ms of CPU; the
manager, ready to start, in less than 350 ms.
"""

import argparse
import json
import os
import subprocess
import sys

from watching.running import interpreter, show

OURS = {
    "asoreconcile": "import asoreconcile",
    "asoreconcile, a controller's names": (
        "from asoreconcile import Controller, Informer, KubeClient, Manager, Result"
    ),
    "asoreconcile, an application": ("from asoreconcile import Application, Result"),
    "asoreconcile, its manager": (
        "import asoreconcile.azure.cmd.asoreconcile, asoreconcile.azure.cmd.manager; "
        "import prometheus_client; "
        "from asoreconcile.azure.controllers import azure_operator, settings, webhooks"
    ),
}
_UNCOMPILED = ("PYTHONDONTWRITEBYTECODE",)
PEERS = ("kubernetes", "kopf")
PROGRAM = """
import json, sys, time
began, cpu = time.perf_counter(), time.process_time()
{statement}
seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
print(json.dumps([seconds, cpu, len(sys.modules)]))
"""


def fastest(python: str, statement: str, rounds: int) -> dict[str, float]:
    command = [python, "-c", PROGRAM.format(statement=statement)]
    # As in the image: with modules that are compiled, after the first round at the latest.
    environment = {k: v for k, v in os.environ.items() if k not in _UNCOMPILED}
    texts = []
    for _ in range(rounds):
        done = subprocess.run(
            command, stdout=subprocess.PIPE, check=True, env=environment
        )
        texts.append(json.loads(done.stdout))
    seconds, cpu, modules = (min(column) for column in zip(*texts, strict=True))
    return {
        "ms": round(seconds * 1000, 1),
        "cpu_ms": round(cpu * 1000, 1),
        "modules": modules,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--peers-python", default=sys.executable)
    options = parser.parse_args()
    for name, statement in OURS.items():
        texts = fastest(sys.executable, statement, options.rounds)
        show({"benchmark": f"import: {name}", **texts})
    for package in PEERS:
        line: dict[str, object] = {"benchmark": f"import: {package}"}
        python = interpreter(package, options.peers_python)
        if python is None:
            show({**line, "skipped": f"{package} is not installed"})
        else:
            texts = fastest(python, f"import {package}", options.rounds)
            show({**line, **texts})


if __name__ == "__main__":
    main()
