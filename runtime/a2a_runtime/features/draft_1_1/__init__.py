"""The draft of A2A 1.1: tasks with generations and timelines."""
