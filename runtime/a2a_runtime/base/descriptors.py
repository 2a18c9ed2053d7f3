"""Descriptors that this process may have: each connection takes one, and so does each file of a
store.

Servers take a share of them, so that the store and the agent's own calls have some left: HTTP three
quarters, a gRPC port an eighth.
"""

from __future__ import annotations

try:
    import resource
except ImportError:  # on Windows

    def count_descriptors() -> int | None:
        """Return ``None``: there is no limit to read."""
        return None

else:

    def count_descriptors() -> int | None:
        """Return the number of descriptors that this process may have; ``None`` where there is no
        limit.
        """
        soft_limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if soft_limit == resource.RLIM_INFINITY:
            return None
        return soft_limit


def take_share(share: float) -> int | None:
    """Return the number of connections that a share of the descriptors allows; ``None`` where there
    is no limit.
    """
    descriptors = count_descriptors()
    if descriptors is None:
        return None
    return max(int(descriptors * share), 1)
