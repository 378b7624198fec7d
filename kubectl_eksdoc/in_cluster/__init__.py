"""A command that runs inside the cluster: the Kubernetes objects of its Job or CronJob, and how they are created.

Belongs here: the documents of these objects, roles and bindings, what is typed before they are created.
Never here: which rights a command has (that is `cli.rights`).
"""
