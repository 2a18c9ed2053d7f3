"""Workers: processes that run the skills which are placed on them, for any number of processes that
serve HTTP.

Loaded where ``a2a-gen worker`` runs the handlers.

    web process    commits the task with a job: a2a_tasks + procrastinate_jobs, one transaction
    worker         fetches the job, claims the task, runs the handler, deletes the job
    web process    follows the events of the task in the store

    jobs      the queue of procrastinate: fetch, finish, come back, heartbeat, jobs of dead workers
    worker    consumers of queues, and their start and stop
    probes    liveness and readiness over HTTP

procrastinate brings queues, priorities, delays and the heartbeat of workers. The store decides what
is true: a claim begins a run, and writes of an older run are refused, so a job that is delivered
twice does no harm.
"""
