"""Drains of a real cluster, compared with their predictions: `make test-real KUBECONFIG=…`."""
