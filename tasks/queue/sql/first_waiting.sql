-- first_waiting: when the first of the waiting tasks of these kinds is or was due, among the first few of each queue
SELECT min(first.scheduled_at), statement_timestamp() FROM unnest(%(queues)s::text[]) q(queue), LATERAL (
    SELECT scheduled_at FROM (
        SELECT scheduled_at, id, kind FROM tasks_task
        WHERE queue = q.queue AND state IN ('pending', 'retryable')
        ORDER BY scheduled_at, id LIMIT %(look)s) looked
    WHERE kind = ANY(%(kinds)s::text[])
    ORDER BY scheduled_at, id LIMIT 1) first
