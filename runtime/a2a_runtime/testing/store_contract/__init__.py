"""Contract tests of a store: subclass ``StoreContract`` and provide your store as a fixture.

::

    class TestMyStore(StoreContract):
        @pytest.fixture
        async def store(self, options):
            store = MyStore(options)
            await store.open()
            yield store
            await store.close()

``options`` carries a clock that only the tests move; a store must take the time from it and from
nowhere else. Needs pytest and anyio.
"""

import pkgutil

import pytest

pytest.register_assert_rewrite(
    *(module.name for module in pkgutil.iter_modules(__path__, f"{__name__}."))
)

# assertions of the suite are rewritten only if it is imported after that
from a2a_runtime.testing.store_contract.suite import StoreContract  # noqa: E402

__all__ = ["StoreContract"]
