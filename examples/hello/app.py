"""The agent as an app: its tasks live in a file, so they are still there after a restart."""

from agent import agent

from a2a_runtime.app import create_app

app = create_app(agent, store="sqlite:///hello.db")
