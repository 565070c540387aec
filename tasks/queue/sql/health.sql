-- health: for how many seconds no worker was seen, and for how many the oldest due task of these queues has waited
SELECT extract(epoch FROM statement_timestamp() - (SELECT max(seen_at) FROM tasks_worker)),
       extract(epoch FROM statement_timestamp() - min(due.scheduled_at))
FROM unnest(%(queues)s::text[]) AS q(name)
LEFT JOIN LATERAL (
    SELECT scheduled_at FROM tasks_task
    WHERE queue = q.name AND state IN ('pending', 'retryable') AND scheduled_at <= statement_timestamp()
    ORDER BY scheduled_at, id LIMIT 1) due ON true
