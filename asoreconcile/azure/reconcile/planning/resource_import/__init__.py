"""From what is in Azure to manifests: read resources, find their children, write specs.

    importer = ResourceImporter(client, catalogue, builtin_sets())
    imported = importer.run(["/subscriptions/.../resourceGroups/shop"])
    imported.manifests, imported.report

Nothing is written to Azure or to a cluster.
"""
