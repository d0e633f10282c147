"""The rules that Kubernetes has for CustomResourceDefinitions. Pure."""
