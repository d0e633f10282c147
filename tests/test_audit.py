"""The findings of hack/audit in a bill of materials, and the bill's parts of wheels."""

import datetime as dt
import importlib
import json
import sys
import tomllib
from email.message import Message
from pathlib import Path

import audit
import provenance
import pytest
import release

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "deploy" / "image"))
bill = importlib.import_module("bill")

TODAY = dt.date(2027, 1, 1)
RULES = tomllib.loads(audit.RULES.read_text())


def component(name, purl, **more):
    licences = [{"expression": "MIT"}]
    return {"name": name, "purl": purl, "licenses": licences, **more}


LOCKED = next(one for one in sorted(audit.locked()) if one[0] == "attrs")
ATTRS = component("attrs", f"pkg:pypi/attrs@{LOCKED[1]}", version=LOCKED[1])
CURL = component(
    "curl",
    "pkg:generic/curl@8.1.0",
    version="8.1.0",
    externalReferences=[{"type": "vcs", "url": "https://github.com/curl/curl"}],
)
_, LIBC_VERSION = next(one for one in sorted(audit.locked()) if one[0] == "libc6")
GLIBC = component(
    "libc6",
    f"pkg:deb/debian/libc6@{LIBC_VERSION.replace('+', '%2B')}?arch=amd64",
    version=LIBC_VERSION,
    properties=[
        {"name": "asoreconcile:source", "value": "glibc"},
        {"name": "asoreconcile:source-version", "value": LIBC_VERSION},
    ],
)


class Osv:
    """OSV, with the vulnerabilities of each package by its name or purl."""

    def __init__(self, known=None, fixed=()):
        self.known, self.fixed, self.asked = known or {}, fixed, []

    def __call__(self, path, body):
        if body is None:
            id_ = path.rpartition("/")[2]
            events = [{"introduced": "0"}, *([{"fixed": "2"}] * (id_ in self.fixed))]
            package = {"ecosystem": "Debian:13"}
            return {"affected": [{"package": package, "ranges": [{"events": events}]}]}
        self.asked += body["queries"]
        packages = [one["package"] for one in body["queries"]]
        found = [self.known.get(p.get("purl") or p["name"], ()) for p in packages]
        return {"results": [{"vulns": [{"id": id_} for id_ in ids]} for ids in found]}


def findings(*components, exceptions=(), osv=None):
    rules = {"licences": ["MIT"], "exceptions": exceptions}
    given = {"components": components}
    return audit.findings(given, rules, ask=osv or Osv(), today=TODAY)


def test_packages_libraries_and_debian_are_looked_up():
    osv = Osv(
        {
            ATTRS["purl"]: ["PYSEC-1"],
            "https://github.com/curl/curl": ["CVE-1"],
            "glibc": ["DEBIAN-CVE-2", "DEBIAN-CVE-3"],
        },
        fixed=("DEBIAN-CVE-3",),
    )
    assert findings(ATTRS, CURL, GLIBC, osv=osv) == [
        "attrs: PYSEC-1: a known vulnerability",
        "curl: CVE-1: a known vulnerability",
        "libc6: DEBIAN-CVE-3: a known vulnerability",
    ]
    assert osv.asked[1:] == [
        {
            "package": {"name": "https://github.com/curl/curl", "ecosystem": "GIT"},
            "version": "8.1.0",
        },
        {
            "package": {"name": "glibc", "ecosystem": "Debian:13"},
            "version": LIBC_VERSION,
        },
    ]


@pytest.mark.parametrize(
    ("wrong", "finding"),
    [
        ({**CURL, "version": ""}, "curl: version: the version is not known"),
        ({**CURL, "licenses": []}, "curl: licence: it states no licence"),
        (
            {**CURL, "licenses": [{"license": {"id": "SSPL-1.0"}}]},
            "curl: SSPL-1.0: the licence is not in deploy/audit.toml",
        ),
        ({**ATTRS, "version": "0"}, "attrs: hash: no lock has version 0"),
        ({**GLIBC, "version": "1:2.0-1"}, "libc6: hash: no lock has version 1:2.0-1"),
    ],
)
def test_unknown_licences_versions_and_packages_are_findings(wrong, finding):
    assert findings(wrong) == [finding]


