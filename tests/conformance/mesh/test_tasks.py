"""The checklist of producers: sending, reading and canceling tasks."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import httpx
import pytest
from conformance.mesh.producer import Consumer, gate, job, message, runs, text_of

from a2a_contract.mesh import Task

STATES = {"working", "completed", "failed", "canceled"}


@pytest.fixture
def echo(client: httpx.Client) -> Consumer:
    """Consumer of the surface that echoes."""
    return Consumer(client)


@pytest.fixture
def report(client: httpx.Client) -> Consumer:
    """Consumer of the surface whose handler returns a job."""
    return Consumer(client, "/agents/report")


@pytest.mark.requirement("mesh", "S2", "W3")
def test_a_handler_that_returns_completes_its_task(echo: Consumer) -> None:
    """The answer is the whole task: one artifact with one text, and the message that asked for
    it.
    """
    task = echo.task(
        "tasks/send", id="c-1", sessionId="s-1", message=message("Write a report on coffee.")
    )
    Task.model_validate(task)
    timestamp = task["status"].pop("timestamp")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", timestamp)
    assert task == {
        "id": "c-1",
        "sessionId": "s-1",
        "status": {"state": "completed"},
        "artifacts": [
            {
                "name": "result",
                "parts": [{"type": "text", "text": "Write a report on coffee."}],
                "index": 0,
            }
        ],
        "history": [message("Write a report on coffee.")],
    }


@pytest.mark.requirement("mesh", "S1")
@pytest.mark.parametrize("task_id", [None, "", 0, False, [], {}, 7], ids=repr)
def test_a_task_without_an_id_gets_one(echo: Consumer, task_id: object) -> None:
    """An id that is not a string is replaced by a UUID, which is also the session id."""
    task = echo.task("tasks/send", id=task_id, message=message("x"))
    assert UUID(task["id"]).version == 4
    assert task["sessionId"] == task["id"]


@pytest.mark.parametrize("said", [None, "hello", 5, [], {}], ids=repr)
def test_a_message_that_is_none_is_an_empty_one(echo: Consumer, said: object) -> None:
    """The handler runs all the same."""
    task = echo.task("tasks/send", message=said)
    assert (task["status"]["state"], text_of(task), task["history"]) == (
        "completed",
        "",
        [{"role": "user", "parts": []}],
    )


TEXT = {"type": "text", "text": "x"}
FORMS = {
    "order": {"parts": [{"text": "x", "type": "text"}], "role": "user"},
    "no role": {"parts": [TEXT]},
    "no type": {"role": "user", "parts": [{"text": "x"}]},
    "kind": {
        "role": "user",
        "parts": [{"kind": "text", "text": "x"}],
        "kind": "message",
        "messageId": "m",
    },
    "data": {
        "role": "user",
        "parts": [{"type": "data", "data": {"a": 1.0, "b": None}, "mimeType": "text/json"}],
    },
    "data without a type": {"role": "user", "parts": [{"data": {"a": 1}}]},
    "file": {
        "role": "user",
        "parts": [
            {"type": "file", "file": {"name": "a", "bytes": "aGk="}},
            {"file": {"uri": "https://a.example/b"}},
        ],
    },
    "metadata": {
        "role": "user",
        "parts": [{**TEXT, "metadata": {"a": None}}],
        "metadata": {"b": [1, 2.50]},
    },
    "unknown members": {
        "role": "user",
        "parts": [{**TEXT, "lang": "de", "x": {"y": [None]}}],
        "trace": {"id": "\u2028"},
    },
    "no parts": {"role": "agent", "content": "x"},
}


@pytest.mark.requirement("mesh", "S2")
@pytest.mark.parametrize("sent", FORMS.values(), ids=FORMS.keys())
def test_a_history_is_what_was_sent(echo: Consumer, sent: dict[str, object]) -> None:
    """Each form in which consumers write a message is read, and shown to the byte, now and
    later.
    """
    task = echo.task("tasks/send", message=sent)
    later = echo.task("tasks/get", id=task["id"])
    assert json.dumps(task["history"]) == json.dumps(later["history"]) == json.dumps([sent])
    assert text_of(task) in {"x", ""}


def test_data_reach_the_handler(client: httpx.Client) -> None:
    """A data part without a type is data for the handler."""
    assert (
        text_of(
            Consumer(client, "/agents/data").task(
                "tasks/send", message={"parts": [{"data": {"a": [1]}}]}
            )
        )
        == '{"a": [1]}'
    )


def test_an_invalid_part_is_in_the_error(echo: Consumer) -> None:
    """The message is refused as a whole."""
    error = echo.error(
        "tasks/send", {"message": {"role": "user", "parts": [{"type": "song", "text": "la"}]}}
    )
    assert (error["code"], error["data"]["fields"][0]["field"]) == (-32602, "message.parts[0]")


VALUES = {
    "object": '{"a": 1, "b": [true, null]}',
    "number": "42",
    "nothing": "null",
    "time": '"2026-05-11 12:34:56+00:00"',
    "price": '{"amount": "9.90"}',
    "lines": "one\u2028two\u2029three\u0085four",
}


@pytest.mark.requirement("mesh", "S5", "D26")
@pytest.mark.parametrize(("name", "text"), VALUES.items(), ids=VALUES.keys())
def test_results_become_text(client: httpx.Client, name: str, text: str) -> None:
    """Values become JSON in the text of the one artifact; for other objects the artifact has their
    description.
    """
    assert (
        text_of(Consumer(client, "/agents/values").task("tasks/send", message=message(name)))
        == text
    )


def test_pieces_are_one_text(client: httpx.Client) -> None:
    """A handler that streams has one artifact all the same."""
    assert (
        text_of(Consumer(client, "/agents/spells").task("tasks/send", message=message("Ada")))
        == "Ada"
    )


def test_an_answer_without_a_task_is_one_with_a_task(client: httpx.Client) -> None:
    """A skill that answers with a message has that as its result: every answer of the dialect is a
    task.
    """
    greets = Consumer(client, "/agents/greets")
    task = greets.task("tasks/send", message=message("Ada"))
    assert text_of(task) == "Hello, Ada!"
    assert text_of(greets.task("tasks/get", id=task["id"])) == "Hello, Ada!"


@pytest.mark.requirement("mesh", "S4")
def test_a_handler_that_raises_fails_its_task(client: httpx.Client) -> None:
    """That is no error of the protocol: the task says what went wrong."""
    task = Consumer(client, "/agents/fails").task("tasks/send", message=message("x"))
    assert task["status"]["state"] == "failed"
    assert task["status"]["message"] == {
        "role": "agent",
        "parts": [{"type": "text", "text": "Topic required"}],
    }
    assert task["artifacts"] == []
    assert task["history"] == [message("x")]


def test_a_question_fails_its_task(client: httpx.Client) -> None:
    """A handler that asks, though nothing showed it at the start, does not leave its task working
    for ever.
    """
    task = Consumer(client, "/agents/sly").task("tasks/send", message=message("x"))
    text = "The skill asks a question, and this dialect has no way to answer it"
    assert (task["status"]["state"], task["status"]["message"]["parts"][0]["text"]) == (
        "failed",
        text,
    )


@pytest.mark.requirement("mesh", "S3")
def test_a_job_leaves_its_task_working(report: Consumer) -> None:
    """The answer comes at once; the task can be read, with its progress as a number, until it has
    its result.
    """
    task_id = str(uuid4())
    task = report.task(
        "tasks/send", id=task_id, message=job((0.25, "Drafting outline..."), end="forever")
    )
    assert (task["status"]["state"], task["artifacts"], len(task["history"])) == ("working", [], 1)
    while "metadata" not in task:
        task = report.task("tasks/get", id=task_id)
    assert task["status"]["message"] == {
        "role": "agent",
        "parts": [{"type": "text", "text": "Drafting outline..."}],
    }
    assert (task["status"]["state"], task["metadata"], task["artifacts"]) == (
        "working",
        {"progress": 0.25},
        [],
    )
    report.task("tasks/cancel", id=task_id)


@pytest.mark.requirement("mesh", "S3")
def test_a_slow_handler_leaves_its_task_working(client: httpx.Client) -> None:
    """A handler that takes longer than a surface waits is answered with a working task, whose
    progress and result come later.
    """
    consumer = Consumer(client, "/agents/slow")
    gate.clear()
    task_id = consumer.task("tasks/send", message=message("tea"))["id"]
    while "metadata" not in (task := consumer.task("tasks/get", id=task_id)):
        pass
    assert (task["status"]["state"], task["metadata"], task["artifacts"]) == (
        "working",
        {"progress": 0.5},
        [],
    )
    gate.set()
    assert text_of(consumer.until(task_id, "completed")) == "tea done"


def test_a_surface_may_answer_at_once(client: httpx.Client) -> None:
    """With 0 every task is working in the first answer."""
    consumer = Consumer(client, "/agents/at-once")
    task = consumer.task("tasks/send", message=message("tea"))
    assert (task["status"]["state"], task["artifacts"], task["history"]) == (
        "working",
        [],
        [message("tea")],
    )
    assert text_of(consumer.until(task["id"], "completed")) == "tea"


@pytest.mark.requirement("mesh", "G3", "G4", "D22")
@pytest.mark.parametrize(("end", "state"), [("done", "completed"), ("fail", "failed")])
def test_a_job_ends_its_task(report: Consumer, end: str, state: str) -> None:
    """A job that is done completes its task, one that fails tells why."""
    task_id = report.task("tasks/send", message=job((0.5, None), end=end))["id"]
    task = report.until(task_id, "completed", "failed")
    assert task["status"]["state"] == state
    if end == "done":
        assert json.loads(text_of(task)) == {"pages": 3}
    else:
        assert task["artifacts"] == []
        assert task["status"]["message"]["parts"][0]["text"] == "No coffee left"


@pytest.mark.requirement("mesh", "S6", "V1", "V2", "D18", "D33")
def test_an_id_is_taken_until_some_time_after_the_end(echo: Consumer, report: Consumer) -> None:
    """A task that goes on has its id, and so has one that has ended a moment ago; both can still be
    read.
    """
    echo.task("tasks/send", id="taken", message=message("first"))
    text = "A2A task id taken is already in use"
    assert echo.error("tasks/send", {"id": "taken", "message": message("second")}) == {
        "code": -32602,
        "message": text,
    }
    assert text_of(echo.task("tasks/get", id="taken")) == "first"
    report.task("tasks/send", id="busy", message=job(end="forever"))
    assert report.error("tasks/send", {"id": "busy", "message": job()})["code"] == -32602
    assert report.task("tasks/cancel", id="busy")["status"]["state"] == "canceled"


@pytest.mark.requirement("mesh", "D18")
def test_of_a_hundred_sends_of_one_id_one_runs(client: httpx.Client) -> None:
    """The id is taken before the handler runs."""
    counts = Consumer(client, "/agents/counts")
    with ThreadPoolExecutor(25) as pool:
        answers = list(
            pool.map(
                lambda _: counts.post(
                    "tasks/send", {"id": "many", "message": message("many")}
                ).json(),
                range(100),
            )
        )
    assert sum("result" in answer for answer in answers) == 1
    assert {answer["error"]["message"] for answer in answers if "error" in answer} == {
        "A2A task id many is already in use"
    }
    assert runs.count("many") == 1


@pytest.mark.requirement("mesh", "D20", "D21")
def test_surfaces_know_nothing_of_each_other(client: httpx.Client, echo: Consumer) -> None:
    """One id is two tasks on two surfaces, and neither sees the other's."""
    other = Consumer(client, "/agents/other-echo")
    assert text_of(echo.task("tasks/send", id="twice", message=message("one"))) == "one"
    assert other.error("tasks/get", {"id": "twice"})["message"] == "Unknown task id: twice"
    assert text_of(other.task("tasks/send", id="twice", message=message("two"))) == "two"
    assert text_of(echo.task("tasks/get", id="twice")) == "one"
    assert {
        other.error(method, {"id": "c-1"})["code"]
        for method in ("tasks/cancel", "tasks/resubscribe")
    } == {-32602}


