"""Answers of ARM for test tables: a status, a body, and headers by short names."""

import orjson

from asoreconcile.azure.arm.response import ArmResponse

ID = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Net/things/n"


def answer(status, body=None, **headers):
    names = {"aao": "azure-asyncoperation", "loc": "location", "ra": "retry-after"}
    content = b"" if body is None else orjson.dumps(body)
    return ArmResponse(
        status, {names[key]: value for key, value in headers.items()}, content
    )


def resource(state=None, **more):
    properties = {} if state is None else {"provisioningState": state}
    return {"id": ID, "properties": properties, **more}
