"""Validation rules (`x-kubernetes-validations`): taken, refused, and applied."""

import itertools

import pytest
from contractclient import CRDS, GROUP, crd

INT = {"type": "integer"}
TEXT = {"type": "string", "maxLength": 50}
_numbers = itertools.count()


def ruled(*rules, **properties):
    """The schema of a kind whose spec has rules."""
    spec = {"type": "object", "properties": properties}
    if rules:
        spec["x-kubernetes-validations"] = list(rules)
    return {"type": "object", "properties": {"spec": spec}}


def rule(text, **more):
    return {"rule": text, **more}


@pytest.fixture
def install(server, namespace):
    """A function that makes a kind with a schema; it gives how to write objects."""
    made = []

    def make(schema, **version):
        number = f"{namespace.rpartition('-')[2]}{next(_numbers)}"
        manifest = crd(f"ruled{number}s", f"Ruled{number}", schema, **version)
        made.append(manifest["metadata"]["name"])
        server.install(manifest)
        return Written(server, namespace, manifest)

    yield make
    for name in made:
        server.delete(f"{CRDS}/{name}")


class Written:
    """One object of a kind, to be created and changed."""

    def __init__(self, server, namespace, manifest):
        names = manifest["spec"]["names"]
        self._server = server
        self._kind = names["kind"]
        self._path = f"/apis/{GROUP}/v1/namespaces/{namespace}/{names['plural']}"

    def create(self, name="one", **spec):
        body = {
            "apiVersion": f"{GROUP}/v1",
            "kind": self._kind,
            "metadata": {"name": name},
            "spec": spec,
        }
        return self._server.post(self._path, body)

    def patch(self, **spec):
        return self._server.patch(f"{self._path}/one", {"spec": spec})

    def patch_status(self, **status):
        return self._server.patch(f"{self._path}/one/status", {"status": status})


def refused(answer):
    """Return an answer's causes of refusal: {(field, reason, message)}."""
    causes = answer.refused(422, "Invalid")["details"]["causes"]
    return {(c["field"], c["reason"], c["message"]) for c in causes}


def only(answer, field, message, reason="FieldValueInvalid"):
    assert refused(answer) == {(field, reason, message)}


def test_a_rule_that_fails_says_so_at_its_place(install):
    written = install(ruled(rule("self.low <= self.high"), low=INT, high=INT))
    written.create(low=1, high=2).expect(201)
    only(
        written.patch(low=3),
        "spec",
        "Invalid value: failed rule: self.low <= self.high",
    )


@pytest.mark.parametrize(
    ("more", "field", "reason", "message"),
    [
        (
            {"message": "told"},
            "spec",
            "FieldValueInvalid",
            "Invalid value: told",
        ),
        (
            {"messageExpression": "'it is ' + (self.a > 5 ? 'much' : 'little')"},
            "spec",
            "FieldValueInvalid",
            "Invalid value: it is much",
        ),
        (
            {"messageExpression": "self.b.substring(9)", "message": "fallback"},
            "spec",
            "FieldValueInvalid",
            "Invalid value: fallback",
        ),
        (
            {"reason": "FieldValueForbidden", "fieldPath": ".a", "message": "no a"},
            "spec.a",
            "FieldValueForbidden",
            "Forbidden: no a",
        ),
        (
            {"reason": "FieldValueRequired", "fieldPath": ".a", "message": "want a"},
            "spec.a",
            "FieldValueRequired",
            "Required value: want a",
        ),
        (
            {"reason": "FieldValueDuplicate", "fieldPath": ".a", "message": "two"},
            "spec.a",
            "FieldValueDuplicate",
            "Duplicate value",
        ),
    ],
    ids=["message", "expression", "fallback", "forbidden", "required", "duplicate"],
)
def test_a_refusal_has_the_rules_message_reason_and_field(
    install, more, field, reason, message
):
    written = install(ruled(rule("self.a < 5", **more), a=INT, b=TEXT))
    only(written.create(a=9, b="short"), field, message, reason)


