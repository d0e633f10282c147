"""The sandbox's table, fitted to its terminal."""

import re

import pytest

from asoreconcile.azure.cmd import status_view
from asoreconcile.azure.cmd.manifests import Row
from asoreconcile.azure.cmd.status_view import LiveTable, drawn, kind_titles
from asoreconcile.base.objects import ObjectKey

LONG = "StorageAccountsBlobServicesContainer"


def row(
    kind, name, *, ready="True", group="storage.azure.com", severity="", message=""
):
    return Row(
        kind=kind,
        group=group,
        resource=f"{kind.lower()}s.{group}",
        key=ObjectKey("default", name),
        status=ready,
        severity=severity,
        reason="Succeeded" if ready == "True" else "ReferenceNotFound",
        message=message,
        age_seconds=8.4,
        requests=12,
    )


def broken(name, message):
    return row(LONG, name, ready="False", severity="Warning", message=message)


def plain(rows, *, width=80, height=24, note=""):
    lines = drawn(rows, total_requests=88, note=note, width=width, height=height)
    return [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines]


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_kind_and_name_give_way_to_the_conditions(width):
    lines = plain([row(LONG, "a-rather-long-name-of-a-container")] * 3, width=width)
    assert all(len(line) <= width for line in lines)
    assert lines[1].split() == ["KIND", "NAME", "READY", "REASON", "AGE", "REQUESTS"]
    assert lines[2].split()[2:] == ["True", "Succeeded", "8s", "12"]
    assert ("…" in lines[2]) == (width < 115)


def test_what_is_not_ready_comes_first_then_the_order_of_kinds_counts():
    lines = plain([row("B", "y", ready="False"), row("A", "z"), row("B", "x")])
    assert [line.split()[:2] for line in lines[2:]] == [
        ["B", "y"],
        ["A", "z"],
        ["B", "x"],
    ]


def test_readiness_is_never_cut():
    rows = [broken("a-rather-long-name-of-a-container", "no way")] * 30
    lines = plain(rows, width=42)
    assert all(len(line) <= 42 and "False" in line for line in lines[2:-1:2])


def test_what_is_not_ready_comes_first_where_not_all_fits():
    rows = [row(LONG, f"c{number:02}") for number in range(40)]
    rows.append(broken("last", "owner BlobService 'x' is missing"))
    lines = plain(rows, height=10)
    assert len(lines) <= 10
    assert lines[0] == "40 of 41 Ready, 88 ARM requests"
    assert "last" in lines[2]
    assert lines[3].strip() == "owner BlobService 'x' is missing"
    assert lines[-1] == "and 35 more, 0 of them not Ready"


def test_messages_are_shown_where_there_is_space():
    rows = [row(LONG, "fine"), broken("one", "no\nway")]
    assert "  no way" in plain(rows)
    assert "  no way" not in plain([*rows, row(LONG, "two")], height=5)


def test_a_kind_of_two_groups_is_shown_with_its_group():
    rows = [
        row("FlexibleServer", "a", group="dbformysql.azure.com"),
        row("FlexibleServer", "b", group="dbforpostgresql.azure.com"),
        row("Redis", "c", group="cache.azure.com"),
    ]
    assert sorted(kind_titles(rows).values()) == [
        "FlexibleServer.dbformysql",
        "FlexibleServer.dbforpostgresql",
        "Redis",
    ]


@pytest.mark.parametrize("height", range(1, 12))
def test_the_table_is_never_higher_than_the_terminal(height):
    rows = [broken(f"b{n}", "why") for n in range(5)] + [row("A", "x")] * 3
    assert len(plain(rows, height=height)) <= max(height, 3)


def test_a_note_stands_beside_the_counts():
    assert plain([], note="all 290 kinds are served")[0] == (
        "0 of 0 Ready, 88 ARM requests; all 290 kinds are served"
    )


def test_what_to_copy_stays_in_sight(monkeypatch):
    """Below the table, however many objects there are."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    written = []
    monkeypatch.setattr(status_view, "write", written.append)
    command = "export KUBECONFIG=/tmp/asoreconcile-8n5cmbbz/kubeconfig"
    for count in (1, 60):
        rows = [row(LONG, f"n{number}") for number in range(count)]
        LiveTable([command]).show(rows, total_requests=1, note="")
        lines = written.pop().rstrip("\n").split("\n")
        assert lines[-1] == f"{command}  # Ctrl-C ends the sandbox"
        assert len(lines) <= 23
