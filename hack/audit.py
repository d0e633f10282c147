r"""Audit what the image contains: known vulnerabilities, licences and hashes.

    hack/audit            build the image, and audit its bill of materials
    hack/audit BILL...    audit these bills (CycloneDX)

Vulnerabilities are looked up at OSV (ASORECONCILE_OSV is another address of it): Python
packages, Debian's packages, and the libraries inside wheels. deploy/audit.toml has the
accepted findings, each with a reason and a date. Exits 1 for other findings, for
exceptions that are over or not needed, and 3 if the image cannot be built or OSV does
not answer. .ci/run does not call it, as its result changes without a commit.
"""

import argparse
import datetime as dt
import json
import os
import re
import subprocess
import sys
import tomllib
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RULES = ROOT / "deploy" / "audit.toml"
Component = dict[str, Any]
Ask = Callable[[str, Any], Any]
"""Returns OSV's answer to a path and a body; without a body it is a GET."""
_OSV = "https://api.osv.dev"
_DEBIAN = "Debian:13"
_AT_ONCE = 500


def findings(
    bill: dict[str, Any], rules: dict[str, Any], *, ask: Ask, today: dt.date
) -> list[str]:
    """Return the findings in the components of a bill, a line each."""
    found = [
        *vulnerable(bill["components"], ask),
        *ill_licensed(bill["components"], frozenset(rules["licences"])),
        *unlocked(bill["components"], locked()),
    ]
    excepted = {(one["component"], one["id"]): one for one in rules["exceptions"]}
    left = []
    for component, id_, text in found:
        exception = excepted.pop((component, id_), None)
        if exception is None:
            left.append(f"{component}: {id_}: {text}")
        elif exception["until"] < today:
            left.append(f"{component}: {id_}: its exception ended {exception['until']}")
    left += [f"{name}: {id_}: the exception is not needed" for name, id_ in excepted]
    return left


def vulnerable(components: list[Component], ask: Ask) -> Iterator[tuple[str, str, str]]:
    """Yield each vulnerability that OSV knows. One of Debian without a fix is left out:
    there is nothing to update to.
    """
    asked = []
    for one in components:
        query = query_of(one)
        if query is None:
            yield one["name"], "version", "the version is not known"
        else:
            asked.append((one["name"], query))
    for start in range(0, len(asked), _AT_ONCE):
        part = asked[start : start + _AT_ONCE]
        body = {"queries": [query for _, query in part]}
        answers = ask("/v1/querybatch", body)["results"]
        for (name, query), answer in zip(part, answers, strict=True):
            if answer.get("next_page_token"):
                yield name, "pages", "OSV knows more than one page of vulnerabilities"
            for one in answer.get("vulns") or ():
                is_debian = query["package"].get("ecosystem") == _DEBIAN
                if not is_debian or _has_fix(ask(f"/v1/vulns/{one['id']}", None)):
                    yield name, one["id"], "a known vulnerability"


def query_of(component: Component) -> dict[str, Any] | None:
    """Return OSV's query for a component; None if its version is not known."""
    purl = component.get("purl", "").partition("?")[0]
    version = component.get("version", "")
    if purl.startswith("pkg:deb/"):
        name = _property(component, "source")
        package = {"name": name, "ecosystem": _DEBIAN}
        return {"package": package, "version": _property(component, "source-version")}
    if not version:
        return None
    if purl.startswith("pkg:generic/"):
        references = component.get("externalReferences") or ()
        urls = [one["url"] for one in references if one["type"] == "vcs"]
        name = (
            urls or [f"https://github.com/{component['name']}/{component['name']}"]
        )[0]
        return {"package": {"name": name, "ecosystem": "GIT"}, "version": version}
    return {"package": {"purl": purl}}


def _has_fix(vulnerability: dict[str, Any]) -> bool:
    """Return whether Debian's release has a fixed version."""
    return any(
        "fixed" in event
        for affected in vulnerability.get("affected") or ()
        if affected.get("package", {}).get("ecosystem") == _DEBIAN
        for range_ in affected.get("ranges") or ()
        for event in range_.get("events") or ()
    )


def ill_licensed(
    components: Iterable[Component], allowed: frozenset[str]
) -> Iterator[tuple[str, str, str]]:
    """Yield each licence that is not allowed. Debian has judged those of its own."""
    for one in components:
        if one.get("purl", "").startswith("pkg:deb/"):
            continue
        stated = list(_licences(one))
        if not stated:
            yield one["name"], "licence", "it states no licence"
        for licence in stated:
            if licence not in allowed:
                yield one["name"], licence, "the licence is not in deploy/audit.toml"


def _licences(component: Component) -> Iterator[str]:
    for one in component.get("licenses") or ():
        named = one.get("license") or {}
        licence = one.get("expression") or named.get("id") or named.get("name") or ""
        # Some packages have the whole text where its name belongs.
        yield licence if len(licence) < 100 else "text"


def locked() -> frozenset[tuple[str, str]]:
    """Return the names and versions that the locks hold, each with a hash."""
    text = (ROOT / "deploy" / "requirements.txt").read_text()
    python = re.findall(
        r"^([a-z0-9.-]+)==([^ ]+)[^\n]*\\\n    --hash=sha256:[0-9a-f]{64}",
        text,
        re.MULTILINE,
    )
    debian = []
    for lock in (ROOT / "deploy" / "image").glob("debian-*.lock"):
        for line in lock.read_text().splitlines()[1:]:
            name, version, _ = line.rpartition("/")[2].split("_")
            debian.append((name, urllib.parse.unquote(version)))
    return frozenset([*python, *debian])


def unlocked(
    components: Iterable[Component], lock: frozenset[tuple[str, str]]
) -> Iterator[tuple[str, str, str]]:
    """Yield each package that no lock has with a hash."""
    for one in components:
        purl = one.get("purl", "")
        # Python's names are compared as indexes do; the name of a file has no epoch.
        name = re.sub(r"[-_.]+", "-", one["name"]).lower()
        if purl.startswith("pkg:deb/"):
            name = one["name"]
        elif not purl.startswith("pkg:pypi/"):
            continue
        version = one.get("version", "")
        if (name, version.rpartition(":")[2]) not in lock:
            yield one["name"], "hash", f"no lock has version {version}"


def _property(component: Component, name: str) -> str:
    found = {p["name"]: p["value"] for p in component.get("properties") or ()}
    return str(found.get(f"asoreconcile:{name}", ""))


def ask_osv(path: str, body: Any) -> Any:
    """Ask OSV. Raises OSError."""
    address = os.environ.get("ASORECONCILE_OSV", _OSV)
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(address + path, data, headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def image_bill() -> Path:
    """Build the image; return its bill. Exits as hack/image does if that fails."""
    done = subprocess.run(
        [ROOT / "hack" / "image"], stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        sys.exit(done.returncode)
    archive = Path(done.stdout.strip())
    return archive.with_name(archive.name.replace(".oci.tar", ".cdx.json"))


def main() -> None:
    """Read the arguments, and audit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bills", nargs="*", type=Path, metavar="BILL")
    given = parser.parse_args()
    rules = tomllib.loads(RULES.read_text())
    today = dt.datetime.now(dt.UTC).date()
    found: list[str] = []
    for bill in given.bills or [image_bill()]:
        try:
            read = json.loads(bill.read_text())
            found += findings(read, rules, ask=ask_osv, today=today)
        except OSError as error:
            print(f"hack/audit: no audit: {error}", file=sys.stderr)
            sys.exit(3)
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
