"""Kubernetes' own functions in rules: lists, patterns, quantities, addresses, URLs,
versions and formats.
"""

import re

import pytest
from contractclient import CRDS, crd

INTS = {"type": "array", "items": {"type": "integer"}, "maxItems": 9}
TEXT = {"type": "string", "maxLength": 40}
TEXTS = {"type": "array", "items": TEXT, "maxItems": 9}
FIELDS = {"n": INTS, "t": TEXTS, "s": TEXT, "q": TEXT, "i": {"type": "integer"}}
GIVEN = {"n": [1, 2, 2, 5], "t": ["a", "b"], "s": "a12b3", "q": "1.5Gi", "i": 3}
HOLD = [
    "self.n.isSorted()",
    "self.t.isSorted()",
    "[duration('1s'), duration('1h')].isSorted()",
    "self.n.filter(x, x > 9).isSorted()",
    "self.n.sum() == 10",
    "self.n.filter(x, x > 9).sum() == 0",
    "[1.5, 2.0].sum() == 3.5",
    "[duration('1h'), duration('1m')].sum() == duration('61m')",
    "self.n.min() == 1 && self.n.max() == 5",
    "self.t.max() == 'b'",
    "self.n.indexOf(2) == 1",
    "self.n.lastIndexOf(2) == 2",
    "self.n.indexOf(9) == -1 && self.n.lastIndexOf(9) == -1",
    "self.t.indexOf('b') == 1",
    "self.s.indexOf('1') == 1",
    "self.s.find('[0-9]+') == '12'",
    "self.s.find('x') == ''",
    "self.s.findAll('[0-9]+') == ['12', '3']",
    "self.s.findAll('[0-9]', 2) == ['1', '2']",
    "self.s.findAll('[0-9]', 0) == []",
    "self.s.findAll('[0-9]', -1).size() == 3",
    "'aab'.findAll('a*') == ['aa', '']",
    "'a\\n'.find('a$') == ''",
    "'\u0661'.find('\\\\d') == ''",
    "'xAb'.find('(?i)ab') == 'Ab'",
    "'ab'.find('^(?P<x>a)b$') == 'ab'",
    "isQuantity(self.q) && !isQuantity(self.s)",
    "!isQuantity('') && !isQuantity('1 Gi') && !isQuantity('1KB')",
    "isQuantity('1e3') && isQuantity('.5') && isQuantity('+1.') && isQuantity('1E')",
    "quantity(self.q) == quantity('1536Mi')",
    "!(quantity('1k') == quantity('1Ki'))",
    "quantity('1k').compareTo(quantity('1Ki')) == -1",
    "quantity('2').isGreaterThan(quantity('1999m'))",
    "quantity('100m').isLessThan(quantity('0.2'))",
    "sign(quantity('-1')) == -1 && sign(quantity('0')) == 0",
    "quantity('1').add(quantity('500m')) == quantity('1500m')",
    "quantity('1').sub(2) == quantity('-1')",
    "quantity('1').add(self.i).asInteger() == 4",
    "quantity('2k').isInteger() && !quantity('1m').isInteger()",
    "quantity('1500m').asApproximateFloat() == 1.5",
    "isIP('::1') && !isIP('01.2.3.4') && !isIP('::ffff:1.2.3.4') && !isIP('fe80::1%0')",
    "ip('1.2.3.4').family() == 4 && ip('::1').family() == 6 && ip('::1').isLoopback()",
    "ip('0:0::1') == ip('::1') && string(ip('0:0::1')) == '::1'",
    "ip.isCanonical('::1') && !ip.isCanonical('0:0::1')",
    "ip('10.0.0.1').isGlobalUnicast() && ip('169.254.1.1').isLinkLocalUnicast()",
    "cidr('10.0.0.0/8').containsIP('10.1.2.3') && !isCIDR('10.0.0.0/33')",
    "cidr('10.0.0.0/8').containsCIDR(cidr('10.1.0.0/16'))",
    "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')",
    "cidr('10.1.2.3/8').ip() == ip('10.1.2.3') && cidr('::/7').prefixLength() == 7",
    "isURL('/a') && !isURL('../a') && !isURL('a b')",
    "url('https://u@a.example:80/x%20y?k=v&k=w').getHost() == 'a.example:80'",
    "url('https://[::1]:80/x').getHostname() == '::1'",
    "url('https://a:80/x%20y').getEscapedPath() == '/x%20y'",
    "url('https://a:80').getPort() == '80' && url('http://a').getScheme() == 'http'",
    "url('https://a/?k=v&k=w').getQuery()['k'] == ['v', 'w']",
    "isSemver('1.2.3-rc.1+b') && !isSemver('1.2') && !isSemver('01.2.3')",
    "isSemver('v1.2', true) && semver('v1.2', true).minor() == 2",
    "semver('1.2.3').isLessThan(semver('1.10.0-rc.1'))",
    "semver('1.0.0-rc.2').compareTo(semver('1.0.0-rc.10')) == -1",
    "!format.dns1123Label().validate('a-b').hasValue()",
    "format.dns1123Label().validate('A').hasValue()",
    "format.named('uuid').hasValue() && !format.named('x').hasValue()",
    "!format.qualifiedName().validate('example.com/Name_1').hasValue()",
    "format.date().validate('2026-13-01').hasValue()",
]
FAIL = [
    "[3, 1].isSorted()",
    "self.t.lastIndexOf('a') == 1",
    "self.n.filter(x, x > 9).min() == 0",
    "self.n.filter(x, x > 9).max() == 0",
    "self.s.find('[0-9]+') == '1'",
    "quantity(self.s) == quantity('1')",
    "quantity('1.5').asInteger() == 1",
    "quantity('1').isGreaterThan(quantity('1000m'))",
]
REFUSED = [
    "self.n.isSorted(1)",
    "'a'.sum() == 1",
    "self.s.find('(') == ''",
    "self.s.find('(?=a)') == ''",
    "self.s.findAll('a', 'b') == []",
    "isQuantity(1)",
    "quantity('1').bigger(quantity('2'))",
]


