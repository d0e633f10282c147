"""Record the golden answers from a real kube-apiserver: `python tests/contract/record.py`.

KUBEBUILDER_ASSETS names the folder with kube-apiserver and etcd (see hack/envtest).
Writes golden.json into this file's folder.
"""

import json
import os
import sys
from pathlib import Path

from contractclient import Json, Server, widgets_crd
from goldenform import Form
from goldenscenarios import SCENARIOS, Scenario

from asoreconcile.testing import envtest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

GOLDEN = Path(__file__).with_name("golden.json")


def exchanges(server: Server, scenario: Scenario) -> list[Json]:
    """Return a server's answers to a scenario, in a form that can be compared."""
    with server.namespace() as name:
        with server.recording() as journal:
            scenario(server, name)
        form = Form(name)
        return [form.exchange(request, answer) for request, answer in journal]


def main() -> int:
    """Record all scenarios; return 2 if there is no real server."""
    folder = Path(os.environ.get("KUBEBUILDER_ASSETS", ""))
    if lacking := envtest.missing(folder):
        sys.stderr.write(f"KUBEBUILDER_ASSETS={folder} lacks {', '.join(lacking)}\n")
        return 2
    with (
        envtest.running(folder) as real,
        Server(real.url, real.token, real.authority_pem) as server,
    ):
        server.install(widgets_crd())
        found = {name: exchanges(server, one) for name, one in SCENARIOS.items()}
    GOLDEN.write_text(_lines(found))
    sys.stdout.write(f"{sum(map(len, found.values()))} answers in {GOLDEN.name}\n")
    return 0


def _lines(found: dict[str, list[Json]]) -> str:
    """Return JSON with one answer per line, so that diffs are readable."""
    parts = (
        f"{json.dumps(name)}: [\n"
        + ",\n".join(
            json.dumps(one, sort_keys=True, ensure_ascii=False) for one in told
        )
        + "\n]"
        for name, told in found.items()
    )
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    sys.exit(main())
