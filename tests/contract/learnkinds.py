"""Facts of built-in kinds, taken from a real kube-apiserver: `hack/kube-kinds`.

The facts are the types of the server's OpenAPI, the values that the server fills in if
an object of workloads.yaml leaves them out, and the causes for a field that is missing,
wrong, too small or empty. A fact must hold wherever the field occurs. Code covers what
depends on other fields (`kinds/workloads.py` and its neighbours).
"""

import copy
import json
import os
import re
import sys
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import yaml
from contractclient import Server

from asoreconcile.testing import envtest

HERE = Path(__file__).parent
ANSWERS = HERE / "workloads.json"
TARGET = HERE.parents[1] / "asoreconcile/testing/kube/kinds/workloads.json"
SAMPLES = HERE / "workloads.yaml"
_DROPPED = ("uid", "creationTimestamp", "managedFields", "resourceVersion")
_SCALARS = {
    "Time": "time",
    "MicroTime": "microtime",
    "Quantity": "quantity",
    "IntOrString": "intOrString",
    "FieldsV1": "json",
    "RawExtension": "json",
}
# Code in `kinds/` covers what depends on other fields or on the caller.
_BY_CODE = {
    *(("PodSpec", f) for f in ("enableServiceLinks", "preemptionPolicy", "priority")),
    *(("PodSpec", f) for f in ("serviceAccount", "tolerations")),
    *(("JobSpec", f) for f in ("backoffLimit", "completionMode", "completions")),
    *(("JobSpec", f) for f in ("manualSelector", "parallelism", "selector", "suspend")),
    *(("ServiceSpec", f) for f in ("allocateLoadBalancerNodePorts", "clusterIP")),
    *(("ServiceSpec", f) for f in ("clusterIPs", "externalTrafficPolicy")),
    *(("ServiceSpec", f) for f in ("internalTrafficPolicy", "ipFamilies")),
    *(("ServiceSpec", f) for f in ("ipFamilyPolicy", "sessionAffinityConfig")),
    ("Container", "imagePullPolicy"),
    ("JobSpec", "podReplacementPolicy"),
    ("Node", "spec"),
    ("NodeSpec", "podCIDRs"),
    ("PersistentVolumeClaim", "status"),
    ("PodTemplateSpec", "metadata"),
    ("ServicePort", "nodePort"),
    ("ServicePort", "targetPort"),
    ("Volume", "emptyDir"),
}
_NUMBERS = re.compile(
    r"must be (between \d+ and \d+, inclusive|in the range \d+-\d+|"
    r"(greater|less) than (or equal to )?(\d+|zero))$"
)
AS_TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
SHOWN = (
    *("Pod", "Service", "PersistentVolumeClaim", "Deployment", "ReplicaSet", "Node"),
    *("StatefulSet", "DaemonSet", "Job", "CronJob", "Ingress", "NetworkPolicy"),
    "PodDisruptionBudget",
)
_NODES_WIDE = (
    *("Internal-IP", "External-IP", "OS-Image", "Kernel-Version"),
    "Container-Runtime",
)
_WRONG = "?wrong?"
_LOW = -1


Json = dict[str, Any]
Place = tuple[str | int, ...]


def samples() -> list[Json]:
    return [one for one in yaml.safe_load_all(SAMPLES.read_text()) if one]


