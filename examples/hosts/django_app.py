"""An agent in a Django application, for users who are logged in there.

Django sees requests to its own paths only. The agent reads the session cookie; requests with a
cookie from pages of other origins are refused before.
"""

import os

import django
from django.conf import settings
from django.contrib.auth import aget_user, alogin
from django.core.asgi import get_asgi_application
from django.core.management import call_command
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from reports import build_agent, database

from a2a_runtime import Caller, Identity, Surface
from a2a_runtime.asgi import with_agents
from a2a_runtime.auth import Credentials
from a2a_runtime.local import connect

settings.configure(  # in a project: its settings module
    SECRET_KEY=os.environ.get("SECRET_KEY", "a secret of a test"),
    ALLOWED_HOSTS=["127.0.0.1", "localhost"],
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": os.environ.get("DATABASE", ":memory:"),
        }
    },
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ],
    ROOT_URLCONF=__name__,
    SESSION_ENGINE="django.contrib.sessions.backends.db",
)
django.setup()

from django.contrib.auth.models import User  # noqa: E402 - models need the settings
from django.contrib.sessions.backends.db import SessionStore  # noqa: E402 - as above


async def read_user(connection: Credentials) -> Identity | None:
    """Name the caller: the user of the session of Django."""
    request = HttpRequest()
    request.session = SessionStore(connection.get_cookie(settings.SESSION_COOKIE_NAME))
    user = await aget_user(request)
    return Identity(user.get_username()) if user.is_authenticated else None


async def log_in(request: HttpRequest, name: str) -> HttpResponse:
    """Log a user in: stands for the login page of the application."""
    await alogin(
        request,
        await User.objects.aget(username=name),
        backend="django.contrib.auth.backends.ModelBackend",
    )
    return HttpResponse("welcome")


async def me(request: HttpRequest) -> JsonResponse:
    """Count the reports of the user: the application calls its own agent."""
    user = await request.auser()
    if not user.is_authenticated:
        return JsonResponse({}, status=401)
    tasks = [task async for task in connect(app.agents, Caller(user.get_username())).list()]
    return JsonResponse({"reports": len(tasks)})


urlpatterns = [path("me", me), path("login/<str:name>", log_in)]


def prepare() -> None:
    """Create the tables and two users."""
    call_command("migrate", verbosity=0)
    for name in ("ada", "bob"):
        User.objects.get_or_create(username=name)


database.is_open = True  # Django has no lifespan
app = with_agents(get_asgi_application(), "/agent", Surface(build_agent(), caller=read_user))

if __name__ == "__main__":
    prepare()
