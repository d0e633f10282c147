"""The costs of rules: estimated when a CRD is written, and refused if they are too
high.
"""

import re

import pytest
from contractclient import CRDS, crd

INT, TEXT = {"type": "integer"}, {"type": "string"}
SHORT = {"type": "string", "maxLength": 100}
FACTOR = re.compile(r"estimated (.*) exceeds budget by factor of (.*) \(try")
NO_END = "more than 100x"
TOTAL = "rule cost total for entire OpenAPIv3 schema"


def many(items, **limits):
    return {"type": "array", "items": items, **limits}


def named(values, **limits):
    return {"type": "object", "additionalProperties": values, **limits}


def ruled(schema, rule, **more):
    return {**schema, "x-kubernetes-validations": [{"rule": rule, **more}]}


def fields(**properties):
    return {"type": "object", "properties": properties}


def each(rule, items, **limits):
    return fields(a=many(ruled(items, rule), **limits))


def of(rule, **properties):
    return ruled(fields(**properties), rule)


PAIR = fields(n=TEXT)
OFTEN = fields(x=INT)
THOUSAND = many(INT, maxItems=1000)
SHORTS = many(SHORT, maxItems=1000)

TAKEN = {
    "number": of("self.a > 1", a=INT),
    "all": of("self.a.all(x, x > 1)", a=many(INT)),
    "all-starts": of("self.a.all(x, x.startsWith('abc'))", a=many(TEXT)),
    "all-matches": of("self.a.all(x, x.matches('^a+$'))", a=many(SHORT, maxItems=100)),
    "matches": of("self.a.matches('^[a-z]+$')", a=TEXT),
    "nested": of("self.a.all(x, self.a.all(y, x == y))", a=many(INT, maxItems=100)),
    "items": each("self.x > 1", OFTEN),
    "items-of-items": fields(a=many(many(ruled(OFTEN, "self.x > 1")))),
    "keys": of("self.a.all(k, k.startsWith('x'))", a=named(TEXT)),
    "entries": of("self.a.all(k, v, k.startsWith('a') && v.size() > 2)", a=named(TEXT)),
    "contains": of("self.a.contains('abc')", a=TEXT),
    "sizes": of("size(self.a) > 3 && self.b.size() < 4", a=many(INT), b=TEXT),
    "in": of("3 in self.a", a=many(INT)),
    "same": of("self.a == self.b", a=TEXT, b=TEXT),
    "either": of(
        "size(self.a) > 3 ? self.a.all(x, x > 3) : self.b.all(x, x > 3)",
        a=many(INT),
        b=many(INT),
    ),
    "choices": of("self.a.all(x, x == 'aa')", a=many(TEXT | {"enum": ["aa", "bb"]})),
    "split": of("self.a.split(',').size() < 4", a=TEXT),
    "found": of("self.a.all(x, x.find('^a+$') == '')", a=many(SHORT, maxItems=200_000)),
    "sorted": of("self.a.isSorted()", a=many(INT)),
    "transition": of("self.a == oldSelf.a", a=many(TEXT)),
}
REFUSED = {
    "all-matches": (of("self.a.all(x, x.matches('^a$'))", a=many(TEXT)), NO_END),
    "nested": (of("self.a.all(x, self.a.all(y, x == y))", a=many(INT)), NO_END),
    "nested-long": (
        of("self.a.all(x, self.a.all(y, x == y))", a=many(INT, maxItems=2000)),
        "2.0x",
    ),
    "nested-texts": (
        of(
            "self.a.all(x, self.a.exists_one(y, x == y))",
            a=many({"type": "string", "maxLength": 30}, maxItems=1000),
        ),
        "1.6x",
    ),
    "nested-objects": (
        of("self.a.all(x, self.a.exists_one(y, x.n == y.n))", a=many(PAIR)),
        NO_END,
    ),
    "items": (each("self.matches('^a$')", TEXT), NO_END),
    "items-of-items": (
        fields(
            a=many(
                many(
                    ruled(OFTEN, "self.x > 1 && self.x < 1000 && self.x != 5"),
                    maxItems=2000,
                ),
                maxItems=2000,
            )
        ),
        "3.2x",
    ),
    "entries": (of("self.a.all(k, self.a[k].contains('x'))", a=named(TEXT)), NO_END),
    "contains": (of("self.a.contains(self.b)", a=TEXT, b=TEXT), NO_END),
    "in": (of("self.a.all(x, x in self.b)", a=many(TEXT), b=many(TEXT)), NO_END),
    "made": (
        of("self.a.filter(x, x > 1).map(y, y * 2).size() > 3", a=many(INT)),
        "4.6x",
    ),
    "made-texts": (
        of(
            "self.a.map(x, x + 'y').all(z, z.startsWith('a'))",
            a=many(TEXT, maxItems=50),
        ),
        "1.6x",
    ),
    "split": (of("self.a.split(',').all(x, x.size() < 4)", a=TEXT), "2.0x"),
    "joined": (of("self.a.join(',').size() < 4", a=many(TEXT, maxItems=100)), "3.1x"),
    "sorted-texts": (of("self.a.isSorted()", a=many(TEXT)), NO_END),
    "least": (
        of("self.b.all(x, self.a.min() > x)", a=THOUSAND, b=many(INT, maxItems=20_000)),
        "2.0x",
    ),
    "places": (
        of("self.b.all(x, self.a.indexOf(x) > 1)", a=SHORTS, b=SHORTS),
        "4.1x",
    ),
    "quantities": (
        of("self.a.all(x, isQuantity(x))", a=many(SHORT, maxItems=900_000)),
        "4.0x",
    ),
    "quantities-compared": (
        of(
            "self.a.all(x, quantity(x).compareTo(quantity('1')) > 0)",
            a=many(SHORT, maxItems=900_000),
        ),
        "4.2x",
    ),
    "quantities-added": (
        of(
            "self.a.all(x, quantity(x).add(quantity('1')).asInteger() > 0)",
            a=many(SHORT, maxItems=900_000),
        ),
        "4.3x",
    ),
    "number-or-text": (
        of(
            "self.a.all(x, type(x) == int ? x > 3 : x.endsWith('%'))",
            a=many({"x-kubernetes-int-or-string": True}),
        ),
        "1.258291x",
    ),
}


