"""kubectl eksdoc: plan the drain of Amazon EKS nodes before anything is touched."""

__version__ = "0.1.0"
