"""The runtime: what answers the calls that the generated contract describes."""
