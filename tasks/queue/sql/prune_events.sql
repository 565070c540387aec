-- prune_events: delete events of long ago none of whose tasks is still to end, some at a time
WITH old AS MATERIALIZED (
    SELECT id FROM tasks_event e
    WHERE occurred_at < statement_timestamp() - make_interval(secs => %(keep)s) AND NOT EXISTS (
        SELECT FROM tasks_delivery d JOIN tasks_task t ON t.id = d.task_id
        WHERE d.event_id = e.id AND t.state IN ('pending', 'retryable', 'running'))
    ORDER BY occurred_at, id LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED),
deliveries AS (DELETE FROM tasks_delivery WHERE event_id IN (SELECT id FROM old))
DELETE FROM tasks_event WHERE id IN (SELECT id FROM old)
