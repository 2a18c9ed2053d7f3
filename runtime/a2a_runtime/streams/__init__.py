"""How readers follow a task: they pull its events by cursor, and a doorbell tells them when to look."""
