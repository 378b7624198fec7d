"""The simulated cluster behind a Kubernetes API: requests are answered from its store, by its rules.

Belongs here: who may ask what, which part of the API a path means, lists, watches and writes, and the HTTP server.
Never here: what Kubernetes does (that is `kubernetes` and `simulator`), how answers look (`embedded`).
"""
