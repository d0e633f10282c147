"""Parts of Deployments and Secrets that several checks read. Pure."""

import base64
from collections.abc import Mapping, Sequence

from asoreconcile.azure.controllers.settings import Settings, from_environment
from asoreconcile.base.objects import JsonObject, dig, key_of


def containers_of(deployment: JsonObject | None) -> Sequence[JsonObject]:
    """Return the containers of a Deployment's pods; () if there is no Deployment."""
    return dig(deployment or {}, "spec.template.spec.containers") or ()


def arguments_of(deployment: JsonObject | None) -> list[str]:
    """Return the arguments of all containers of a Deployment's pods."""
    return [
        str(word) for one in containers_of(deployment) for word in one.get("args") or ()
    ]


def variables_of(container: JsonObject) -> dict[str, str]:
    """Return the environment variables of a container that have a value."""
    return {
        str(one.get("name")): str(one.get("value") or "")
        for one in container.get("env") or ()
    }


def data_of(secret: JsonObject) -> Mapping[str, bytes]:
    """Return the values of a Secret by key."""
    data = secret.get("data") or {}
    return {key: base64.b64decode(value) for key, value in data.items()}


def texts_of(secret: JsonObject) -> dict[str, str]:
    """Return the values of a Secret by key, as texts."""
    return {k: v.decode(errors="replace") for k, v in data_of(secret).items()}


def settings_in(secret: JsonObject) -> Settings:
    """Return the operator's settings that a Secret holds. Raises SettingsError."""
    namespace = key_of(secret).namespace
    return from_environment({"POD_NAMESPACE": namespace, **texts_of(secret)})


def setting_of(
    deployment: JsonObject | None, settings: JsonObject | None, name: str
) -> str:
    """Return one setting of an operator: of its Deployment, else of its Secret."""
    stated = [variables_of(one) for one in containers_of(deployment)]
    stated.append(texts_of(settings or {}))
    return next(filter(None, (one.get(name) for one in stated)), "").strip()


def names_in(text: str) -> list[str]:
    """Return the names of a list with commas."""
    return [name for one in text.split(",") if (name := one.strip())]
