"""OpenAPI 2 in protobuf, which kubectl requires: parameters of operations. Pure.

The document has no schemas, because kubectl reads them from OpenAPI 3 in JSON. The
field numbers are those of gnostic's OpenAPIv2 messages.
"""

from collections.abc import Iterable

from asoreconcile.testing.kube.kinds.resources import RestResource

MEDIA_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_ASKED = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
_PARAMETERS = ("dryRun", "fieldManager", "fieldValidation", "force")
_SWAGGER, _INFO, _PATHS = 1, 2, 8
_PATCH, _OPERATION_PARAMETERS, _EXTENSION = 8, 8, 13


def is_wanted(accept: str) -> bool:
    """Return whether a client accepts only this format."""
    return accept.strip() in (_ASKED, MEDIA_TYPE)


def document(chosen: Iterable[RestResource], version: str) -> bytes:
    """Return the operations of all resources."""
    info = _text(1, "Kubernetes") + _text(2, version)
    paths = b"".join(_inside(2, _path(resource)) for resource in chosen)
    head = _text(_SWAGGER, "2.0") + _inside(_INFO, info)
    return head + _inside(_PATHS, paths)


def _path(resource: RestResource) -> bytes:
    root = f"/apis/{resource.group}" if resource.group else "/api"
    middle = "/namespaces/{namespace}" if resource.namespaced else ""
    name = f"{root}/{resource.version}{middle}/{resource.plural}/{{name}}"
    operation = b"".join(
        _inside(_OPERATION_PARAMETERS, _query(parameter)) for parameter in _PARAMETERS
    )
    operation += _inside(_EXTENSION, _named("x-kubernetes-action", "patch\n"))
    kind = f"kind: {resource.kind}\nversion: {resource.version}\n"
    kind = f'group: "{resource.group}"\n{kind}'
    operation += _inside(_EXTENSION, _named("x-kubernetes-group-version-kind", kind))
    return _text(1, name) + _inside(2, _inside(_PATCH, operation))


def _query(name: str) -> bytes:
    """Return a query parameter, in its enclosing messages."""
    parameter = _text(2, "query") + _text(4, name) + _text(6, "string")
    return _inside(1, _inside(2, _inside(3, parameter)))


def _named(name: str, yaml: str) -> bytes:
    return _text(1, name) + _inside(2, _text(2, yaml))


def _text(number: int, value: str) -> bytes:
    return _inside(number, value.encode())


def _inside(number: int, value: bytes) -> bytes:
    """Return a field that contains a message or a text."""
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)
