"""The extension sets that come with the project."""

from functools import cache
from importlib import import_module

from asoreconcile.middleware.extension_set import ExtensionSet

# Each holds one set, named EXTENSIONS.
_MODULES = (
    "apimanagement.keys",
    "apimanagement.product",
    "app.errors",
    "appconfiguration.configuration_store",
    "authorization.role_assignment",
    "authorization.role_definition",
    "cache.keys",
    "cdn.errors",
    "cognitiveservices.account",
    "communication.communication_service",
    "compute.errors",
    "compute.virtual_machine_scale_set",
    "containerservice.agent_pool",
    "containerservice.errors",
    "containerservice.managed_cluster",
    "dataprotection.backup_instance",
    "dbformariadb.server",
    "dbformysql.configurations",
    "dbformysql.flexible_server",
    "dbforpostgresql.configurations",
    "dbforpostgresql.flexible_server",
    "dbforpostgresql.flexible_servers_database",
    "devices.iot_hub",
    "documentdb.cassandra_data_center",
    "documentdb.database_account",
    "documentdb.errors",
    "eventgrid.topic",
    "eventhub.keys",
    "insights.errors",
    "keyvault.vault",
    "kusto.cluster",
    "machinelearningservices.errors",
    "machinelearningservices.workspace",
    "managedidentity.user_assigned_identity",
    "network.children",
    "network.errors",
    "network.private_endpoint",
    "network.subnet",
    "notificationhubs.keys",
    "operationalinsights.workspace",
    "redhatopenshift.hcp_open_shift_cluster",
    "redhatopenshift.open_shift_cluster",
    "search.search_service",
    "servicebus.errors",
    "servicebus.keys",
    "signalrservice.signalr",
    "sql.errors",
    "storage.storage_account",
    "subscription.alias",
)


@cache
def builtin_sets() -> tuple[ExtensionSet, ...]:
    """All of them, imported on first use; `Extensions.compose` puts them in order."""
    return tuple(_set_of(name) for name in _MODULES)


def _set_of(name: str) -> ExtensionSet:
    found: ExtensionSet = import_module(f"{__package__}.{name}").EXTENSIONS
    return found
