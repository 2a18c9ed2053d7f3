"""Contract tests of a storage for ``a2a_runtime.features.simple_stores``: subclass
``StorageContract`` and
provide your storage as a fixture.

::

    class TestMyStorage(StorageContract):
        @pytest.fixture
        async def storage(self):
            async with MyStorage() as storage:
                yield storage

Tests of optional methods are skipped for a storage that lacks them. Messages and artifacts are
built with the models of the storage's library. Needs pytest and anyio.
"""

import pytest

pytest.register_assert_rewrite(f"{__name__}.suite")

# its assertions are rewritten only if it is imported after that
from a2a_runtime.testing.storage_contract.suite import StorageContract  # noqa: E402

__all__ = ["StorageContract"]