@pytest.mark.parametrize(
    ("until", "left"),
    [(TODAY, []), (dt.date(2026, 12, 31), ["its exception ended 2026-12-31"])],
)
def test_an_exception_counts_until_its_date(until, left):
    known = Osv({"https://github.com/curl/curl": ["CVE-1"]})
    given = {"component": "curl", "id": "CVE-1", "reason": "not used", "until": until}
    found = findings(CURL, exceptions=[given], osv=known)
    assert [line.rpartition(": ")[2] for line in found] == left


def test_an_exception_that_nothing_needs_is_a_finding():
    given = {"component": "curl", "id": "CVE-1", "reason": "x", "until": TODAY}
    assert findings(CURL, exceptions=[given]) == [
        "curl: CVE-1: the exception is not needed"
    ]


def test_each_kept_exception_has_a_reason_and_a_date():
    for one in RULES["exceptions"]:
        assert set(one) == {"component", "id", "reason", "until"}
        assert len(one["reason"]) > 20
        assert isinstance(one["until"], dt.date)


def test_what_is_inside_wheels_is_in_the_bill(tmp_path):
    """By the words of pycurl, by bills inside wheels, and by files."""
    libraries = tmp_path / "pycurl.libs"
    libraries.mkdir()
    for name in ("libcurl-1a.so.4", "libcrypto-2b.so.3", "libnew-3c.so.1"):
        (libraries / name).write_bytes(name.encode())
    brought = tmp_path / "orjson-3.0.dist-info" / "sboms" / "orjson.cdx.json"
    brought.parent.mkdir(parents=True)
    crate = {"name": "serde", "version": "1.0", "purl": "pkg:cargo/serde@1.0"}
    brought.write_text(json.dumps({"components": [crate]}))

    (serde,) = bill.stated_inside(tmp_path)
    assert serde["purl"] == crate["purl"]
    told = "PycURL/7.49.0 libcurl/8.23.0 OpenSSL/3.6.5 zlib/1.3"
    found = {one["name"]: one for one in bill.libraries_inside(tmp_path, told=told)}
    assert found["curl"]["purl"] == "pkg:generic/curl@8.23.0"
    assert found["openssl"]["version"] == "3.6.5"
    assert len(found["openssl"]["hashes"]) == 1
    # A new library is a finding of the audit: it has no version.
    assert audit.query_of(found["libnew-3c.so.1"]) is None


def test_each_library_inside_wheels_has_its_notice():
    notices = (ROOT / "deploy" / "image" / "NOTICES.md").read_text()
    for row in bill.LIBRARIES:
        assert f"| {row['name']} | {row['licence']} | Copyright" in notices
        assert row["licence"] in RULES["licences"]
        short = row["licence"].partition(" OR ")[0].removesuffix("-or-later")
        assert f"\n## {short}\n" in notices or f"{short} " in notices


def test_an_artifact_has_a_bill_and_a_provenance(tmp_path):
    wheel = tmp_path / "asoreconcile-0.1.0-py3-none-any.whl"
    wheel.write_bytes(b"wheel")
    stated = Message()
    stated["Name"], stated["Version"] = "asoreconcile", "0.1.0"
    stated["License-Expression"] = "MIT"
    stated["Requires-Dist"] = "pycurl>=7.45"
    stated["Requires-Dist"] = "google_re2>=1; extra == 'cel'"
    made = release.bill_of(wheel, stated)
    about = made["metadata"]["component"]
    digest = about["hashes"][0]["content"]
    assert about["purl"] == "pkg:pypi/asoreconcile@0.1.0"
    assert [(c["purl"], c["scope"]) for c in made["components"]] == [
        ("pkg:pypi/pycurl", "required"),
        ("pkg:pypi/google-re2", "optional"),
    ]
    statement = provenance.statement(
        [wheel], command="hack/release", locks=["pyproject.toml"], commit="c0ffee"
    )
    assert statement["subject"] == [{"name": wheel.name, "digest": {"sha256": digest}}]
    sources = statement["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert sources[0] == {"name": "sources", "digest": {"gitCommit": "c0ffee"}}
    assert [one["name"] for one in sources[1:]] == ["pyproject.toml"]
