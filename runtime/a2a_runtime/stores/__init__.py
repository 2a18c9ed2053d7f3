"""What is true: tasks, their events, conversations, runs and deliveries, in memory, in a file or in Postgres."""
