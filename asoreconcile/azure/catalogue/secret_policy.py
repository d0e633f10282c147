"""Builds the admission policy for Secrets that a spec names: its writer may get them.

A ValidatingAdmissionPolicy (from Kubernetes 1.30 on) asks the API server's own
authorizer about the user of the write, so no answer depends on the caller of a webhook,
and nothing has to be signed. The places of Secrets in a spec come from the catalogue.

Pure. Rule: WH-11.
"""

from collections.abc import Iterable, Iterator, Mapping

import attrs

from asoreconcile.azure.catalogue.conversion import STORED_SUFFIX
from asoreconcile.azure.catalogue.inputs import has_secrets
from asoreconcile.azure.catalogue.kinds import Kind
from asoreconcile.azure.catalogue.tables import Table
from asoreconcile.azure.catalogue.webhook_manifests import WRITTEN
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import JsonObject, spec

POLICY_NAME = "secrets.azure.com"
POLICIES_API = "admissionregistration.k8s.io/v1"
MOST_NAMES = 20
"""Names of Secrets in one spec that are asked about one by one.

The API server ends a policy at a cost of 10,000,000, and a question costs 350,000.
"""

_SECRETS = "authorizer.group('').resource('secrets').namespace(request.namespace)"
# Words that CEL keeps for itself: a field of this name needs another way to be read.
_RESERVED = frozenset(
    (
        *("as", "break", "const", "continue", "else", "false", "for", "function"),
        *("if", "import", "in", "let", "loop", "namespace", "null", "package"),
        *("return", "true", "var", "void", "while"),
    )
)


class SecretPolicyError(AsoreconcileError):
    """A field cannot be named in an expression; the message names it."""


@attrs.define
class _Place:
    """A field that contains the name of a Secret, or fields that do.

    nesting: the lists and maps around its value, outermost first.
    """

    nesting: str = ""
    is_secret: bool = False
    below: dict[str, "_Place"] = attrs.field(factory=dict)


def secret_kinds(kinds: Iterable[Kind]) -> list[Kind]:
    """Return the kinds of which a version may name Secrets, in order."""
    found = [
        kind
        for kind in kinds
        if any(has_secrets(kind.version(name).table) for name in kind.versions)
    ]
    return sorted(found, key=lambda kind: (kind.group, kind.plural))


def secret_policy(kinds: Iterable[Kind], *, name: str = POLICY_NAME) -> JsonObject:
    """Return the policy for all kinds that may name Secrets.

    It looks at creations, and at updates of the spec or of the credential, in every
    served version. The user of the write must be allowed to `get` each Secret that the
    spec names, or all Secrets of the namespace. In a stored form, which operators
    write, names may be hidden in a property bag: it needs all.
    """
    found = secret_kinds(kinds)
    return {
        "apiVersion": POLICIES_API,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            # Every version by itself: a conversion costs a call of the webhook.
            "matchConstraints": {
                "matchPolicy": "Exact",
                "resourceRules": _rules(found),
            },
            "matchConditions": [{"name": "written", "expression": WRITTEN}],
            "variables": [
                {"name": "it", "expression": "dyn(object)"},
                {"name": "every", "expression": f"{_SECRETS}.check('get').allowed()"},
                *(
                    {"name": f"of{number}", "expression": _names(kind)}
                    for number, kind in enumerate(found)
                ),
                {"name": "named0", "expression": _all_names(len(found))},
                *(
                    {
                        "name": f"named{number + 1}",
                        "expression": f"variables.named{number}.filter("
                        f"x, x != variables.named{number}[0])",
                    }
                    for number in range(MOST_NAMES)
                ),
            ],
            "validations": [
                {
                    "expression": "variables.every || "
                    f"!request.kind.version.endsWith('{STORED_SUFFIX}')",
                    "message": "a stored form may name any Secret: its writer must be "
                    "allowed to get all Secrets of the namespace; write another one",
                    "reason": "Forbidden",
                },
                *(_validation(number) for number in range(MOST_NAMES)),
                {
                    "expression": f"size(variables.named{MOST_NAMES}) == 0 || "
                    "variables.every",
                    "message": f"the spec names more than {MOST_NAMES} Secrets: its "
                    "writer must be allowed to get all Secrets of the namespace",
                    "reason": "Forbidden",
                },
            ],
        },
    }


def secret_policy_binding(*, name: str = POLICY_NAME) -> JsonObject:
    """Return the binding that puts the policy in force in all namespaces."""
    return {
        "apiVersion": POLICIES_API,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }


def why_not_in_force(
    policy: JsonObject | None, binding: JsonObject | None, kinds: Iterable[Kind]
) -> str:
    """Return why a cluster's policy does not protect the Secrets of all kinds; "" if it
    does.

    policy, binding: the documents as the API server returns them, with its defaults;
    None for one that is not there.
    """
    if policy is None:
        return f"there is no ValidatingAdmissionPolicy {POLICY_NAME}"
    if binding is None:
        return f"there is no ValidatingAdmissionPolicyBinding {POLICY_NAME}"
    wanted, found = spec(secret_policy(kinds)), spec(policy)
    members = ("failurePolicy", "matchConditions", "variables", "validations")
    differs = any(found.get(member) != wanted[member] for member in members)
    match = found.get("matchConstraints") or {}
    if differs or not _covers(match, wanted["matchConstraints"]["resourceRules"]):
        return (
            f"the ValidatingAdmissionPolicy {POLICY_NAME} is not that of this release: "
            "apply it again"
        )
    bound = spec(binding)
    if bound.get("policyName") != POLICY_NAME:
        return f"the binding {POLICY_NAME} is of another policy"
    if "Deny" not in (bound.get("validationActions") or ()):
        return f"the binding {POLICY_NAME} does not deny"
    if bound.get("matchResources") or bound.get("paramRef"):
        return f"the binding {POLICY_NAME} does not hold for all objects"
    return ""


