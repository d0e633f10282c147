"""Special cases of containerservice: Azure Kubernetes Service."""
