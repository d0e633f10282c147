"""Kubeconfigs mean what clientcmd takes them to mean, or are refused.

`clientcmd/main.go` reads generated kubeconfigs with Kubernetes' own loader.
`hack/go-program clientcmd` builds it; the test is skipped if it is not there.
"""

import base64
import json
import os
import random
import re
import subprocess
from pathlib import Path
from urllib.parse import unquote, urlsplit

import attrs
import goprograms
import pytest
import yaml

from asoreconcile.kube.cluster import KubeConfigError
from asoreconcile.kube.config import load
from asoreconcile.testing.throwaway_certificates import certificate_authority

CASES = int(os.environ.get("ASORECONCILE_CONTRACT_KUBECONFIGS", "300"))
SEED = os.environ.get("ASORECONCILE_CONTRACT_SEED", "600")
EXEC = "client.authentication.k8s.io/v1"
# Go's clients would find out about these at their first request.
STRICTER = re.compile(
    r": (server: expected https://HOST"
    r"|proxy-url: it names no host|exec: apiVersion is none"
    r"|(token|as|as-uid|as-groups|as-user-extra): it must be ASCII)"
)
NAMED = re.compile(
    r"config\d: (cluster|user|context) \w+: [a-z]|config\d: \w|directory"
    r"|no such file|no current-context|there is no context"
)
SCALARS = (
    *("false", "true", "no", "yes", "y", "Off", "tRUE", "'false'", "'no'", '"true"'),
    *("0", "1", "010", "0x1F", "1_0", "1.5", ".inf", "1:30", "2024-01-01", "0o7"),
    *("''", "~", "null", "[]", "{}", "[a]", "{a: b}", "text", "'1'", "<<", "-"),
)
"""YAML of values that a member may not be expected to have."""


def pem_pair():
    authority = certificate_authority()
    return authority.pem, *authority.issue(["me"], client=True)