def test_a_history_can_be_left_out(echo: Consumer) -> None:
    """A client that wants no history gets none."""
    task = echo.task("tasks/send", message=message("x"))
    assert echo.task("tasks/get", id=task["id"], historyLength=0)["history"] == []
    assert echo.task("tasks/get", id=task["id"], historyLength=5) == task


@pytest.mark.requirement("mesh", "X3", "W2")
def test_canceling_stops_a_task_once(report: Consumer) -> None:
    """A task that is canceled says so, in American spelling, however often it is canceled."""
    task_id = report.task("tasks/send", message=job(end="forever"))["id"]
    canceled = report.task("tasks/cancel", id=task_id, reason="user pressed stop")
    assert canceled["status"]["state"] == "canceled"
    assert (
        report.task("tasks/cancel", id=task_id) == canceled == report.task("tasks/get", id=task_id)
    )


@pytest.mark.requirement("mesh", "X3", "D24")
def test_canceling_what_is_done_shows_it(echo: Consumer) -> None:
    """A task that has ended is shown as it is, with its result."""
    task = echo.task("tasks/send", message=message("x"))
    assert echo.task("tasks/cancel", id=task["id"]) == task


@pytest.mark.requirement("mesh", "X4", "D25")
def test_a_handle_that_can_do_nothing_right_is_canceled(client: httpx.Client) -> None:
    """A job that can neither tell how it stands nor be canceled is taken to go on, shows its error,
    and is canceled all the same.
    """
    broken_job = Consumer(client, "/agents/stubborn")
    task = broken_job.task("tasks/send", message=message("x"))
    assert task["status"]["state"] == "working"
    while "message" not in (task := broken_job.task("tasks/get", id=task["id"]))["status"]:
        pass
    assert (task["status"]["state"], task["status"]["message"]["parts"][0]["text"]) == (
        "working",
        "status unavailable: the registry is away",
    )
    assert broken_job.task("tasks/cancel", id=task["id"])["status"]["state"] == "canceled"


@pytest.mark.parametrize(
    "task_id", ["x" * 257, "a\nb", "a\u0000b"], ids=["long", "lines", "control"]
)
def test_an_id_is_one_short_line(echo: Consumer, task_id: str) -> None:
    """Ids that are too long or have line ends are refused."""
    assert echo.error("tasks/send", {"id": task_id, "message": message("x")})["code"] == -32602


@pytest.mark.requirement("mesh", "W1", "W2")
def test_every_state_is_one_of_four(client: httpx.Client) -> None:
    """A task that waits for its caller in another dialect is working in this one."""
    mixed = Consumer(client, "/agents/mixed")
    task = mixed.task("tasks/send", message=message("x"))
    assert task["status"]["state"] == "working"
    assert task["status"]["state"] in STATES
    mixed.task("tasks/cancel", id=task["id"])
