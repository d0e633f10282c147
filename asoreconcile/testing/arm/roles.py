"""Azure's built-in roles, which have the same ids in every tenant."""

from asoreconcile.base.objects import JsonObject

_BUILT_IN = {
    "Owner": "8e3af657-a8ff-443c-a75c-2fe8c4bcb635",
    "Contributor": "b24988ac-6180-42a0-ab88-20f7382dd24c",
    "Reader": "acdd72a7-3385-48ef-bd42-f606fba81ae7",
    "Network Contributor": "4d97b98b-1d4f-4787-a291-c67834d212e7",
    "Storage Blob Data Owner": "b7e6dc6d-f1e8-4753-8033-0f276bb0955b",
    "Storage Blob Data Contributor": "ba92f5b4-2d11-453d-a403-e96b0029c9fe",
    "Storage Blob Data Reader": "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1",
    "Key Vault Administrator": "00482a5a-887f-4fb3-b363-3b7fe8e74483",
    "Key Vault Secrets User": "4633458b-17de-408a-b874-0445c86b69e6",
    "AcrPull": "7f951dda-4ed3-4680-a7ca-43fe172d538d",
}


def role_definitions(scope: str) -> JsonObject:
    """Return the list of role definitions for a scope."""
    prefix = f"{scope}/providers/Microsoft.Authorization/roleDefinitions"
    return {
        "value": [
            {
                "id": f"{prefix}/{id_}",
                "type": "Microsoft.Authorization/roleDefinitions",
                "name": id_,
                "properties": {
                    "roleName": name,
                    "type": "BuiltInRole",
                    "assignableScopes": ["/"],
                    "permissions": [],
                },
            }
            for name, id_ in _BUILT_IN.items()
        ]
    }
