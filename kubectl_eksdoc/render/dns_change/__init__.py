"""A change of CoreDNS that is to be made, or was, in every format."""
