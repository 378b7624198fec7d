"""Plans of Terraform, as ``terraform show -json`` prints them.

Belongs here: what is planned for add-ons of EKS, and where the configuration says so.
Never here: what an update changes.
"""
