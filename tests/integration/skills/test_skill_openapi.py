"""Skills in the OpenAPI document: what it says of the plain calls is what they do."""

from __future__ import annotations

import httpx
import pytest
from integration.skills.conftest import REPORT, URL
from report_agent.contract import make_agent, skills
from report_agent.handlers import ReportAgent

from a2a_contract.dialects import MESH, V0_3, V1_0, Dialect
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.engine.handlers.context import Context
from a2a_runtime.skills.contract import SkillContract
from a2a_runtime.skills.schema import TEXT, SchemaValidator
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.asgi_transport import run_app

pytestmark = pytest.mark.anyio


async def test_openapi_describes_the_plain_calls(http: httpx.AsyncClient) -> None:
    """The document of the app has an operation for every skill, with its schemas, what it may ask
    first, and examples that fit.
    """
    paths = (await http.get("/schema/openapi.json")).json()["paths"]
    assert {path for path in paths if path.startswith("/skills/")} == {
        "/skills/summarize",
        "/skills/write-report",
        "/skills/publish",
    }
    calls = {
        path.rpartition("/")[2]: item["post"]
        for path, item in paths.items()
        if path.startswith("/skills/")
    }
    assert calls["summarize"]["requestBody"]["content"]["application/json"]["schema"][
        "required"
    ] == ["text"]
    assert {name: sorted(call["responses"]) for name, call in calls.items()} == {
        "summarize": ["200", "400", "default"],
        "write-report": ["200", "400", "default"],
        "publish": ["200", "202", "400", "default"],
    }
    assert (
        calls["write-report"]["responses"]["200"]["content"]["application/json"]["schema"]["items"][
            "title"
        ]
        == "Chapter"
    )
    assert [each["name"] for each in calls["publish"]["parameters"]] == [
        "Idempotency-Key",
        "taskId",
    ]


@pytest.mark.parametrize("dialect", [V1_0, V0_3, MESH], ids=["1.0", "0.3", "mesh"])
async def test_responses_match_openapi(dialect: Dialect) -> None:
    """Questions, outputs and errors of the plain calls fit the schemas of the document, in the form
    of every dialect.
    """
    surface = Surface(
        make_agent(ReportAgent()),
        dialects=frozenset((dialect.name,)),
        only=frozenset(("summarize",)),
    )
    async with (
        run_app(create_app(surface, settings=FAST_SETTINGS)) as transport,
        httpx.AsyncClient(base_url=URL, transport=transport) as http,
    ):
        document = (await http.get("/schema/openapi.json")).json()
        responses = document["paths"]["/skills/summarize"]["post"]["responses"]
        for body, status in (
            ({"text": "One. Two."}, "200"),
            ({"text": "", "sentences": 0}, "400"),
            (5, "400"),
            ([{}], "400"),
        ):
            answer = await http.post("/skills/summarize", json=body)
            assert str(answer.status_code) == status
            schema = responses[status]["content"]["application/json"]["schema"]
            SchemaValidator(
                document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
                if "$ref" in schema
                else schema
            ).check(answer.json())


async def test_a_question_matches_openapi(http: httpx.AsyncClient) -> None:
    """The first question of a skill has the form in the document."""
    call = (await http.get("/schema/openapi.json")).json()["paths"]["/skills/publish"]["post"]
    answer = await http.post("/skills/publish", json=REPORT.model_dump())
    SchemaValidator(call["responses"]["202"]["content"]["application/json"]["schema"]).check(
        answer.json()
    )


async def test_examples_that_fit_are_in_the_document() -> None:
    """Of the examples of a skill those are shown that are inputs; a skill that takes text takes
    plain text too.
    """
    agent = Agent("texts", description="Takes texts.", version="1.0.0")

    async def nothing(_: Context) -> str:
        return ""

    agent.add(
        "say",
        nothing,
        description="Say it.",
        examples=("Hello",),
        contract=SkillContract("say", TEXT, TEXT),
    )
    agent.add(
        "sum",
        nothing,
        description="Sum up.",
        examples=("Sum it up", '{"text": "x"}', '{"text": 1}'),
        contract=skills.SUMMARIZE,
    )
    async with (
        run_app(create_app(agent, settings=FAST_SETTINGS)) as transport,
        httpx.AsyncClient(base_url=URL, transport=transport) as http,
    ):
        paths = (await http.get("/schema/openapi.json")).json()["paths"]
    said, summed = (
        paths[f"/skills/{name}"]["post"]["requestBody"]["content"] for name in ("say", "sum")
    )
    assert [(kind, media["examples"]["example1"]) for kind, media in said.items()] == [
        ("application/json", {"value": "Hello"}),
        ("text/plain", {"value": "Hello"}),
    ]
    assert summed["application/json"]["examples"] == {"example1": {"value": {"text": "x"}}}
    assert list(summed) == ["application/json"]


@pytest.mark.parametrize(
    ("body", "places"),
    [({"text": "", "colour": 1}, {"text", "colour"}), ({}, {"text"}), (5, {"body"})],
    ids=["members", "one that is missing", "the whole"],
)
async def test_places_are_those_of_the_body(
    http: httpx.AsyncClient, body: object, places: set[str]
) -> None:
    """Errors of plain HTTP have paths in the body."""
    answer = await http.post("/skills/summarize", json=body)
    _, detail = answer.json()["error"]["details"]
    assert {each["field"] for each in detail["fieldViolations"]} == places
