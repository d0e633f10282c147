"""The Azure operator: everything in this package depends on Azure."""