@attrs.define
class Case:
    """Some files in a folder of their own, changed at a few places."""

    folder: Path
    rng: random.Random
    authority: bytes
    certificate: bytes
    key: bytes

    def paths(self):
        """Write the files, and return a value of KUBECONFIG."""
        self.folder.mkdir()
        (self.folder / "ca.crt").write_bytes(self.authority)
        (self.folder / "own.crt").write_bytes(self.certificate)
        (self.folder / "own.key").write_bytes(self.key)
        (self.folder / "token").write_text("from-file\n")
        (self.folder / "empty").write_text("")
        self.program()
        documents = [
            self.document() for _ in range(self.rng.choice((1, 1, 1, 1, 2, 3)))
        ]
        files = []
        for at, document in enumerate(documents):
            path = self.folder / f"config{at}"
            tail = self.rng.choice((*[""] * 30, "---\nkind: List\n", "~: 1\n"))
            path.write_text(self.mutated(document) + tail)
            files.append(str(path))
        for extra in ("empty", "comment", "missing", "directory"):
            if self.rng.random() < 0.03:
                files.insert(self.rng.randrange(len(files) + 1), str(self.odd(extra)))
        return ":".join(files)

    def odd(self, name):
        path = self.folder / name
        if name == "comment":
            path.write_text("# nothing\n")
        elif name == "directory":
            path.mkdir()
        return path

    def program(self):
        status = {"token": "from-plugin"}
        printed = {"kind": "ExecCredential", "apiVersion": EXEC, "status": status}
        path = self.folder / "plugin"
        text = json.dumps(printed).replace("plugin", "plugin-$1-$WHO")
        path.write_text(f"#!/bin/sh\ncat <<END\n{text}\nEND\n")
        path.chmod(0o700)

    def mostly(self, usual, *others):
        return usual if self.rng.random() < 0.95 else self.rng.choice(others)

    def some(self, **members):
        """A few of the members."""
        return {
            name.replace("_", "-"): self.rng.choice(values)
            for name, values in members.items()
            if self.rng.random() < 0.25
        }

    def cluster(self):
        b64 = base64.b64encode(self.authority).decode()
        servers = (
            *("https://a.example:6443", "https://a.example", "https://A.example/x/y/"),
            *("https://10.0.0.1:443", "https://[::1]:6443", "http://a.example:8080"),
            *("HTTPS://a.example", "https://a.example/?q=1#f", "https://a.example/%41"),
        )
        odd = (
            *(
                "a.example:6443",
                "localhost",
                "ftp://a.example",
                "https://",
                "https:///x",
            ),
            *("https://a b", "https://a.example:port", "https://a.example/%zz", "//a"),
        )
        server = self.rng.choice(odd if self.rng.random() < 0.06 else servers)
        trust = self.rng.choice(
            (
                *(
                    {"certificate-authority-data": b64},
                    {"certificate-authority": "ca.crt"},
                ),
                *(
                    {"insecure-skip-tls-verify": True},
                    {"insecure-skip-tls-verify": False},
                ),
                *({}, {"certificate-authority-data": f"{b64[:60]}\n{b64[60:]}\n"}),
            )
        )
        others = self.some(
            tls_server_name=("other.example", ""),
            proxy_url=(
                "http://q",
                "https://q:1",
                "socks5://q",
                "http://p:3128",
                "https://p",
                "socks5://p:1080",
                "socks5h://p:1080",
                "",
                "p:1",
                "ftp://p",
            ),
            disable_compression=(True, False),
            insecure_skip_tls_verify=(False,),
            extensions=([{"name": "a", "extension": {"b": 1}}], []),
        )
        return {"server": server, **trust, **others}

    def user(self):
        b64 = {
            "client-certificate-data": base64.b64encode(self.certificate).decode(),
            "client-key-data": base64.b64encode(self.key).decode(),
        }
        plugin = {
            "apiVersion": self.rng.choice(
                (EXEC, EXEC, f"{EXEC}beta1", f"{EXEC}alpha1")
            ),
            "command": "./plugin",
            "interactiveMode": self.mostly("Never", "IfAvailable", "", "Some"),
            "args": ["one"],
            "env": [{"name": "WHO", "value": "me"}],
            "provideClusterInfo": self.rng.random() < 0.5,
        }
        basic = {"username": "u", "password": self.rng.choice(("p:w", "", "é"))}
        files = {"client-certificate": "own.crt", "client-key": "own.key"}
        ways = (
            *({"token": "abc"}, {"token": "abc", "tokenFile": "missing"}),
            *({"token": "abc", "tokenFile": "token"}, {"tokenFile": "token"}),
            *({"tokenFile": "missing"}, basic, {"username": "u"}, {"password": "p"}),
            *(b64, files, {"client-certificate": "own.crt"}, {"exec": plugin}, {}),
            *({"exec": {**plugin, "interactiveMode": "Never", "apiVersion": EXEC}},),
        )
        way = {**self.rng.choice(ways)}
        if self.rng.random() < 0.1:
            way |= self.rng.choice(ways)
        if self.rng.random() < 0.2:
            way["as"] = self.rng.choice(("jane", "", "zoë"))
        others = self.some(
            as_uid=("42", ""),
            as_groups=(["a", "b"], []),
            as_user_extra=({"example.com/Scope": ["dev", "x"]}, {}),
        )
        return {**way, **(others if way.get("as") or self.rng.random() < 0.02 else {})}

    def document(self):
        names = ("one", "two")
        pick = self.rng.choice
        context = {
            "cluster": pick(names),
            "user": pick(names),
            "namespace": pick(("apps", "", "default", "apps", "Apps", "a.b", "x" * 64)),
        }
        document = {
            "apiVersion": self.mostly("v1", "", "v2"),
            "kind": self.mostly("Config", "", "List"),
            "current-context": self.mostly("main", "", "other"),
            "contexts": [{"name": "main", "context": context}],
            "clusters": [{"name": n, "cluster": self.cluster()} for n in names],
            "users": [{"name": n, "user": self.user()} for n in names],
            "preferences": {"colors": True},
        }
        for name in list(document):
            if self.rng.random() < 0.01:
                del document[name]
            elif isinstance(document[name], list) and self.rng.random() < 0.01:
                document[name].append(pick(document[name]))
        return document

    def mutated(self, document):
        """The document as YAML, a few of its members replaced by odd values."""
        marks = {}
        for at in range(self.rng.choice((0, 0, 0, 1, 2))):
            mark = f"odd-value-{at}"
            marks[mark] = self.rng.choice(SCALARS)
            # Most changes are to members that decide about trust and credentials.
            part = self.rng.choice(("clusters", "users", "contexts", ""))
            place = document.get(part) or document
            for _ in range(self.rng.randrange(1, 6)):
                keys = list(place) if isinstance(place, dict) else range(len(place))
                key = self.rng.choice(list(keys)) if keys else None
                if key is None or not isinstance(place[key], dict | list):
                    break
                place = place[key]
            if isinstance(place, dict):
                key = self.rng.choice(list(place) or ["extra"])
                place[key] = mark
        text = yaml.safe_dump(document, sort_keys=False)
        for mark, scalar in marks.items():
            text = text.replace(mark, scalar)
        return text


