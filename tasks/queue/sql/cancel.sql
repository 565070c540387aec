-- cancel: end tasks that are not final
WITH picked AS MATERIALIZED (
    SELECT id, state FROM tasks_task
    WHERE id = ANY(%(ids)s::bigint[]) AND state IN ('pending', 'retryable', 'running')
    ORDER BY id FOR UPDATE)
UPDATE tasks_task t
SET state = 'cancelled', finalized_at = statement_timestamp(), worker_id = NULL, lease_until = NULL
FROM picked WHERE t.id = picked.id
RETURNING t.id, t.kind, picked.state, t.state
