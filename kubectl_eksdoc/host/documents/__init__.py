"""Files of plain values that somebody, or another program, wrote: read whole and within bounds, or refused.

Belongs here: JSON, YAML and text, packed or not, and their fields one by one.
Never here: what the values mean.
"""
