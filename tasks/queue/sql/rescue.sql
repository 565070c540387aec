-- rescue: free the tasks of workers that died and those whose lease has passed; it counts as a failed attempt
WITH lost AS MATERIALIZED (
    SELECT id, attempt >= max_attempts AS spent, worker_id = ANY(%(dead)s::bigint[]) AS died FROM tasks_task
    WHERE state = 'running' AND (worker_id = ANY(%(dead)s::bigint[]) OR lease_until < statement_timestamp())
    ORDER BY id LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED)
UPDATE tasks_task t
SET state = CASE WHEN spent THEN 'discarded' ELSE 'retryable' END,
    errors = t.errors || jsonb_build_array(jsonb_build_object(
        'at', statement_timestamp(), 'attempt', t.attempt,
        'error', CASE WHEN died THEN 'Its worker process died.'
                      ELSE 'Its lease ran out: the worker was frozen or cut off from the database.' END)),
    scheduled_at = CASE WHEN spent THEN t.scheduled_at ELSE statement_timestamp() END,
    finalized_at = CASE WHEN spent THEN statement_timestamp() END,
    worker_id = NULL, lease_until = NULL
FROM lost WHERE t.id = lost.id
RETURNING t.id, t.kind, 'running', t.state
