"""An object's health as Argo CD would see it, by the script in `deploy/argocd.yaml`."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from asoreconcile.base.objects import JsonObject

_FILE = Path(__file__).parent.parent / "deploy" / "argocd.yaml"


def argo_health(obj: JsonObject) -> tuple[str, str]:
    """Return (status, message) of an object. Skips the test if Lua is not installed."""
    lupa = pytest.importorskip("lupa.lua51", reason="no Lua: pip install lupa")
    lua = lupa.LuaRuntime()
    run = lua.eval(
        "function(obj, script) _G.obj = obj; return loadstring(script)() end"
    )
    health = run(_as_tables(lua, obj), script())
    return health["status"], health["message"]


def script() -> str:
    config = yaml.safe_load(_FILE.read_text())
    customizations = yaml.safe_load(config["data"]["resource.customizations"])
    found: str = customizations["*.azure.com/*"]["health.lua"]
    return found


def _as_tables(lua: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return lua.table_from({name: _as_tables(lua, v) for name, v in value.items()})
    if isinstance(value, list):
        return lua.table_from([_as_tables(lua, v) for v in value])
    return value
