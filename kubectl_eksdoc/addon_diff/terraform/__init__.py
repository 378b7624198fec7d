"""A Terraform plan held against the cluster: what EKS will be asked, what that changes, and which argument says so.

Belongs here: requests of a plan, the provider's generations and spellings, known modules, findings with addresses.
Never here: what becomes of a field (that is `addon_diff.plan`), reading a plan's file, HCL.
"""