def test_all_rules_are_told_and_one_that_cannot_be_evaluated_says_why(install):
    written = install(
        ruled(rule("self.a < 5"), rule("self.b < 5", message="b small"), a=INT, b=INT)
    )
    assert refused(written.create(a=9)) == {
        (
            "spec",
            "FieldValueInvalid",
            "Invalid value: failed rule: self.a < 5",
        ),
        (
            "spec",
            "FieldValueInvalid",
            'Invalid value: "object": no such key: b evaluating rule: b small',
        ),
    }


def test_rules_of_fields_items_and_entries(install):
    small = [rule("self < 9", message="small")]
    written = install(
        ruled(
            text={**TEXT, "x-kubernetes-validations": [rule("self.startsWith('x')")]},
            items={
                "type": "array",
                "maxItems": 5,
                "items": {**INT, "x-kubernetes-validations": small},
            },
            entries={
                "type": "object",
                "maxProperties": 5,
                "additionalProperties": {**INT, "x-kubernetes-validations": small},
            },
        )
    )
    written.create(text="xy", items=[1, 2], entries={"a": 3}).expect(201)
    only(
        written.patch(text="no"),
        "spec.text",
        "Invalid value: \"no\": failed rule: self.startsWith('x')",
    )
    only(
        written.patch(items=[1, 10]),
        "spec.items[1]",
        "Invalid value: 10: small",
    )
    assert written.patch(entries={"a": 10}).status == 422


def test_a_transition_rule_holds_updates_alone(install):
    fixed = {**TEXT, "x-kubernetes-validations": [rule("self == oldSelf")]}
    written = install(ruled(rule("self.n >= oldSelf.n"), n=INT, fixed=fixed))
    written.create(n=5, fixed="a").expect(201)
    written.patch(n=6).expect(200)
    only(
        written.patch(n=4),
        "spec",
        "Invalid value: failed rule: self.n >= oldSelf.n",
    )
    only(
        written.patch(fixed="b"),
        "spec.fixed",
        'Invalid value: "b": failed rule: self == oldSelf',
    )
    written.patch(fixed=None).expect(200)
    written.patch(fixed="c").expect(200)


def test_a_transition_rule_follows_items_with_keys(install):
    keyed = {
        "type": "array",
        "maxItems": 5,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": TEXT, "size": INT},
            "x-kubernetes-validations": [
                rule("self.size == oldSelf.size", message="size is fixed")
            ],
        },
    }
    written = install(ruled(keyed=keyed))
    first, second = {"name": "a", "size": 1}, {"name": "b", "size": 2}
    written.create(keyed=[first, second]).expect(201)
    written.patch(keyed=[second, first]).expect(200)
    only(
        written.patch(keyed=[{"name": "b", "size": 9}, first]),
        "spec.keyed[0]",
        "Invalid value: size is fixed",
    )
    written.patch(keyed=[first, {"name": "c", "size": 9}]).expect(200)


def test_rules_see_the_name_of_the_object_at_the_root(install):
    schema = ruled(a=INT)
    schema["x-kubernetes-validations"] = [
        rule("self.metadata.name != 'bad'", message="bad name")
    ]
    written = install(schema)
    written.create("good", a=1).expect(201)
    only(written.create("bad", a=1), "<nil>", "Invalid value: bad name")


def test_formats_and_escaped_names_are_what_rules_see(install):
    written = install(
        ruled(
            rule("self.at < timestamp('2026-01-01T00:00:00Z')", message="late"),
            rule("self.last <= duration('1h')", message="long"),
            rule("size(self.raw) == 3", message="three bytes"),
            rule("self.a__dash__b == self.__namespace__", message="same"),
            rule("self.ratio == 2.0", message="two"),
            at={**TEXT, "format": "date-time"},
            last={**TEXT, "format": "duration"},
            raw={**TEXT, "format": "byte"},
            ratio={"type": "number"},
            namespace=TEXT,
            **{"a-b": TEXT},
        )
    )
    good = {
        "at": "2025-05-05T00:00:00Z",
        "last": "30m",
        "raw": "YWJj",
        "ratio": 2,
        "namespace": "x",
        "a-b": "x",
    }
    written.create(**good).expect(201)
    for name, value, message in (
        ("at", "2027-05-05T00:00:00Z", "late"),
        ("last", "1h1s", "long"),
        ("raw", "YWJjZA==", "three bytes"),
        ("ratio", 3, "two"),
        ("a-b", "y", "same"),
    ):
        only(
            written.patch(**{name: value}),
            "spec",
            f"Invalid value: {message}",
        )
        written.patch(**good).expect(200)


