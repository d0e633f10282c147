"""Imports resources from Azure as manifests: reads them, finds their children, writes
specs.

importer = ResourceImporter(client, catalogue, builtin_sets())
    imported = importer.run(["/subscriptions/.../resourceGroups/shop"])
    imported.manifests, imported.report

Nothing is written to Azure or to a cluster.
"""
