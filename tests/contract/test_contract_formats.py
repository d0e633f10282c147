"""Formats in a CRD's schema: which values a server takes, and how it refuses others."""

import json

import pytest
from contractclient import Server

GROUP = "formats.example.com"
UUID = "123e4567-e89b-{}2d3-{}456-426614174000"
TAKEN = {
    "ipv4": ["1.2.3.4", "01.2.3.4"],
    "ipv6": ["::1", "::ffff:1.2.3.4"],
    "cidr": ["10.0.0.0/8", "10.0.0.1/8", "::/0"],
    "mac": ["00:00:5e:00:53:01", "00-00-5e-00-53-01", "0000.5e00.5301"],
    "uri": ["http://a.b/c", "/a", "a:b", "mailto:x@y"],
    "email": ["a@b.c", "a@b", "Name <a@b.c>"],
    "hostname": ["localhost", "example.com", "\u00e9.com"],
    "uuid": [
        UUID.format(1, "a"),
        "123e4567e89b12d3a456426614174000",
        UUID.format(1, "A"),
    ],
    "uuid3": [UUID.format(3, "a")],
    "uuid4": [UUID.format(4, "a")],
    "uuid5": [UUID.format(5, "a")],
    "byte": ["YQ==", "YWI=", "YR=="],
    "date": ["2024-02-29"],
    "date-time": [
        "2024-01-01T00:00:00Z",
        "2024-01-01t00:00:00z",
        "2024-01-01T00:00:00.1234567891234Z",
        "2024-01-01T00:00:00,5Z",
        "2024-01-01T00:00:00+01:00",
    ],
    "duration": ["1h", "1h30m", "1.5h", "-1h", "0", "5us", "P1D", "PT1H"],
    "isbn": ["0321751043", "978-0321751041"],
    "isbn10": ["0321751043"],
    "isbn13": ["978-0321751041"],
    "creditcard": ["4111 1111 1111 1111", "4111-1111-1111-1111"],
    "ssn": ["111-11-1111", "111 11 1111"],
    "hexcolor": ["#fff", "#ffffff", "fff"],
    "rgbcolor": ["rgb(1,2,3)", "rgb(100,100,100)"],
    "bsonobjectid": ["507f1f77bcf86cd799439011"],
    "password": ["x", ""],
    "ip": ["x"],
    "unknown": ["x"],
    "UUID": ["x"],
    "Date-Time": ["x"],
}
LONG_WINDED = [
    "1 day",
    "3 days",
    "2 weeks",
    "1w",
    "1 hour",
    "1 ms",
    "1h 30m",
    "5 minutes",
]
TAKEN["duration"] += [*LONG_WINDED, "100 nanoseconds", "1 \u00b5s"]
REFUSED = {
    "ipv4": ["1.2.3", "::1", "1.2.3.4/8", ""],
    "ipv6": ["1.2.3.4", "fe80::1%eth0", "x", "::1/64"],
    "cidr": ["10.0.0.0", "x", "10.0.0.0/33"],
    "mac": ["x", "00:00"],
    "uri": ["a/b", "http://[::1", "x", "http://a b", ""],
    "email": ["a", "a@@b", "a.@b.c", ".a@b.c", "@b"],
    "hostname": ["a.b", "-a.b", "a_b", "A.b", "a" * 64, "a..b", "a.b.", "", "1.2.3.4"],
    "uuid": ["x", "{123e4567-e89b-12d3-a456-426614174000}"],
    "uuid3": [UUID.format(1, "a")],
    "uuid4": [UUID.format(1, "a"), UUID.format(4, "c")],
    "uuid5": [UUID.format(1, "a")],
    "byte": ["YQ", "Y", "a-b_", "!!", "", "YQ==\n"],
    "date": ["2023-02-29", "2024-1-1", "x", "2024-01-01T00:00:00Z"],
    "date-time": [
        "2024-01-01 00:00:00Z",
        "2024-01-01T00:00:00",
        "2024-01-01",
        "2024-13-01T00:00:00Z",
        "2023-02-29T00:00:00Z",
        "2024-01-01T24:00:00Z",
        "2024-01-01T23:59:60Z",
        "2024-01-01T00:00Z",
        "2024-01-01T00:00:00+0100",
        "x",
        "",
    ],
    "duration": ["1", "x", ""],
    "isbn": ["x"],
    "isbn10": ["x"],
    "isbn13": ["x"],
    "creditcard": ["x"],
    "ssn": ["x", "111111111"],
    "hexcolor": ["#ggg", "x"],
    "rgbcolor": ["rgb(256,1,1)", "x"],
    "bsonobjectid": ["x"],
}
NUMBERS = {
    "int32": ("integer", [2**31 - 1, -(2**31)], [2**31, -(2**31) - 1]),
    "float": ("number", [1.5], [1e39]),
    "double": ("number", [1e308], []),
    "date": ("integer", [5], []),
}


def field(name: str) -> str:
    return "f" + name.replace("-", "").swapcase()


@pytest.fixture
def refusals(server: Server, namespace: str):
    """Return the causes for which the server refuses a field's value; none if it
    accepts it.
    """
    fields = {field(name): {"type": "string", "format": name} for name in TAKEN}
    for name, (sort, _, _) in NUMBERS.items():
        fields["n" + field(name)] = {"type": sort, "format": name}
    spec = {"type": "object", "properties": fields}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
    }
    names = {"kind": "Formatted", "plural": "formatted"}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"formatted.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": names,
            "scope": "Namespaced",
            "versions": [version],
        },
    }
    server.install(crd)

    def ask(name, value):
        body = {
            "apiVersion": f"{GROUP}/v1",
            "kind": "Formatted",
            "metadata": {"generateName": "f-"},
            "spec": {name: value},
        }
        path = f"/apis/{GROUP}/v1/namespaces/{namespace}/formatted"
        answer = server.post(path, body, dryRun="All")
        assert answer.status in (201, 422), answer.text
        return answer.causes

    return ask  # the CRD stays for the next test: one that goes refuses new objects


def test_values_of_a_format_are_taken(refusals):
    for name, values in TAKEN.items():
        for value in values:
            assert refusals(field(name), value) == [], (name, value)


def test_values_that_are_of_no_format_are_refused(refusals):
    for name, values in REFUSED.items():
        for value in values:
            at = f"spec.{field(name)}"
            shown = json.dumps(value)[1:-1]
            what = f'"{shown}": {at} in body must be of type {name}: "{shown}"'
            assert refusals(field(name), value) == [
                {
                    "reason": "FieldValueTypeInvalid",
                    "message": f"Invalid value: {what}",
                    "field": at,
                }
            ], (name, value)


def test_numbers_fit_their_format(refusals):
    for name, (sort, taken, refused) in NUMBERS.items():
        at = "n" + field(name)
        for value in taken:  # type: ignore[attr-defined]
            assert refusals(at, value) == [], (name, value)
        for value in refused:  # type: ignore[attr-defined]
            wanted = f"{sort} with format {name} in spec.{at}"
            why = f"Checked value must be of type {wanted}"
            assert refusals(at, value) == [
                {
                    "reason": "FieldValueInvalid",
                    "message": f'Invalid value: "": {why}',
                    "field": "<nil>",
                }
            ]