def test_rules_wait_until_the_schema_is_content(install):
    written = install(ruled(rule("self.a < 5"), a=INT, b=INT))
    found = refused(written.create(a=9, b="text"))
    assert {field for field, _, _ in found} == {"spec.b", "<nil>"}
    assert any("some validation rules were not checked" in text for *_, text in found)


def test_what_an_update_leaves_alone_is_not_held_to_a_new_rule(install, server):
    manifest_schema = ruled(a=INT, b=INT)
    written = install(manifest_schema)
    written.create(a=9, b=1).expect(201)
    name = next(
        found["metadata"]["name"]
        for found in server.get(CRDS).json["items"]
        if found["spec"]["names"]["kind"] == written._kind
    )
    path = f"{CRDS}/{name}"
    rules = [rule("self < 5", message="small")]
    at = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/a"
    operation = {"op": "add", "path": f"{at}/x-kubernetes-validations", "value": rules}
    server.patch(path, [operation], "application/json-patch+json").expect(200)
    while written.create("probe", a=9).status == 201:  # rules come a moment later
        server.delete(f"{written._path}/probe")
    written.patch(b=2).expect(200)
    only(written.patch(a=10), "spec.a", "Invalid value: 10: small")


def test_status_is_held_to_its_rules(install):
    schema = ruled(a=INT)
    schema["properties"]["status"] = {
        "type": "object",
        "properties": {"n": INT},
        "x-kubernetes-validations": [rule("self.n < 5", message="small")],
    }
    written = install(schema, subresources={"status": {}})
    written.create(a=1).expect(201)
    written.patch_status(n=3).expect(200)
    only(written.patch_status(n=7), "status", "Invalid value: small")


@pytest.mark.parametrize(
    ("rules", "at", "message"),
    [
        (
            [rule("self.a > ")],
            "rule",
            "compilation failed: ERROR: <input>:1:10: Syntax",
        ),
        (
            [rule("self.missing > 1")],
            "rule",
            "compilation failed: ERROR: <input>:1:5: undefined field 'missing'",
        ),
        ([rule("self.a + 1")], "rule", "cel expression must evaluate to a bool"),
        ([rule("")], "rule", "Required value: rule is not specified"),
        (
            [rule("self.a > 1", message="two\nlines")],
            "message",
            "must not contain line breaks",
        ),
        (
            [rule("self.a > 1", reason="Bad")],
            "reason",
            'Unsupported value: "Bad": supported values: "FieldValueDuplicate"',
        ),
        (
            [rule("self.a > 1", fieldPath=".z")],
            "fieldPath",
            'Invalid value: ".z": must be a valid path',
        ),
        (
            [rule("self.a > 1", messageExpression="1")],
            "messageExpression",
            "messageExpression must evaluate to a string",
        ),
        (
            [rule("self.a > 1", optionalOldSelf=True)],
            "optionalOldSelf",
            "may not be set if oldSelf is not used in rule",
        ),
    ],
    ids=[
        "syntax",
        "undefined",
        "no-bool",
        "empty",
        "lines",
        "reason",
        "path",
        "no-text",
        "optional",
    ],
)
def test_a_rule_that_would_not_run_keeps_its_crd_out(server, rules, at, message):
    manifest = crd("unruleds", "Unruled", ruled(*rules, a=INT))
    causes = server.post(CRDS, manifest).refused(422, "Invalid")["details"]["causes"]
    assert len(causes) == 1
    assert causes[0]["field"] == (
        "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0]."
        + at
    )
    assert message in causes[0]["message"]


