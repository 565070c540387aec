-- fail: an attempt failed: wait for the next one, or discard where none is left
WITH held AS MATERIALIZED (
    SELECT id, attempt >= max_attempts AS spent FROM tasks_task
    WHERE id = %(id)s AND claim = %(claim)s AND worker_id = %(worker)s AND state = 'running'
    FOR UPDATE)
UPDATE tasks_task t
SET state = CASE WHEN spent THEN 'discarded' ELSE 'retryable' END,
    errors = t.errors || jsonb_build_array(
        jsonb_build_object('at', statement_timestamp(), 'attempt', t.attempt, 'error', %(error)s::text)),
    scheduled_at = CASE WHEN spent THEN t.scheduled_at ELSE statement_timestamp() + make_interval(secs => %(delay)s) END,
    finalized_at = CASE WHEN spent THEN statement_timestamp() END,
    worker_id = NULL, lease_until = NULL
FROM held WHERE t.id = held.id
RETURNING t.id, t.kind, 'running', t.state
