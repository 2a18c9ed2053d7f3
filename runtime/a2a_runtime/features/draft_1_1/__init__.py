"""The draft of A2A 1.1: tasks with generations and timelines.

Loaded where a surface has the dialect ``1.1-draft``, or an agent has webhooks.
"""
