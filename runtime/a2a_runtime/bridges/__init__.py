"""Bridges: the work of other frameworks as skills of an agent, and remote skills as tools of other
frameworks.

    pydantic_ai    an agent of pydantic-ai as a source of one skill, and a toolset of remote skills      extra ``pydantic-ai``
    remote_tools   the skills of a remote agent as functions with JSON Schemas, for any framework

Each module imports the framework that it bridges; nothing else of the runtime does.
"""
