"""The simulated cluster behind a Kubernetes API: requests are answered from its store, by its rules.

Belongs here: authentication and authorization, request paths, lists, watches and writes, the HTTP server. Never here:
the behaviour of Kubernetes (`kubernetes` and `simulator`), the form of responses (`embedded`).
"""