def manifest(server, rules):
    spec = {"type": "object", "properties": FIELDS}
    spec["x-kubernetes-validations"] = [{"rule": text} for text in rules]
    schema = {"type": "object", "properties": {"spec": spec}}
    return crd("functioneds", "Functioned", schema)


@pytest.fixture
def answer(server, namespace):
    """A server's answer to an object whose rules are all of HOLD and FAIL."""
    made = manifest(server, [*HOLD, *FAIL])
    server.install(made)
    path = f"/apis/{made['spec']['group']}/v1/namespaces/{namespace}/functioneds"
    obj = {
        "apiVersion": f"{made['spec']['group']}/v1",
        "kind": "Functioned",
        "metadata": {"name": "a"},
        "spec": GIVEN,
    }
    yield server.post(path, obj)
    server.delete(f"{CRDS}/{made['metadata']['name']}")


def test_each_function_gives_what_it_gives_there(answer):
    """All rules at once: a CRD takes its time on a real server."""
    answer.refused(422, "Invalid")
    told = [cause["message"] for cause in answer.causes]
    broken = [text for text in HOLD if any(m.endswith(f": {text}") for m in told)]
    assert broken == []
    unbroken = [t for t in FAIL if not any(m.endswith(f": {t}") for m in told)]
    assert unbroken == []
    assert len(told) == len(FAIL)


@pytest.mark.parametrize("text", REFUSED)
def test_a_function_that_there_is_not_keeps_its_crd_out(server, text):
    found = server.post(CRDS, manifest(server, [text]), dryRun="All")
    found.refused(422, "Invalid")
    assert any(
        cause["field"].endswith("x-kubernetes-validations[0].rule")
        and re.search("compilation failed|instantiation failed", cause["message"])
        for cause in found.causes
    )
