-- due: how many tasks are due on each of these queues, counted up to the queue's number of workers
SELECT q.name, (
    SELECT count(*) FROM (
        SELECT FROM tasks_task
        WHERE queue = q.name AND state IN ('pending', 'retryable') AND scheduled_at <= statement_timestamp()
        ORDER BY scheduled_at, id LIMIT q.size) counted)
FROM unnest(%(queues)s::text[], %(sizes)s::int[]) AS q(name, size)