def ours(paths):
    """Return the conduct of a client of the configuration, in the program's form."""
    config = load(paths)
    trust = config.trust() if config.trust else None
    headers = [*config.impersonation]
    if header := config.authorization():
        headers.append(("Authorization", header))
    return {
        "url": normal(config.url),
        "namespace": config.namespace,
        "headers": sorted((unquote(name).lower(), text) for name, text in headers),
        "insecure": bool(trust and not trust.verify),
        "server_name": (config.server_name or "") if trust else "",
        "authority": authority(trust),
        "certificate": trust.pair[0].decode() if trust and trust.pair else "",
        "proxy": config.proxy_url,
    }


def authority(trust):
    given = trust.authorities if trust else b""
    return given.decode() if isinstance(given, bytes) else ""


def theirs(found):
    headers = [
        (unquote(name).lower(), text)
        for name, texts in (found.pop("headers") or {}).items()
        for text in texts
    ]
    found.pop("error", None)
    return {**found, "url": normal(found["url"]), "headers": sorted(headers)}


def normal(url):
    parts = urlsplit(url)
    return parts.scheme, parts.netloc, parts.path


@pytest.mark.timeout(600)
def test_cl7_kubeconfigs_mean_what_kubectl_takes_them_to_mean(tmp_path, monkeypatch):
    """The same result, or a refusal that names the file, and the entry with its member;
    kubeconfigs that kubectl refuses are refused.
    """
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    pem = pem_pair()
    rng = random.Random(SEED)
    cases = [Case(tmp_path / f"{at}", rng, *pem).paths() for at in range(CASES)]
    ran = subprocess.run(
        [goprograms.built("clientcmd")],
        input="\n".join(cases),
        capture_output=True,
        text=True,
        check=True,
    )
    answers = ran.stdout.splitlines()
    judged = [judge(*one) for one in zip(cases, map(json.loads, answers), strict=True)]
    assert not [one for one in judged if one.startswith("wrong")]
    assert judged.count("same") > CASES / 5
    assert judged.count("both refuse") > CASES / 4
    assert judged.count("stricter") < CASES / 10


def judge(paths, expected):
    """One case in a word; "wrong" and why."""
    is_refused = "error" in expected
    try:
        found = ours(paths)
    except KubeConfigError as error:
        if is_refused:
            return "both refuse" if NAMED.search(str(error)) else f"wrong: {error}"
        return "stricter" if STRICTER.search(str(error)) else f"wrong: {error}"
    if is_refused:
        return f"wrong: {paths} has {expected['error']}"
    wanted = theirs(expected)
    return "same" if found == wanted else f"wrong: {paths}: {found} != {wanted}"
