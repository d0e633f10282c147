"""Health as `kubectl get --raw '/readyz?verbose'` shows it."""

import re

import pytest

KNOWN = ("ping", "log", "etcd", "poststarthook/rbac/bootstrap-roles")
each = pytest.mark.parametrize("root", ["healthz", "livez", "readyz"])


@each
def test_a_verbose_answer_lists_checks(server, root):
    text = server.get(f"/{root}", verbose="").expect(200).text
    *lines, last = text.removesuffix("\n").split("\n")
    assert last == f"{root} check passed"
    assert all(re.fullmatch(r"\[\+\][a-z0-9/-]+ ok", line) for line in lines)
    assert {f"[+]{name} ok" for name in KNOWN} <= set(lines)
    only_ready = {"[+]etcd-readiness ok", "[+]informer-sync ok", "[+]shutdown ok"}
    assert only_ready.isdisjoint(lines) is (root != "readyz")


@each
def test_a_check_can_be_left_out(server, root):
    text = server.get(f"/{root}?verbose&exclude=etcd&exclude=no").expect(200).text
    lines = text.splitlines()
    assert "[+]etcd excluded: ok" in lines
    assert "[+]ping ok" in lines
    assert lines[-2:] == [
        'warn: some health checks cannot be excluded: no matches for "no"',
        f"{root} check passed",
    ]
    assert server.get(f"/{root}", exclude="etcd").expect(200).text == "ok"


@each
def test_each_check_has_a_path(server, root):
    for name in KNOWN:
        assert server.get(f"/{root}/{name}").expect(200).text == "ok"
    assert server.get(f"/{root}/no").expect(404).text == "404 page not found\n"
