"""Streams: readers pull the events of a task by cursor (``hub``); a notification tells other
processes when to look (``notifier``).
"""