def test_a_transition_rule_needs_items_that_can_be_distinctions_of(server):
    items = {
        "type": "object",
        "properties": {"x": INT},
        "x-kubernetes-validations": [rule("self.x == oldSelf.x")],
    }
    schema = ruled(a={"type": "array", "maxItems": 3, "items": items})
    answer = server.post(CRDS, crd("unruleds", "Unruled", schema))
    at = "spec.validation.openAPIV3Schema.properties[spec].properties[a]"
    only(
        answer,
        f"{at}.items.x-kubernetes-validations[0].rule",
        'Invalid value: "self.x == oldSelf.x": oldSelf cannot be used on the '
        f"uncorrelatable portion of the schema within {at}",
    )


def test_an_optional_old_value_is_asked_for_on_creation_too(install):
    text = "oldSelf.optMap(o, self.a >= o.a).orValue(self.a < 5)"
    told = "self.a < 4 ? 'less' : 'too much to begin with'"
    stated = rule(text, optionalOldSelf=True, messageExpression=told)
    written = install(ruled(stated, a=INT))
    only(written.create(a=5), "spec", "Invalid value: too much to begin with")
    written.create(a=3).expect(201)
    only(written.patch(a=2), "spec", "Invalid value: less")
    written.patch(a=9).expect(200)


@pytest.mark.parametrize(
    ("text", "created"),
    [
        ("oldSelf.hasValue()", False),
        ("!oldSelf.hasValue() || oldSelf.value() <= self", True),
        ("oldSelf.orValue(0) < self", True),
        ("oldSelf == optional.none()", True),
        ("oldSelf.or(optional.of(9)).value() < self", False),
    ],
)
def test_an_optional_old_value_of_a_field(install, text, created):
    stated = {"x-kubernetes-validations": [rule(text, optionalOldSelf=True)]}
    answer = install(ruled(a=INT | stated)).create(a=3)
    if created:
        answer.expect(201)
    else:
        only(answer, "spec.a", f"Invalid value: 3: failed rule: {text}")


def test_an_optional_old_value_that_comes_and_stays(install):
    text = "!oldSelf.hasValue() || oldSelf.value() == self"
    stated = {"x-kubernetes-validations": [rule(text, optionalOldSelf=True)]}
    written = install(ruled(a=INT | stated, b=INT))
    written.create(b=1).expect(201)
    written.patch(a=1).expect(200)
    written.patch(b=2).expect(200)
    only(written.patch(a=2), "spec.a", f"Invalid value: 2: failed rule: {text}")


def test_an_optional_old_value_needs_items_that_can_be_told_apart_too(server):
    stated = rule("!oldSelf.hasValue()", optionalOldSelf=True)
    items = {"type": "integer", "x-kubernetes-validations": [stated]}
    schema = ruled(a={"type": "array", "maxItems": 3, "items": items})
    answer = server.post(CRDS, crd("unruleds", "Unruled", schema))
    at = "spec.validation.openAPIV3Schema.properties[spec].properties[a]"
    assert {field for field, _, _ in refused(answer)} == {
        f"{at}.items.x-kubernetes-validations[0].rule"
    }


def test_a_broken_rule_with_an_optional_old_value_is_named_at_its_place(server):
    stated = rule("oldSelf.hasValue() && ", optionalOldSelf=True)
    answer = server.post(CRDS, crd("unruleds", "Unruled", ruled(stated, a=INT)))
    assert any(
        "ERROR: <input>:1:23: Syntax error" in message
        for _, _, message in refused(answer)
    )


def test_a_rule_that_takes_too_long_ends_them_all(install):
    text = "self.a.all(x, self.a.all(y, x <= y))"
    spec = {"type": "array", "maxItems": 1000, "items": INT}
    written = install(ruled(rule(text), rule("self.a.size() < 5"), a=spec))
    only(
        written.create(a=[5] * 1000),
        "spec",
        "Invalid value: \"object\": 'operation cancelled: actual cost limit exceeded': "
        "no further validation rules will be run due to call cost exceeds limit for "
        f"rule: {text}",
    )
