"""The agent of the browser tests: a travel agency that shows everything the explorer has a view
for.
"""

from __future__ import annotations

import asyncio
import struct
import zlib
from collections.abc import AsyncIterator
from datetime import date
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from a2a_contract.v1_0 import AgentProvider, Part
from a2a_runtime import Agent
from a2a_runtime.agent import Capabilities
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.skills.context import Question, SkillContext

ITINERARY = """\
## Three days in Lisbon

**Day 1** starts in *Alfama*: tram 28 up, and on foot down again.

| day | morning | evening |
|---|---|---|
| 1 | Alfama, the castle | Fado in a small house |
| 2 | Belém, the tower | Sunset at the river |
| 3 | Sintra by train | Dinner in Bairro Alto |

- Trains to Sintra leave every 20 minutes from `Rossio`
- The [Lisboa Card](https://www.visitlisboa.com) pays off from two museums a day

> Wear shoes that you trust: the hills are steep.
"""
CALENDAR = (
    "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\n"
    "SUMMARY:Lisbon\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
)


class Traveller(BaseModel):
    """A person who comes along."""

    name: Annotated[str, Field(min_length=1, max_length=60)]
    birthday: date | None = None


class Train(BaseModel):
    """By rail."""

    by: Literal["train"]
    seat: Literal["window", "aisle"] = "window"
    night: bool = False


class Plane(BaseModel):
    """By air."""

    by: Literal["plane"]
    bags: Annotated[int, Field(ge=0, le=5)] = 1


class Budget(BaseModel):
    """A limit of the costs."""

    amount: Annotated[float, Field(gt=0)]
    currency: Literal["EUR", "USD", "GBP"] = "EUR"


class TripRequest(BaseModel):
    """A trip that is to be planned."""

    destination: Annotated[
        str,
        Field(min_length=2, max_length=80, description="A city or a region.", examples=["Lisbon"]),
    ]
    days: Annotated[int, Field(ge=1, le=21, description="How long it takes.")] = 3
    style: Annotated[
        Literal["relaxed", "balanced", "packed"], Field(description="How full the days are.")
    ] = "balanced"
    transport: Annotated[Train | Plane, Field(discriminator="by", description="How to get there.")]
    travellers: Annotated[
        list[Traveller], Field(min_length=1, max_length=8, description="All who come along.")
    ]
    budget: Budget | None = None
    contact: Annotated[str | None, Field(json_schema_extra={"format": "email"})] = None


class Day(BaseModel):
    """One day of the plan."""

    number: int
    title: str
    stops: list[str]


class Booking(BaseModel):
    """A booking that is made."""

    reference: str
    confirmed_by: str


class Approval(BaseModel):
    """The decision about a booking."""

    approved: Annotated[bool, Field(description="Book it?")]
    name: Annotated[str, Field(min_length=1, description="Your name.")]
    remark: str = ""


class Relay:
    """Points at which the skill ``relay`` waits for the test."""

    def __init__(self) -> None:
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def wait(self) -> None:
        """Wait for the test."""
        released = asyncio.Event()
        self._waiting.append((asyncio.get_running_loop(), released))
        await released.wait()

    def release(self) -> None:
        """Let all that wait go on; from any thread."""
        while self._waiting:
            loop, released = self._waiting.pop()
            loop.call_soon_threadsafe(released.set)


