"""Update of an EKS add-on: the effect on live fields, the affected workloads, and the values that keep user settings.

Belongs here: predictions for each field and conflict mode from live field ownership, Helm chart and configuration
schema; the configuration values that change nothing. Never here: the rules of server-side apply (see `kubernetes`), AWS
requests, the execution of an update.
"""