class Types:
    """The server's types by their short names, in the form of workloads.json."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, list[Any]]] = {}
        self.atomic: set[Any] = set()

    def take(self, schemas: Json, name: str) -> None:
        short = name.rpartition(".")[2]
        if short in self.found or short in _SCALARS or short == "ObjectMeta":
            return
        schema = schemas[name]
        fields = self.found[short] = {}
        if schema.get("x-kubernetes-map-type") == "atomic":
            self.atomic.add(short)
        is_kind = "x-kubernetes-group-version-kind" in schema
        for field, part in (schema.get("properties") or {}).items():
            if not is_kind or field not in ("apiVersion", "kind", "metadata"):
                options = self._options(part)
                # An empty object is shown anyway, because Go does not leave it out.
                if "default" in part or field in (schema.get("required") or ()):
                    options["always"] = True
                fields[field] = [self._sort(schemas, part), options]

    def _sort(self, schemas: Json, part: Json) -> str:
        if name := _named(part):
            self.take(schemas, name)
            short = name.rpartition(".")[2]
            return _SCALARS.get(short, short)
        if part.get("type") == "array":
            return "[]" + self._sort(schemas, part["items"])
        if part.get("type") == "object":
            inner = part.get("additionalProperties")
            return "{}" + self._sort(schemas, inner) if inner else "json"
        if part.get("type") == "string":
            return "bytes" if part.get("format") == "byte" else "string"
        kinds: dict[Any, str] = {
            "integer": part.get("format", "int32"),
            "boolean": "bool",
        }
        return kinds.get(part.get("type"), "json")

    @staticmethod
    def _options(part: Json) -> Json:
        said = {
            "listType": part.get("x-kubernetes-list-type"),
            "listKeys": part.get("x-kubernetes-list-map-keys"),
            "mapType": part.get("x-kubernetes-map-type"),
            "mergeKey": part.get("x-kubernetes-patch-merge-key"),
            "patch": part.get("x-kubernetes-patch-strategy"),
            "enum": part.get("enum"),
        }
        return {name: value for name, value in said.items() if value}


def _named(part: Json) -> str:
    refs = [part, *(part.get("allOf") or ())]
    found = next((one["$ref"] for one in refs if "$ref" in one), "")
    return found.rpartition("/")[2]


class Learner:
    def __init__(self, server: Server) -> None:
        self.server = server
        self.types = Types()
        self.kinds: dict[str, Json] = {}
        self.answers: Json = {}
        # (type, field) -> the observed values: a JSON text, or None if there was no
        # value.
        self.seen: dict[str, dict[str, set[Any]]] = defaultdict(
            lambda: defaultdict(set)
        )

    def learn(self) -> Json:
        everything = samples()
        for api in dict.fromkeys(one["apiVersion"] for one in everything):
            wanted = {o["kind"] for o in everything if o["apiVersion"] == api}
            self._take_group(api, wanted)
        for obj in everything:
            self._observe(obj)
        for obj in everything:
            self._provoke(obj)
        return self._document()

    def _take_group(self, api: str, wanted: Collection[str]) -> None:
        base = f"apis/{api}" if "/" in api else f"api/{api}"
        document = self.server.get(f"/openapi/v3/{base}").json
        listed = self.server.get(f"/{base}").json["resources"]
        for name, schema in document["components"]["schemas"].items():
            for gvk in schema.get("x-kubernetes-group-version-kind") or ():
                if gvk["kind"] in wanted and "List" not in gvk["kind"]:
                    self.types.take(document["components"]["schemas"], name)
        for one in listed:
            plural, _, part = one["name"].partition("/")
            if one["kind"] in wanted and not part:
                self.kinds[f"{api}/{one['kind']}"] = {
                    "plural": plural,
                    "singular": one["singularName"],
                    "namespaced": one["namespaced"],
                    "shortNames": one.get("shortNames", []),
                    "categories": one.get("categories", []),
                    "parts": [
                        other["name"].partition("/")[2]
                        for other in listed
                        if other["name"].partition("/")[0] == plural
                        and other["name"].partition("/")[2]
                        in ("status", "scale", "eviction", "binding")
                    ],
                }

    def _path(self, obj: Json) -> str:
        api, kind = obj["apiVersion"], self.kinds[f"{obj['apiVersion']}/{obj['kind']}"]
        base = f"/apis/{api}" if "/" in api else f"/api/{api}"
        space = "/namespaces/default" if kind["namespaced"] else ""
        return f"{base}{space}/{kind['plural']}?dryRun=All"

    def _send(self, obj: Json) -> Any:
        return self.server.post(self._path(obj), obj)

    def _observe(self, obj: Json) -> None:
        answer = self._send(obj).expect(201).json
        name = f"{obj['kind']} {obj['metadata']['name']}"
        self.answers[name] = filled_in(obj, answer)
        if obj["kind"] in SHOWN:
            path = self._path(obj)
            table = self.server.call("POST", path, obj, headers=AS_TABLE).expect(201)
            self.answers[f"{name} shown"] = shown(table.json)
        kind = self.kinds[f"{obj['apiVersion']}/{obj['kind']}"]
        meta = answer["metadata"]
        kind["generation"] = "generation" in meta
        if finalizers := meta.get("finalizers"):
            kind["finalizers"] = finalizers
        status = answer.pop("status", None)
        if status is not None:
            status = {n: v for n, v in status.items() if not n.endswith("Time")}
        kind.setdefault("status", json.dumps(status, sort_keys=True))
        if kind["status"] != json.dumps(status, sort_keys=True):
            kind["status"] = "null"
        self._compare(obj["kind"], obj, answer)

    def _compare(self, sort: str, sent: Any, got: Any) -> None:
        for field, (inner, _) in self.types.found.get(sort, {}).items():
            if field not in sent:
                value = json.dumps(got[field], sort_keys=True) if field in got else None
                self.seen[sort][field].add(value)
            if field in got:
                self._inside(inner, sent.get(field), got[field])

    def _inside(self, sort: str, sent: Any, got: Any) -> None:
        if sort.startswith("[]") and isinstance(got, list) and isinstance(sent, list):
            for one, other in zip(sent, got, strict=False):
                self._inside(sort[2:], one, other)
        elif sort.startswith("{}") and isinstance(sent, dict):
            for name in sent.keys() & got.keys():
                self._inside(sort[2:], sent[name], got[name])
        elif sort in self.types.found and isinstance(sent, dict):
            self._compare(sort, sent, got)

    def _provoke(self, obj: Json) -> None:
        for path, sort, field, inner in self._places(obj["kind"], obj, ()):
            options = self.types.found[sort][field][1]
            self._without(obj, path, options)
            if inner == "string":
                self._with(obj, path, options, _WRONG)
            if inner in ("int32", "int64", "intOrString"):
                self._with(obj, path, options, _LOW)
                self._with(obj, path, options, 1 << 30)
            self._emptied(obj, path, options, inner)

    def _places(
        self, sort: str, value: Any, path: Place
    ) -> Iterator[tuple[Place, str, str, str]]:
        for field, (inner, _) in self.types.found.get(sort, {}).items():
            if field == "status" or field not in value:
                continue
            here = (*path, field)
            yield here, sort, field, inner
            held, of = value[field], inner
            if of.startswith("[]"):
                for index, item in enumerate(held):
                    if isinstance(item, dict):
                        yield from self._places(of[2:], item, (*here, index))
            elif isinstance(held, dict):
                yield from self._places(of, held, here)

    def _refused(self, obj: Json, path: Place) -> tuple[Any, list[Json]]:
        """Return the causes at exactly this path: reason and text."""
        answer = self._send(obj)
        if answer.status != 422:
            return answer, []
        at = _dotted(path)
        return answer, [one for one in answer.causes if one.get("field") == at]

    def _without(self, obj: Json, path: Place, options: Any) -> None:
        changed = copy.deepcopy(obj)
        holder = _holder(changed, path)
        del holder[path[-1]]
        _, causes = self._refused(changed, path)
        for one in causes:
            if one["reason"] == "FieldValueRequired":
                words = one["message"].partition(": ")[2]
                options.setdefault("required", words)

    def _with(self, obj: Json, path: Place, options: Any, value: Any) -> None:
        changed = copy.deepcopy(obj)
        _holder(changed, path)[path[-1]] = value
        _, causes = self._refused(changed, path)
        for one in causes:
            text = one["message"].partition(f"Invalid value: {json.dumps(value)}: ")[2]
            if one["reason"] == "FieldValueInvalid" and text:
                if isinstance(value, int) and _NUMBERS.search(text):
                    options.setdefault("number", text)
                elif value == _WRONG and "regex used" in text:
                    options.setdefault("text", text)
            elif one["reason"] == "FieldValueNotSupported" and value == _WRONG:
                known = one["message"].partition("supported values: ")[2]
                choices = json.loads(f"[{known}]")
                if not options.get("checked") or len(choices) > len(options["enum"]):
                    # the code handles kinds that allow fewer values
                    options["enum"] = choices
                options["checked"] = True

    def _emptied(self, obj: Json, path: Place, options: Any, inner: str) -> None:
        """Return whether an empty value is kept, as in a pointer in Go."""
        zero = _zero(inner)
        if zero is None:
            return
        changed = copy.deepcopy(obj)
        _holder(changed, path)[path[-1]] = zero
        answer = self._send(changed)
        if answer.status != 201:
            return
        found = _holder(answer.json, path)
        kept = isinstance(found, dict) and path[-1] in found
        kept = kept and found[path[-1]] == zero
        options["keepsEmpty"] = options.get("keepsEmpty", False) or kept

    def _document(self) -> Json:
        for sort, fields in self.types.found.items():
            for field, (_, options) in fields.items():
                values = self.seen[sort][field]
                if values:  # a valid object lacks the field
                    options.pop("required", None)
                if len(values) == 1 and (value := next(iter(values))) is not None:
                    if field != "status" and (sort, field) not in _BY_CODE:
                        options["default"] = json.loads(value)
                elif len(values) > 1 and (sort, field) not in _BY_CODE:
                    told = sorted(map(str, values))
                    line = f"depends: {sort}.{field}: {told}"
                    sys.stderr.write(f"{line[:150]}\n")
                if "checked" not in options:
                    options.pop("enum", None)
                options.pop("checked", None)
        for kind in self.kinds.values():
            kind["status"] = json.loads(kind["status"])
        version = self.server.get("/version").json
        return {
            "server": f"v{version['major']}.{version['minor']}",
            "kinds": self.kinds,
            "atomic": sorted(self.types.atomic),
            "types": {
                sort: {
                    field: [inner, options] if options else inner
                    for field, (inner, options) in fields.items()
                }
                for sort, fields in sorted(self.types.found.items())
            },
        }


def filled_in(sent: Any, got: Any, at: str = "") -> list[str]:
    """Return the differences between a sent object and the server's, a line for each.

    Values that every server makes up, such as addresses, are all shown alike.
    """
    if isinstance(sent, dict) and isinstance(got, dict):
        lines = []
        for name in sorted(sent.keys() | got.keys()):
            here = f"{at}.{name}"
            if not at and name == "metadata":
                got_meta = {n: v for n, v in got[name].items() if n not in _DROPPED}
                got_meta.pop("namespace", None)
                lines += filled_in(sent[name], got_meta, here)
            elif name not in sent:
                lines.append(f"+ {here} {_alike(got[name])}")
            elif name not in got:
                lines.append(f"- {here}")
            else:
                lines += filled_in(sent[name], got[name], here)
        return lines
    if isinstance(sent, list) and isinstance(got, list) and len(sent) == len(got):
        pairs = enumerate(zip(sent, got, strict=True))
        return [x for i, (a, b) in pairs for x in filled_in(a, b, f"{at}[{i}]")]
    return [] if sent == got else [f"~ {at} {_alike(got)}"]


def shown(table: Json) -> list[Any]:
    """Return the columns of a Table and the cells of its row, without a Node's wide
    columns.
    """
    (row,) = table["rows"]
    return [
        f"{column['name']} ({column['type']}, {column['priority']}) {_alike(cell)}"
        for column, cell in zip(table["columnDefinitions"], row["cells"], strict=True)
        if column["name"] != "Age" and column["name"] not in _NODES_WIDE
    ]


def _alike(value: Any) -> str:
    text = json.dumps(value, sort_keys=True)
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z", "TIME", text)
    text = re.sub(r"10\.\d+\.\d+\.\d+", "ADDRESS", text) if "/" not in text else text
    return re.sub(r"(?<=^)3\d{4}$|(?<=:)3\d{4}(?=/)", "PORT", text)


def _zero(inner: str) -> Any:
    if inner.startswith("[]"):
        return []
    if inner.startswith("{}"):
        return {}
    return {"string": "", "int32": 0, "int64": 0, "bool": False}.get(inner)


def _holder(obj: Any, path: Place) -> Any:
    for step in path[:-1]:
        try:
            obj = obj[step]
        except (KeyError, IndexError):
            return {}
    return obj


def _dotted(path: Place) -> str:
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return text.removeprefix(".")


def text_of(document: Json) -> str:
    """Return JSON with a line for each type and kind, so that diffs are readable."""
    parts = []
    for name in ("kinds", "types"):
        rows = ",\n".join(
            f"  {json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}"
            for key, value in document[name].items()
        )
        parts.append(f' "{name}": {{\n{rows}\n }}')
    head = f' "server": {json.dumps(document["server"])},\n'
    head += f' "atomic": {json.dumps(document["atomic"])},\n'
    return "{\n" + head + ",\n".join(parts) + "\n}\n"


def main() -> None:
    url = os.environ.get("ASORECONCILE_CONTRACT_URL")
    with ExitStack() as stack:
        if url:
            token = os.environ["ASORECONCILE_CONTRACT_TOKEN"]
            trusted = Path(os.environ["ASORECONCILE_CONTRACT_CA"]).read_text()
        else:
            folder = Path(os.environ["KUBEBUILDER_ASSETS"])
            real = stack.enter_context(envtest.running(folder))
            url, token, trusted = real.url, real.token, real.authority_pem
        learner = Learner(Server(url, token, trusted))
        texts = {TARGET: text_of(learner.learn())}
        rows = ",\n".join(
            f" {json.dumps(name)}: {json.dumps(lines, indent=2)}"
            for name, lines in learner.answers.items()
        )
        texts[ANSWERS] = f"{{\n{rows}\n}}\n"
    for path, text in texts.items():
        if "--check" not in sys.argv:
            path.write_text(text)
        elif path.read_text() != text:
            sys.exit(f"{path} is not what the server says: run hack/kube-kinds")


if __name__ == "__main__":
    main()
