"""Handlers: their context, results, jobs, dependencies, questions and usage, and the skill that
names each.
"""