def posted(server, spec):
    manifest = crd("priceds", "Priced", fields(spec=spec))
    return server.post(CRDS, manifest, dryRun="All")


def factors(answer):
    """[(what costs, by how much too much)] of a refusal."""
    answer.refused(422, "Invalid")
    found = [FACTOR.search(cause["message"]) for cause in answer.causes]
    return {match.groups() for match in found if match}


@pytest.mark.parametrize("spec", TAKEN.values(), ids=TAKEN)
def test_a_rule_that_can_be_paid_for_is_taken(server, spec):
    posted(server, spec).expect(201)


@pytest.mark.parametrize(("spec", "factor"), REFUSED.values(), ids=REFUSED)
def test_a_rule_that_is_too_dear_is_refused(server, spec, factor):
    expected = {("rule cost", factor)}
    if factor == NO_END:
        expected.add((TOTAL, factor))
    assert factors(posted(server, spec)) == expected


def test_a_refusal_names_the_rule_and_says_what_helps(server):
    answer = posted(server, REFUSED["nested-long"][0])
    answer.refused(422, "Invalid")
    assert answer.causes == [
        {
            "reason": "FieldValueForbidden",
            "message": (
                "Forbidden: estimated rule cost exceeds budget by factor of 2.0x (try "
                "simplifying the rule, or adding maxItems, maxProperties, and maxLength "
                "where arrays, maps, and strings are declared)"
            ),
            "field": (
                "spec.validation.openAPIV3Schema.properties[spec]."
                "x-kubernetes-validations[0].rule"
            ),
        }
    ]


def test_all_rules_together_have_a_budget_too(server):
    item = ruled(fields(b=INT), "self.b > 1 && self.b < 10")
    answer = posted(server, fields(**{f"a{i}": many(item) for i in range(30)}))
    assert factors(answer) == {(TOTAL, "1.9x")}
    told = [cause for cause in answer.causes if "contributed to" in cause["message"]]
    assert len(told) == 4
    posted(server, fields(**{f"a{i}": many(item) for i in range(15)})).expect(201)


def test_message_expressions_have_a_budget_of_their_own(server):
    message = {"messageExpression": "self.a.map(x, self.b).join(',')"}
    spec = ruled(fields(a=many(TEXT), b=TEXT), "self.a.size() < 3", **message)
    found = factors(posted(server, spec))
    assert ("messageExpression cost", NO_END) in found