def picture(width: int = 240, height: int = 120) -> bytes:
    """Draw a PNG: a sky over a sea."""

    def color(x: int, y: int) -> bytes:
        if (x - 170) ** 2 + (y - 42) ** 2 < 460:
            return bytes((255, 214, 120))
        if y < 72:
            return bytes((246 - y, 150 - y // 2, 110 + y))
        return bytes((28, 70 + y // 3, 120 + (x * 7 + y * 13) % 9))

    rows = b"".join(b"\0" + b"".join(color(x, y) for x in range(width)) for y in range(height))
    chunks = (
        (b"IHDR", struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def build_show_agent(relay: Relay | None = None) -> Agent:
    """Build the agent."""
    agent = Agent(
        "Wayfarer",
        description=(
            "Plans trips, books them after your approval, and answers questions about **places**."
        ),
        version="2.4.0",
        provider=AgentProvider(organization="Northwind Travel", url="https://northwind.example"),
        capabilities=Capabilities(streaming=True),
    )
    _add_trips(agent)
    _add_loads(agent, relay or Relay())
    return agent


def _add_trips(agent: Agent) -> None:
    @agent.skill(
        "plan-trip",
        name="Plan a trip",
        description="Plan a trip day by day, with a picture and a calendar.",
        tags=("travel", "planning"),
    )
    async def plan(request: TripRequest, ctx: SkillContext) -> AsyncIterator[Day]:
        await ctx.progress(0.1, f"Looking at {request.destination}")
        for number in range(1, request.days + 1):
            await ctx.progress(0.1 + 0.8 * number / request.days, f"Planning day {number}")
            yield Day(
                number=number,
                title=f"{request.destination}, day {number}",
                stops=["Old town", "River", "Museum"],
            )
        itinerary = ctx.artifact("Itinerary")
        await itinerary.text(ITINERARY, media_type="text/markdown", last=True)
        view = ctx.artifact("View")
        await view.file(picture(), name="lisbon.png", media_type="image/png", last=True)
        calendar = ctx.artifact("Calendar")
        await calendar.file(
            CALENDAR.encode(), name="trip.ics", media_type="text/calendar", last=True
        )

    @agent.skill(
        "book-trip",
        name="Book a trip",
        description="Book a planned trip once you approve it.",
        tags=("travel",),
        asks=[Approval],
    )
    async def book(request: TripRequest, ctx: SkillContext) -> Booking:
        answer = await ctx.ask(
            Question(f"Shall I book {request.destination} for {request.days} days?"), reply=Approval
        )
        if not answer.approved:
            ctx.reject("You did not approve it")
        return Booking(reference="NW-2041", confirmed_by=answer.name)

    @agent.skill("pay", name="Pay", description="Pay for a booking at the bank.", tags=("money",))
    async def pay(ctx: TaskContext) -> str:
        await ctx.require_auth(
            "Authorize the payment at https://bank.example/authorize?id=2041 first."
        )
        return "Paid."

    examples = ("What is Lisbon like in May?", "Where can I hear fado?")

    @agent.skill(
        "ask-place",
        name="Ask about a place",
        description="Answer a question about a place.",
        tags=("chat",),
        examples=examples,
        default=True,
    )
    async def ask(ctx: TaskContext) -> str:
        return f"You asked: {ctx.text or 'about a file'}"


def _add_loads(agent: Agent, relay: Relay) -> None:
    @agent.skill(
        "relay", name="Relay", description="Send three events, wait, then send three more."
    )
    async def run(ctx: TaskContext) -> AsyncIterator[str]:
        yield f"for {ctx.text}\n"
        for number in range(2, 4):
            yield f"leg {number}\n"
        await relay.wait()
        for number in range(4, 7):
            yield f"leg {number}\n"

    @agent.skill("count", name="Count", description="Count up to a number, an event each.")
    async def count(ctx: TaskContext) -> AsyncIterator[str]:
        for number in range(int(ctx.text or "10")):
            yield f"{number} "

    @agent.skill("heavy", name="Heavy", description="Give an artifact of some megabytes.")
    async def heavy(ctx: TaskContext) -> str:
        return "The quick brown fox jumps over the lazy dog. \n" * (int(ctx.text or "5") * 21_800)

    @agent.skill("fail", name="Fail", description="Fail, with a reason.")
    async def fail(ctx: TaskContext) -> None:
        ctx.fail("The road is closed.")

    @agent.skill(
        "echo-parts",
        name="Echo",
        description="Give back the parts of the message.",
        input_modes=("*/*",),
        output_modes=("*/*",),
    )
    async def echo(ctx: TaskContext) -> AsyncIterator[Part]:
        for part in ctx.message.parts:
            yield part
