"""Answers of ARM for test tables: a status, a body, and headers by short names."""

import orjson

from asoreconcile.azure.arm.response import ArmResponse
from asoreconcile.base.objects import JsonObject

ID = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Net/things/n"


def answer(status: int, body: object = None, **headers: str) -> ArmResponse:
    names = {"aao": "azure-asyncoperation", "loc": "location", "ra": "retry-after"}
    content = b"" if body is None else orjson.dumps(body)
    return ArmResponse(
        status, {names[key]: value for key, value in headers.items()}, content
    )


def resource(state: object = None, **more: object) -> JsonObject:
    properties = {} if state is None else {"provisioningState": state}
    return {"id": ID, "properties": properties, **more}
