"""CRDs made at random from a seed, many of them with something that Kubernetes
refuses.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any

Json = dict[str, Any]

NAMES = (
    *("a", "web", "a-b", "a1", "1a", "A", "a.b", "a_b", "-a", "a-", "", "é", "a b"),
    *("a" * 63, "a" * 64, "status", "scale"),
)
KINDS = ("Web", "web", "WebSite", "Web-Site", "1Web", "", "Wéb", "Web_", "W" * 64)
VERSIONS = ("v1", "v1beta1", "v2", "v1alpha1", "1", "V1", "v1.2", "latest", "", "a b")
GROUPS = (
    *("example.com", "a.example.com", "example", "Example.com", "", "example..com"),
    *(".example.com", "example.com.", "x" * 64 + ".com", "foo.k8s.io"),
)
PATHS = (
    *(".spec.a", ".spec.b", ".spec", ".spec.", "spec.a", ".spec.a.b", ".status.a"),
    *(".spec.map.x", ".spec.list[0]", ".spec.list[*].a", ".metadata.name", ".x"),
    *("", ".", ".spec['a']", ".spec.a-b", ".spec[?(@.a>1)]", ".spec..a", "{.spec.a}"),
    *(".spec.text", ".spec.flag", ".spec.count", ".spec.obj", ".spec.obj.text"),
    *(".status.count", ".status.text", ".spec.either", ".status.either", "..a"),
    *(".metadata.labels", ".spec.a b", ".spec.text[0]", ".spec.list", "$.spec.text"),
)
PATTERNS = (
    *(
        "^a$",
        "^[a-z]+$",
        r"\d{3}",
        "(?=a)",
        "(?!a)b",
        "(a",
        "a)",
        "[a",
        r"\1",
        "(a)\\1",
    ),
    *("a{2,1}", "a**", "a{1001}", "a{1,1000}", r"\pL+", r"\p{Greek}", "[[:alpha:]]"),
    *("(?i)a", "(?P<n>a)", "(?<n>a)", "(?a)", "(?x)a", r"\Aa\z", r"a\Z", r"\Qa+\E"),
    *("a++", "(?>a)", "(?#x)", r"\u0041", r"\x{41}", r"\x41", r"\h", r"\e", "*", "+a"),
    *("^(a|b)*$", "(?s).", "(?U)a+", r"[\d-x]", "[z-a]", "x{,3}", "{", "a{", r"\C"),
    *(
        r"\b\B",
        "(?P<n>a)(?P<n>b)",
        "(?P<1>a)",
        "()",
        "a|",
        "|",
        r"\8",
        "((a{100}){100})",
    ),
    *(
        r"[^\n]",
        r"\p{Lu}",
        r"\p{Nope}",
        r"\pN",
        r"[[:nope:]]",
        r"[\pL]",
        "(?-i)a",
        "(?i:a)",
    ),
)
# Parts of patterns, and texts to try them on.
ATOMS = (
    "a",
    "b",
    "0",
    ".",
    "\\d",
    "\\w",
    "\\s",
    "\\S",
    "\\b",
    "^",
    "$",
    "[a-c]",
    "[^a]",
    "[[:digit:]]",
    "\\pL",
    "\\p{Greek}",
    "(?i)a",
    "(a|b)",
    "(?:ab)",
    "(?P<x>a)",
    "\\x41",
    "é",
    "\\.",
    "\\z",
    "\\A",
    "{2}",
    "{1,3}",
    "*",
    "+",
    "?",
    "|",
    "(",
    ")",
    "[",
    "]",
    "\\1",
    "(?=a)",
    "\\Qa.\\E",
    "\\C",
    "{",
    "}",
    "-",
    "\n",
    "\\n",
    "\\t",
    "\\/",
    "\\-",
    "\\_",
    "\\é",
    "\\Z",
    "(?<y>b)",
    "(?s).",
    "(?m)^a$",
    "\\p{Any}",
    "\\p{Lu}",
    "\\P{L}",
    "\\pX",
    "[\\w-]",
    "[a-]",
    "[]a]",
    "[^]]",
    "\\v",
    "\\a",
    "\\f",
    "\\cA",
    "\\G",
    "\\K",
    "\\R",
    "\\X",
    "\\e",
    "\\0",
    "\\07",
    "\\123",
    "\\x{10FFFF}",
    "\\x{110000}",
    "\\x{D800}",
    "{,2}",
    "{2,",
    "{1001}",
    "(?i:",
    "(?",
    "(?P",
    "(?P=x)",
    "(?'a'b)",
    "\\k<x>",
    "[[:word:]]",
    "[[:^alpha:]]",
    "[[=a=]]",
    "\\p{L",
    "\\p{^L}",
    "\\p",
    "(?U)",
    "(?ims-U)",
    "(?z)",
    "(?-)",
    "(?i-)",
    "\\Q",
    "\\E",
    "[\\Q]\\E]",
    "[a-\\d]",
    "[\\d-a]",
)
TEXTS = [
    "",
    "a",
    "b",
    "ab",
    "A",
    "aa",
    "abab",
    "0",
    "1",
    "é",
    "\u03b1",
    "a\n",
    "\na",
    "a.",
    "-",
    "_",
    " ",
    "\t",
    "\u03a9",
    "\u017f",
    "\u212a",
    "a{",
    "]",
    "}",
    "\u0663",
    "ab0",
    "😀",
    "_x",
    "É",
]
FORMATS = ("date-time", "duration", "byte", "ipv4", "uri", "int32", "int64", "nope", "")
TYPES = ("object", "array", "string", "integer", "number", "boolean")
RULES = (
    *(
        "self == oldSelf",
        "self != null",
        "true",
        "1",
        "self.",
        "",
        " ",
        "self.text == 'a'",
    ),
    *(
        "has(self.text)",
        "self.text == 1",
        "self.count > 0",
        "self.count > 0.5",
        "self.nope",
    ),
    *("self.size() > 0", "self.all(x, x == 'a')", "self.all(x, x > 0)", "self > 0"),
    *(
        "self.text.startsWith('a')",
        "self.count.startsWith('a')",
        "self.exists(x, true)",
    ),
    *("self.obj.text == self.text", "self.list.all(x, self.list.exists(y, x == y))"),
    *("self.map.all(k, self.map[k] == 'a')", "self.flag", "!self.flag", "self.text"),
    *("self.list == oldSelf.list", "self.obj == oldSelf.obj", "self.text.matches('(')"),
    *(
        "self.text.matches('^a+$')",
        "has(self.list)",
        "has(self)",
        "self.list[0] == 'a'",
    ),
    *("self.metadata.name == 'a'", "self.metadata.labels", "self.kind == 'Web'"),
    *("self.text.find('a') == 'a'", "size(self.list) < 3", "'a' in self.list"),
    *("self.when > timestamp('2020-01-01T00:00:00Z')", "self.span < duration('1h')"),
    *(
        "self.either == 1",
        "self.either == 'a'",
        "type(self.either) == int",
        "self.raw.x",
    ),
    *("self.count == 1.0", "self.ratio > 1", "self.ratio > 1.0", "self.count + 1 > 2"),
    *(
        "self.nested.all(x, x.all(y, y == 'a'))",
        "self.items",
        "self.objs.all(o, o.text == '')",
    ),
    *("self.objs.exists_one(o, o.text == 'a')", "self.objs.map(o, o.text).size() == 1"),
    *("isQuantity(self.text)", "quantity(self.text).isGreaterThan(quantity('1'))"),
    *(
        "self.bytes == b'a'",
        "oldSelf.text == self.text",
        "self.foo()",
        "undefined == 1",
    ),
    *("self.a__dash__b == 1", "self.list.isSorted()", "self.list.join(',') == ''"),
    *(
        "optional.none().orValue(true)",
        "self.?text.orValue('') == ''",
        "dyn(self.text) == 1",
    ),
    *(
        "[self.text, 1].size() > 0",
        "{'a': self.text}['a'] == ''",
        "cel.bind(x, self.text, x == '')",
    ),
    *("self.text + 'a' == 'b'", "self.text in ['a', 'b']", "self.count in [1, 2]"),
    *(
        "self.count in ['a']",
        "self.text ? true : false",
        "self.flag ? 1 : 2",
        "string(self.count) == '1'",
    ),
    *(
        "int(self.text) > 1",
        "self.text.split(',').size() < 3",
        "self.text.lowerAscii() == ''",
    ),
    *(
        "url(self.text).getHost() == 'a'",
        "ip(self.text).family() == 4",
        "isIP(self.text)",
    ),
    *(
        "cidr(self.text).prefixLength() == 8",
        "format.dns1123Label().validate(self.text).hasValue()",
    ),
    *(
        "semver(self.text).isLessThan(semver('1.0.0'))",
        "isSemver(self.text)",
        "isURL(self.text)",
    ),
    *(
        "sets.contains(self.list, ['a'])",
        "self.list.sum() > 0",
        "self.list.max() == 'a'",
    ),
    *(
        "'%s'.format([self.text]) == ''",
        "self.list.all(i, v, v == 'a')",
        "math.abs(-1) == 1",
    ),
)


class Maker:
    """Makes CRDs. chance: how probable each mistake is."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._mistakes = 0

    def crd(self) -> Json:
        """A CRD, with one or two mistakes at most places of mistakes; often none."""
        self._mistakes = self._random.choice((0, 1, 1, 1, 2, 3))
        spec: Json = {
            "group": "example.com",
            "names": {"kind": "Web", "plural": "webs"},
            "scope": "Namespaced",
            "versions": [self._version("v1")],
        }
        crd: Json = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "webs.example.com"},
            "spec": spec,
        }
        changes: Sequence[Callable[[Json], None]] = (
            *(self._rename, self._several, self._convert, self._columns),
            *(self._scale, self._select, self._deprecate, self._oddities),
            *(self._break_schema,) * 14,
            *(self._rules,) * 8,
        )
        for _ in range(self._random.choice((1, 1, 2, 3))):
            self._random.choice(changes)(crd)
        return crd

    def _pick(self, choices: Sequence[Any]) -> Any:
        return self._random.choice(choices)

    def _maybe(self, chance: float = 0.5) -> bool:
        return self._random.random() < chance

    def _version(self, name: str) -> Json:
        return {
            "name": name,
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": self._root()},
        }

    def _root(self) -> Json:
        return {
            "type": "object",
            "properties": {"spec": self._object(), "status": self._object()},
        }

    def _object(self) -> Json:
        bounded = self._maybe()
        text: Json = {"type": "string"}
        items: Json = {"type": "array", "items": dict(text)}
        extra: Json = {"type": "object", "additionalProperties": dict(text)}
        if bounded:
            text |= {"maxLength": self._pick((1, 10, 300))}
            items |= {"maxItems": self._pick((1, 10, 100)), "items": dict(text)}
            extra |= {"maxProperties": 10, "additionalProperties": dict(text)}
        inner = {"type": "object", "properties": {"text": dict(text)}}
        return {
            "type": "object",
            "properties": {
                "a": {"type": "string"},
                "a-b": {"type": "integer"},
                "text": text,
                "flag": {"type": "boolean"},
                "count": {"type": "integer"},
                "ratio": {"type": "number"},
                "list": items,
                "map": extra,
                "obj": inner,
                "objs": {"type": "array", "items": inner}
                | ({"maxItems": 10} if bounded else {}),
                "nested": {"type": "array", "items": items}
                | ({"maxItems": 10} if bounded else {}),
                "either": {"x-kubernetes-int-or-string": True},
                "raw": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "when": {"type": "string", "format": "date-time"},
                "span": {"type": "string", "format": "duration"},
                "bytes": {"type": "string", "format": "byte"},
            },
        }

    # The mistakes.

    def _rename(self, crd: Json) -> None:
        spec = crd["spec"]
        names = spec["names"]
        field = self._pick(
            (
                *("plural", "singular", "kind", "listKind", "shortNames"),
                *("categories", "group", "scope", "name"),
            )
        )
        if field in ("kind", "listKind"):
            names[field] = self._pick(KINDS)
        elif field in ("shortNames", "categories"):
            names[field] = [self._pick(NAMES) for _ in range(self._pick((0, 1, 2)))]
        elif field == "group":
            spec["group"] = self._pick(GROUPS)
        elif field == "scope":
            spec["scope"] = self._pick(("Cluster", "Namespaced", "", "cluster"))
        elif field == "name":
            crd["metadata"]["name"] = self._pick(NAMES)
            return
        else:
            names[field] = self._pick(NAMES)
        if self._maybe(0.9):
            crd["metadata"]["name"] = f"{names['plural']}.{spec['group']}"

    def _several(self, crd: Json) -> None:
        spec = crd["spec"]
        spec["versions"] = [
            self._version(self._pick(VERSIONS)) for _ in range(self._pick((0, 1, 2, 3)))
        ]
        for index, version in enumerate(spec["versions"]):
            version["storage"] = index == 0 or self._maybe(0.1)
            version["served"] = self._maybe(0.9)
        if self._maybe(0.1) and spec["versions"]:
            spec["versions"][0]["storage"] = False

    def _convert(self, crd: Json) -> None:
        service: Json = {"namespace": "a", "name": "b"}
        for name, values in (
            ("path", ("/a", "a", "/a//b", "/a b", "/", "")),
            ("port", (443, 0, 65536, -1)),
            ("name", ("", "b")),
            ("namespace", ("", "a")),
        ):
            if self._maybe(0.3):
                service[name] = self._pick(values)
        client: Json = {"service": service}
        if self._maybe(0.3):
            urls = ("https://a/b", "http://a", "https://u@a", "https://a?b", "a", "")
            client["url"] = self._pick((*urls, "https://a#b", "https://"))
            if self._maybe():
                del client["service"]
        webhook: Json = {"clientConfig": client}
        if self._maybe(0.8):
            versions = ("v1", "v1beta1", "v2", "", "a b")
            count = self._pick((0, 1, 2))
            webhook["conversionReviewVersions"] = [
                self._pick(versions) for _ in range(count)
            ]
        if self._maybe(0.1):
            del webhook["clientConfig"]
        conversion: Json = {
            "strategy": self._pick(("Webhook",) * 4 + ("None", "x", ""))
        }
        if self._maybe(0.9):
            conversion["webhook"] = webhook
        crd["spec"]["conversion"] = conversion
        if self._maybe(0.2):
            crd["spec"]["preserveUnknownFields"] = self._maybe()

    def _any_version(self, crd: Json) -> Json:
        found: Json = self._pick(crd["spec"]["versions"] or [{}])
        return found

    def _columns(self, crd: Json) -> None:
        made = []
        for _ in range(self._pick((1, 2))):
            column: Json = {
                "name": self._pick(("A", "B", "", "a b")),
                "type": self._pick((*TYPES, "date", "", "x")),
                "jsonPath": self._pick(PATHS),
            }
            if self._maybe(0.3):
                column["format"] = self._pick((*FORMATS, "float", "double", "password"))
            if self._maybe(0.3):
                column["priority"] = self._pick((0, 1, -1))
            made.append(column)
        self._any_version(crd)["additionalPrinterColumns"] = made

    def _scale(self, crd: Json) -> None:
        scale: Json = {
            "specReplicasPath": self._pick((".spec.count", ".spec.count", *PATHS)),
            "statusReplicasPath": self._pick(
                (".status.count", ".status.count", *PATHS)
            ),
        }
        if self._maybe():
            scale["labelSelectorPath"] = self._pick(
                (".status.text", ".spec.text", *PATHS)
            )
        if self._maybe(0.1):
            del scale[self._pick(("specReplicasPath", "statusReplicasPath"))]
        self._any_version(crd)["subresources"] = {"scale": scale} | (
            {"status": {}} if self._maybe() else {}
        )

    def _select(self, crd: Json) -> None:
        good = (".spec.text", ".spec.flag", ".spec.count", ".spec.obj.text")
        count = self._pick((1, 1, 2, 3, 9))
        paths = [self._pick((*good * 4, *PATHS)) for _ in range(count)]
        self._any_version(crd)["selectableFields"] = [{"jsonPath": p} for p in paths]

    def _deprecate(self, crd: Json) -> None:
        version = self._any_version(crd)
        version["deprecated"] = self._maybe()
        texts = ("old", "", "a\nb", "x" * 256, "x" * 257, " a", "é" * 200, "a\tb")
        version["deprecationWarning"] = self._pick((*texts, "\x07", '"q"'))
        if self._maybe(0.2):
            del version["deprecated"]

    def _oddities(self, crd: Json) -> None:
        version = self._any_version(crd)
        match self._pick(range(5)):
            case 0:
                version.pop("schema", None)
            case 1:
                version["schema"] = {}
            case 2:
                version.setdefault("schema", {}).setdefault("openAPIV3Schema", {})[
                    "type"
                ] = self._pick(TYPES)
            case 3:
                crd["spec"]["preserveUnknownFields"] = True
            case 4:
                root = version.get("schema", {}).get("openAPIV3Schema", {})
                root.setdefault("properties", {})["metadata"] = self._pick(
                    (
                        {"type": "object"},
                        {"type": "object", "properties": {"name": {"type": "string"}}},
                        {
                            "type": "object",
                            "properties": {"name": {"type": "string", "pattern": "a"}},
                        },
                        {
                            "type": "object",
                            "properties": {"labels": {"type": "object"}},
                        },
                        {"type": "string"},
                        {"type": "object", "required": ["name"]},
                        {"type": "object", "maxProperties": 3},
                        {"type": "object", "description": "x"},
                    )
                )

    # Schemas.

    def _nodes(self, crd: Json) -> list[Json]:
        found: list[Json] = []

        def walk(node: Any) -> None:
            if not isinstance(node, dict):
                return
            found.append(node)
            for part in (node.get("properties") or {}).values():
                walk(part)
            walk(node.get("items"))
            walk(node.get("additionalProperties"))

        for version in crd["spec"]["versions"]:
            walk((version.get("schema") or {}).get("openAPIV3Schema"))
        return found

    def _break_schema(self, crd: Json) -> None:
        nodes = self._nodes(crd)
        if not nodes:
            return
        node = self._pick(nodes)
        match self._pick(range(17)):
            case 0:
                node["pattern"] = self._pick(PATTERNS)
            case 1:
                node["default"] = self._value(node)
            case 2:
                self._list(node)
            case 3:
                node["x-kubernetes-map-type"] = self._pick(("atomic", "granular", "x"))
            case 4:
                self._numbers(node)
            case 5:
                self._junctor(node)
            case 6:
                node["enum"] = self._pick(
                    (["a", "b"], [1, 2], [], ["a", "a"], [None], [1, "a"], [{"a": 1}])
                )
            case 7:
                node["nullable"] = self._maybe(0.8)
                if self._maybe():
                    node["default"] = None
            case 8:
                node["required"] = self._pick((["a"], ["nope"], [], ["a", "a"], [""]))
            case 9:
                node["format"] = self._pick(FORMATS)
            case 10:
                node["x-kubernetes-embedded-resource"] = True
                if self._maybe():
                    node["x-kubernetes-preserve-unknown-fields"] = True
            case 11:
                node["x-kubernetes-preserve-unknown-fields"] = self._maybe(0.7)
            case 12:
                node["x-kubernetes-int-or-string"] = self._maybe(0.8)
                if self._maybe():
                    node.pop("type", None)
            case 13:
                node["type"] = self._pick((*TYPES, "", "null", "x"))
            case 14:
                name = self._pick(("additionalProperties", "items", "uniqueItems"))
                values: tuple[Any, ...] = (
                    *(True, False, {}, {"type": "string"}, [{"type": "string"}]),
                )
                node[name] = (
                    self._maybe() if name == "uniqueItems" else self._pick(values)
                )
            case 15:
                name = self._pick(
                    (
                        *("minLength", "maxLength", "minItems", "maxItems"),
                        *("minProperties", "maxProperties"),
                    )
                )
                node[name] = self._pick((-1, 0, 1, 5, 10**6))
            case 16:
                others: tuple[tuple[str, Any], ...] = (
                    ("$ref", "#/x"),
                    ("id", "x"),
                    ("definitions", {"a": {"type": "string"}}),
                    ("dependencies", {"a": ["b"]}),
                    ("patternProperties", {"^a": {"type": "string"}}),
                    ("additionalItems", {"type": "string"}),
                    ("$schema", "http://json-schema.org/schema#"),
                    ("title", "x"),
                    ("example", {"a": 1}),
                    ("externalDocs", {"url": "x"}),
                )
                name, value = self._pick(others)
                node[name] = value

    def _value(self, node: Json) -> Any:
        fitting: Json = {
            "string": "a",
            "integer": 1,
            "number": 1.5,
            "boolean": True,
            "array": ["a"],
            "object": {"a": "b"},
        }
        # A default of the wrong type passes at some formats and at int-or-string.
        is_odd = "format" in node or "x-kubernetes-int-or-string" in node
        if is_odd or self._maybe(0.6):
            return fitting.get(node.get("type", ""), 1)
        return self._pick(("", "b", 0, -1, 2.5, 1e300, False, [], {}, ["a", "a"], [1]))

    def _list(self, node: Json) -> None:
        sort = self._pick(("map", "map", "set", "atomic", "x"))
        node["x-kubernetes-list-type"] = sort
        if self._maybe(0.8):
            node["type"] = "array"
        if sort == "map" or self._maybe(0.1):
            if self._maybe(0.9):
                node["x-kubernetes-list-map-keys"] = self._pick(
                    (
                        ["text"],
                        ["text", "flag"],
                        [],
                        ["nope"],
                        ["text", "text"],
                        ["obj"],
                    )
                )
            if self._maybe(0.9):
                inner = self._object()
                if self._maybe(0.8):
                    inner["required"] = ["text", "flag", "obj"]
                elif self._maybe():
                    inner["properties"]["text"]["default"] = "x"
                if self._maybe(0.1):
                    inner["properties"]["text"]["nullable"] = True
                node["items"] = inner
        elif sort == "set":
            inner = self._pick(
                (
                    {"type": "string"},
                    {"type": "integer"},
                    self._object(),
                    {"type": "array", "items": {"type": "string"}},
                    {
                        "type": "array",
                        "x-kubernetes-list-type": "atomic",
                        "items": {"type": "string"},
                    },
                    self._object() | {"x-kubernetes-map-type": "atomic"},
                    {"x-kubernetes-int-or-string": True},
                    {"type": "string", "nullable": True},
                    {
                        "type": "array",
                        "x-kubernetes-list-type": "set",
                        "items": {"type": "string"},
                    },
                )
            )
            node["items"] = dict(inner)

    def _numbers(self, node: Json) -> None:
        if self._maybe(0.7):
            node["type"] = self._pick(("integer", "number"))
        for name in ("minimum", "maximum", "multipleOf"):
            if self._maybe():
                node[name] = self._pick((0, 1, -1, 0.5, 10, 1e10, -2.5))
        for name in ("exclusiveMinimum", "exclusiveMaximum"):
            if self._maybe(0.3):
                node[name] = self._maybe()
        if self._maybe(0.3):
            node["default"] = self._pick((0, 1, 2, 10, 0.5, -1))

    def _junctor(self, node: Json) -> None:
        parts: tuple[Json, ...] = (
            {"type": "string"},
            {"minimum": 1},
            {"required": ["a"]},
            {"properties": {"a": {"enum": ["a"]}}},
            {"properties": {"nope": {"enum": ["a"]}}},
            {"properties": {"a": {"type": "string"}}},
            {"items": {"minLength": 1}},
            {"default": 1},
            {"description": "x"},
            {"title": "x"},
            {"nullable": True},
            {"additionalProperties": {"minLength": 1}},
            {"pattern": "("},
            {"pattern": "a"},
            {"not": {"minimum": 1}},
            {"allOf": [{"type": "string"}]},
            {"allOf": [{"minLength": 1}]},
            {"x-kubernetes-preserve-unknown-fields": True},
            {"x-kubernetes-int-or-string": True},
            {"x-kubernetes-list-type": "set"},
            {"x-kubernetes-validations": [{"rule": "true"}]},
            {"enum": ["a"]},
            {"format": "ipv4"},
            {},
        )
        name = self._pick(("allOf", "anyOf", "oneOf", "not"))
        if name == "not":
            node["not"] = self._pick(parts)
        else:
            node[name] = [self._pick(parts) for _ in range(self._pick((0, 1, 2)))]
        if self._maybe(0.15):
            node["x-kubernetes-int-or-string"] = True
            node["anyOf"] = self._pick(
                (
                    [{"type": "integer"}, {"type": "string"}],
                    [{"type": "string"}, {"type": "integer"}],
                    [{"type": "integer"}],
                )
            )
            node.pop("type", None)

    def _rules(self, crd: Json) -> None:
        nodes = self._nodes(crd)
        if not nodes:
            return
        rule: Json = {"rule": self._pick(RULES)}
        if self._maybe(0.2):
            rule["message"] = self._pick(("no", "", " ", "a\nb", "x" * 2049))
        if self._maybe(0.2):
            rule["messageExpression"] = self._pick(
                ("'a'", "self", "1", "", "'a' + self.text", "oldSelf.text", "'a'.x")
            )
        if self._maybe(0.15):
            rule["reason"] = self._pick(
                (
                    "FieldValueInvalid",
                    "FieldValueRequired",
                    "x",
                    "",
                    "FieldValueTooLong",
                )
            )
        if self._maybe(0.2):
            paths = (".text", ".nope", "text", "", ".obj.text", ".map['a']", ".list[0]")
            rule["fieldPath"] = self._pick((*paths, ".map.a", "['text']", ".a-b", "."))
        if self._maybe(0.15):
            rule["optionalOldSelf"] = self._maybe(0.8)
        node = self._pick(nodes)
        if self._maybe(0.6):  # most rules name its fields
            objects = [n for n in nodes if "text" in (n.get("properties") or {})]
            node = self._pick(objects or nodes)
        if "x-kubernetes-int-or-string" in node or "additionalProperties" in node:
            return  # the cost of a rule is estimated lower here
        node.setdefault("x-kubernetes-validations", []).append(rule)
