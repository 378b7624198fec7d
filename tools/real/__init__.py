"""Drains of a real cluster, held against what was predicted of them: `make test-real KUBECONFIG=…`."""
