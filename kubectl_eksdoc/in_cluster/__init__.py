"""Commands that run inside the cluster: the Kubernetes objects of a Job or CronJob, and their creation.

Belongs here: the documents of these objects, roles and bindings, the confirmation before they are created. Never here:
the rights of a command (`cli.rights`).
"""
