"""The commands of `import.md` and the manifest for krew, as far as they can be tried."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from asoreconcile.azure.arm.ids import parse_stated
from asoreconcile.base.version import __version__

DEPLOY = Path(__file__).parents[2] / "deploy"
GROUP = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/shop"
NETWORK = f"{GROUP}/providers/Microsoft.Network/virtualNetworks/net"
ACCOUNT = f"{GROUP}/providers/Microsoft.Storage/storageAccounts/files"
# As `terraform show -json` writes its state.
STATE = {
    "format_version": "1.0",
    "values": {
        "root_module": {
            "resources": [
                {"type": "azurerm_resource_group", "values": {"id": GROUP}},
                {"type": "random_id", "values": {"id": "AbC"}},
                {"type": "null_resource", "values": {"id": None}},
                {"type": "terraform_data", "values": {}},
            ],
            "child_modules": [
                {
                    "resources": [{"values": {"id": NETWORK}}],
                    "child_modules": [{"resources": [{"values": {"id": ACCOUNT}}]}],
                },
                {"address": "module.empty"},
            ],
        }
    },
}


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not there")
def test_the_ids_of_terraform_s_state_are_found_by_the_line_on_the_page():
    page = (DEPLOY / "docs" / "import.md").read_text()
    (program,) = re.findall(r"terraform show -json \| jq -r '\n(.*?)'", page, re.DOTALL)
    done = subprocess.run(
        ["jq", "-r", program],
        input=json.dumps(STATE),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = done.stdout.split()
    assert sorted(found) == sorted([GROUP, NETWORK, ACCOUNT])
    assert all(parse_stated(one).name for one in found)


def test_krew_s_manifest_says_what_krew_needs():
    plugin = yaml.safe_load((DEPLOY / "krew.yaml").read_text())
    assert plugin["kind"] == "Plugin"
    # krew asks for `kubectl-NAME`, and for versions with a v.
    assert plugin["metadata"]["name"] == "aso"
    spec = plugin["spec"]
    assert spec["version"] == f"v{__version__}"
    assert len(spec["shortDescription"]) <= 50
    (platform,) = spec["platforms"]
    assert platform["bin"] == "kubectl-aso"
    assert platform["selector"]["matchLabels"].keys() == {"os", "arch"}
    filled = (DEPLOY.parent / "hack" / "krew").read_text()
    for place in ("ARCHIVE_URL", "ARCHIVE_SHA256", "PYTHON", "HOMEPAGE"):
        assert place in str(spec)
        assert f"|{place}|" in filled
