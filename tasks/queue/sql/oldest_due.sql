-- oldest_due: of each of these queues, since when its oldest due task has waited, and when a worker of it was last seen
SELECT q.name, (
    SELECT scheduled_at FROM tasks_task
    WHERE queue = q.name AND state IN ('pending', 'retryable') AND scheduled_at <= statement_timestamp()
    ORDER BY scheduled_at, id LIMIT 1),
    (SELECT max(seen_at) FROM tasks_worker WHERE queue = q.name),
    statement_timestamp()
FROM unnest(%(queues)s::text[]) AS q(name)
