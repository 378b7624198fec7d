"""kubectl eksdoc: plan, simulate and run the risky parts of an Amazon EKS upgrade."""

__version__ = "0.1.0"
