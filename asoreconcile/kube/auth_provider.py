"""Runs a kubeconfig's `auth-provider` through the `kubernetes` package.

Loads the package (0.2 s, 15 MB); `kubeconfig` imports this only if a user has one.
"""

from typing import Any

from kubernetes import client
from kubernetes.config import kube_config

from asoreconcile.kube.errors import KubeCredentialError
from asoreconcile.kube.exec_plugin import Credential


class ProvidedCredential:
    """The credential that the package's plug-in returns for the current context's
    user.
    """

    def __init__(self, paths: str) -> None:
        """paths: see `kubeconfig.load`. May raise anything for malformed files."""
        merged = kube_config.KubeConfigMerger(paths)  # type: ignore[no-untyped-call]
        # A renewed credential is written back, as kubectl does.
        self._loader = _Loader(  # type: ignore[no-untyped-call]
            merged.config, config_base_path=None, config_persister=merged.save_changes
        )

    def run(self) -> Credential:
        """Get the credential. Blocking. Raises KubeCredentialError."""
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
    """The package's loader, restricted to the user's credential: for the cluster it
    would write keys into temporary files, which a killed process leaves behind.
    """

    def _load_cluster_info(self) -> None:
        """Do nothing: `kubeconfig` loads the cluster."""


def _reason(error: Exception) -> str:
    """Return the mistake, without quoting the entry.

    The package's messages quote whole entries, tokens and keys included.
    """
    text = str(error).partition("{")[0].rstrip("/ ")
    return text or type(error).__name__
