"""The explorer of an agent of modules."""

from __future__ import annotations

import httpx
import pytest
from integration.features.apcore.world import Add, build_registry
from integration.features.explorer.explorer_page import ExplorerPage
from integration.outcome_agent import serve_on_socket

from a2a_runtime.features.apcore import async_serve


@pytest.mark.requirement("apcore", "FR-SRV-002.a")
def test_the_option() -> None:
    """With it, the page is at /explorer and calls the modules; without it, there is none."""
    with serve_on_socket(async_serve(build_registry(math__add=Add()), explorer=True)) as client:
        assert client.get("/explorer/").status_code == 200
        page = ExplorerPage(client, "~", {"x-a2a-explorer": ""})
        assert [each["id"] for each in page.describe()["skills"]] == ["math.add"]
        sent = page.run(
            "SendMessage",
            {
                "message": {"parts": [{"data": {"a": 1, "b": 2}}]},
                "metadata": {"skillId": "math.add"},
            },
        )
        assert sent["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    with serve_on_socket(async_serve(build_registry(math__add=Add()))) as client:
        assert httpx.get(client.base_url.join("/explorer/"), trust_env=False).status_code == 404