def _covers(match: JsonObject, rules: list[JsonObject]) -> bool:
    """Return whether constraints match at least the writes of the rules."""
    if match.get("excludeResourceRules"):
        return False
    if match.get("namespaceSelector") or match.get("objectSelector"):
        return False
    has = match.get("resourceRules") or []
    return all(rule in has for rule in rules)


def _rules(kinds: Iterable[Kind]) -> list[JsonObject]:
    by_group: dict[str, list[str]] = {}
    for kind in kinds:
        by_group.setdefault(kind.group, []).append(kind.plural)
    return [
        {
            "apiGroups": [group],
            "apiVersions": ["*"],
            "operations": ["CREATE", "UPDATE"],
            "resources": plurals,
            "scope": "Namespaced",
        }
        for group, plurals in sorted(by_group.items())
    ]


def _validation(number: int) -> JsonObject:
    first = f"variables.named{number}[0]"
    return {
        "expression": f"size(variables.named{number}) == 0 || variables.every || "
        f"{_SECRETS}.name({first}).check('get').allowed()",
        "messageExpression": f"'you may not get the Secret ' + {first} + ', which the "
        "spec names'",
        "reason": "Forbidden",
    }


def _all_names(count: int) -> str:
    """Return the expression for the list of the names of all Secrets in a spec."""
    # Lists of lists cannot be made one list; texts can, and no name has a comma.
    of_kinds = ", ".join(f"variables.of{number}" for number in range(count))
    return f"[{of_kinds}].join(',').split(',').filter(x, x != '')"


def _names(kind: Kind) -> str:
    """Return the expression for the names in a spec, with commas; '' for another
    kind.
    """
    texts = _texts("variables.it", {"spec": _Place(below=_places_of(kind))}, 0)
    return (
        f"request.kind.group == '{kind.group}' && "
        f"request.kind.kind == '{kind.group_kind.kind}' ? {_joined(texts)} : ''"
    )


def _joined(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}].join(',')"


def _texts(
    at: str, places: Mapping[str, _Place], depth: int, given: str = ""
) -> list[str]:
    """Return an expression for each place below an object, for its names with commas.

    depth: number of lists and maps around the object. given: a condition that the
    object is there. Conditions are not nested: engines limit the depth of expressions.
    Each expression has the type string: API servers refuse lists of several types.
    """
    found: list[str] = []
    for name, place in sorted(places.items()):
        here = f"{at}.{name}"
        is_there = f"{given} && has({here})" if given else f"has({here})"
        if place.nesting:
            found.append(
                f"({is_there} ? {_each(here, place, place.nesting, depth)} : '')"
            )
        elif place.is_secret:
            found.append(f"({is_there} && has({here}.name) ? string({here}.name) : '')")
        else:
            found += _texts(here, place.below, depth, is_there)
    return found


def _each(at: str, place: _Place, nesting: str, depth: int) -> str:
    """Return the expression for the names in each item of a list or map."""
    one = f"x{depth}"
    item = one if nesting.startswith("[]") else f"{at}[{one}]"
    if nesting[2:]:
        inner = _each(item, place, nesting[2:], depth + 1)
    elif place.is_secret:
        inner = f"has({item}.name) ? string({item}.name) : ''"
    else:
        inner = _joined(_texts(item, place.below, depth + 1))
    return f"{at}.map({one}, {inner}).join(',')"


def _places_of(kind: Kind) -> dict[str, _Place]:
    """Return the places of Secrets in the specs of all versions of a kind.

    Raises SecretPolicyError for a field that versions nest in different ways, or that
    CEL cannot name.
    """
    root = _Place()
    for name in kind.versions:
        for steps in _paths(kind.version(name).table):
            place = root
            for source, nesting in steps:
                if source in _RESERVED or not source.isidentifier():
                    raise SecretPolicyError(f"{kind.group_kind}: CEL names no {source}")
                known = place.below.setdefault(source, _Place(nesting))
                if known.nesting != nesting:
                    raise SecretPolicyError(
                        f"{kind.group_kind}: {source} is two things"
                    )
                place = known
            place.is_secret = True
    return root.below


def _paths(
    table: Table, seen: frozenset[int] = frozenset()
) -> Iterator[tuple[tuple[str, str], ...]]:
    """Yield the steps to each field of a table that names a Secret, with nestings."""
    for field in table.fields:
        step = (field.source, field.nesting)
        if field.is_secret:
            yield (step,)
        elif field.table is not None and id(field.table) not in seen:
            for rest in _paths(field.table, seen | {id(field.table)}):
                yield (step, *rest)
