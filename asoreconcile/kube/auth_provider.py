"""A kubeconfig's `auth-provider`, as the `kubernetes` package runs it.

Loads the package (0.2 s, 15 MB); only `kubeconfig` imports this, where a user has one.
"""

from typing import Any

from kubernetes import client
from kubernetes.config import kube_config

from asoreconcile.kube.errors import KubeCredentialError
from asoreconcile.kube.exec_plugin import Credential


class ProvidedCredential:
    """What the package's own plug-in says of the current context's user."""

    def __init__(self, paths: str) -> None:
        """paths: as of `kubeconfig.load`. May raise anything for malformed files."""
        merged = kube_config.KubeConfigMerger(paths)  # type: ignore[no-untyped-call]
        # What a provider renews is written back, as kubectl does.
        self._loader = _Loader(  # type: ignore[no-untyped-call]
            merged.config, config_base_path=None, config_persister=merged.save_changes
        )

    def run(self) -> Credential:
        """Ask it. Blocking. Raises KubeCredentialError."""
        configuration = client.Configuration()
        try:
            self._loader.load_and_set(configuration)  # type: ignore[no-untyped-call]
        except Exception as error:  # noqa: BLE001 - of whatever it asks a provider with
            raise KubeCredentialError(f"auth-provider: {_reason(error)}") from None
        configuration.refresh_api_key_hook = None  # it would run the plug-in again
        header = configuration.get_api_key_with_prefix(
            "authorization", alias="BearerToken"
        )
        _, _, token = str(header or "").partition(" ")
        expires: Any = getattr(self._loader, "expiry", None)
        return Credential(token=token, expires=expires)


class _Loader(kube_config.KubeConfigLoader):
    """The package's, for the user's credential alone: it would write keys of the
    cluster's part into temporary files, which a killed process leaves.
    """

    def _load_cluster_info(self) -> None:
        """`kubeconfig` does."""


def _reason(error: Exception) -> str:
    """What is wrong, without the entry it is wrong in.

    The package's messages quote whole entries, tokens and keys included.
    """
    text = str(error).partition("{")[0].rstrip("/ ")
    return text or type(error).__name__
