"""`asoctl render` of kinds without ARM: statements, and never a secret."""

import pytest
from click.testing import CliRunner

from asoreconcile.azure.cmd.render import render

MANIFESTS = """
apiVersion: v1
kind: Secret
metadata: {{name: passwords}}
stringData: {{admin: hunter2-admin, user: hunter2-user}}
---
apiVersion: {group}/v1
kind: User
metadata: {{name: app}}
spec:
  owner: {{name: shop}}
  localUser:
    serverAdminUsername: dbadmin
    serverAdminPassword: {{name: passwords, key: admin}}
    password: {{name: passwords, key: {key}}}
  {more}
"""


def rendered(tmp_path, group, more="{}", key="user", *options):
    path = tmp_path / "user.yaml"
    path.write_text(MANIFESTS.format(group=group, more=more, key=key))
    return CliRunner().invoke(render, ["-f", str(path), *options])


@pytest.mark.parametrize(
    ("group", "more", "expected"),
    [
        (
            "dbforpostgresql.azure.com",
            "roles: [pg_monitor]",
            ["""CREATE ROLE "app" WITH LOGIN PASSWORD '***\'""", 'GRANT "pg_monitor"'],
        ),
        (
            "dbformysql.azure.com",
            "databasePrivileges: {shop: [select]}",
            ["CREATE USER 'app'@'%' IDENTIFIED BY '***'", "GRANT SELECT ON `shop`.*"],
        ),
        (
            "sql.azure.com",
            "roles: [db_datareader]",
            ["CREATE USER [app] WITH PASSWORD = '***'", "ALTER ROLE [db_datareader]"],
        ),
    ],
)
@pytest.mark.parametrize("options", [(), ("--show-secrets",)])
def test_a_user_is_rendered_as_statements_without_secrets(
    tmp_path, group, more, expected, options
):
    result = rendered(tmp_path, group, more, "user", *options, "-o", "json")
    assert result.exit_code == 0, result.output
    text = result.output.replace('\\"', '"')
    for part in expected:
        assert part in text
    assert "hunter2" not in result.output


def test_what_is_wrong_with_a_user_is_said_with_file_and_line(tmp_path):
    wrong = "privileges: [SELECT; DROP]"
    result = rendered(tmp_path, "dbformysql.azure.com", wrong)
    assert result.exit_code == 1
    assert "user.yaml" in result.output
    assert "is no privilege" in result.output


def test_a_password_that_is_not_there_is_said(tmp_path):
    result = rendered(tmp_path, "sql.azure.com", "roles: []", "usr")
    assert result.exit_code == 1
    assert "spec.localUser.password" in result.output
    assert "has no key 'usr'" in result.output
