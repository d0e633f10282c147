"""What `asoctl render` prints for groups of Entra."""

import pytest
from click.testing import CliRunner

from asoreconcile.azure.cmd.asoctl import main
from asoreconcile.base import jsontext

GROUP = """
apiVersion: entra.azure.com/v1
kind: SecurityGroup
metadata: {{name: team}}
spec:
  displayName: Shop's team
  mailNickname: shop
  {more}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: ids}}
data: {{app: 11111111-2222-3333-4444-555555555555}}
"""


@pytest.fixture
def rendered(tmp_path):
    def rendered(more=""):
        file = tmp_path / "group.yaml"
        file.write_text(GROUP.format(more=more))
        return CliRunner().invoke(main, ["render", "-f", str(file), "-o", "json"])

    return rendered


def test_the_request_to_graph_is_shown(rendered):
    members = "members: [{objectIDFromConfig: {name: ids, key: app}}]"
    shown = jsontext.loads(rendered(members).output.encode())
    assert shown["service"] == "Microsoft Graph"
    assert shown["method"] == "PATCH"
    assert shown["path"].startswith("/v1.0/groups(uniqueName='asoreconcile-")
    assert shown["body"]["mailNickname"] == "shop"
    (member,) = shown["body"]["members@odata.bind"]
    assert member == "directoryObjects/11111111-2222-3333-4444-555555555555"
    assert "displayName eq 'Shop''s team'" in shown["adopts"]


def test_one_that_adopts_nothing_says_so_by_silence(rendered):
    mode = "operatorSpec: {creationMode: AlwaysCreate}"
    assert "adopts" not in jsontext.loads(rendered(mode).output.encode())


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("displayname: x", "displayName"),
        ("members: [{objectID: nobody}]", "spec.members[0]"),
        ("members: [{objectIDFromConfig: {name: ids, key: ap}}]", "did you mean app"),
    ],
)
def test_mistakes_are_told_with_their_line(rendered, more, told):
    done = rendered(more)
    assert done.exit_code == 1
    assert "group.yaml:" in done.stderr
    assert told in done.stderr
