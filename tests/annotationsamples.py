"""Two right values and wrong ones of each annotation that people write."""

LONG = "x" * 70_000
SAMPLES = {
    "serviceoperator.azure.com/reconcile-policy": ("manage", "skip", "Skip", "skipp"),
    "serviceoperator.azure.com/credential-from": ("mine", "yours", "a/b", "Mine", ".."),
    "asoreconcile/sync-mode": ("put", "report", "Report", "look"),
    "asoreconcile/deletion-protection": ("true", "false", "True", "ture"),
    "asoreconcile/paused": ("true", "false", "TRUE", "yes"),
    "asoreconcile/maintenance-windows": ("0 2 * * sat 4h", "0 3 * * * 1h", "at night"),
    "asoreconcile/sync-period": ("15m", "never", "1", "5s", "Never"),
    "asoreconcile/reconcile-at": ("1", "2", LONG),
    "asoreconcile/rotate-secrets": ("1", "2", LONG),
    "asoreconcile/if-exists": ("adopt", "observe", "Adopt", "obsreve"),
    "asoreconcile/wait-for-references": ("true", "false", "no"),
    "asoreconcile/ignore-fields": ("spec.tags.a", "spec.tags", "tags.a", "spec.tags["),
    "asoreconcile/foreign-tags": ("keep", "replace", "Keep", "drop"),
    "asoreconcile/on-immutable": ("keep", "recreate", "Recreate"),
    "asoreconcile/allow-owner-change": ("true", "false", "yes"),
    "asoreconcile/allowed-scopes": ("/subscriptions/a", "/subscriptions/b", "a,/b"),
    "asoreconcile/allowed-types": ("Microsoft.Network", "Microsoft.Storage", "storage"),
    "asoreconcile/exports-as-credentials": ("true", "false", "True"),
    "asoreconcile/logins-as-values": ("true", "false", "True"),
    "asoreconcile/deletes-what-others-declare": ("true", "false", "True"),
    "asoreconcile/takes-over": ("true", "false", "True"),
    "asoreconcile/cancel-subscription": ("true", "false", "True"),
    "asoreconcile/placeholders": ("addressSpace", "location", LONG),
}
"""By annotation: two right values, then the wrong ones."""
