-- rescue: free the tasks of workers that died and those whose lease has passed; it counts as a failed attempt
WITH running AS (
    SELECT id, attempt >= max_attempts AS spent, lease_until < statement_timestamp() AS passed,
           worker_id = ANY(%(dead)s::bigint[])
           -- a claim that was committed after its worker's death had been noticed
           OR NOT EXISTS (SELECT FROM tasks_worker w WHERE w.id = t.worker_id) AS died
    FROM tasks_task t WHERE state = 'running'),
lost AS MATERIALIZED (
    SELECT r.id, spent, died FROM running r JOIN tasks_task t USING (id)
    WHERE (died OR passed) AND t.state = 'running'
    ORDER BY r.id LIMIT %(limit)s
    FOR UPDATE OF t SKIP LOCKED)
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
