-- complete_and_claim: complete one task and take the next of the queue, in one commit
WITH completed AS (
    UPDATE tasks_task
    SET state = 'completed', finalized_at = statement_timestamp(), worker_id = NULL, lease_until = NULL
    WHERE id = %(id)s AND claim = %(claim)s AND worker_id = %(worker)s AND state = 'running'
    RETURNING id, kind),
picked AS MATERIALIZED (
    SELECT id, state FROM tasks_task
    WHERE queue = %(queue)s AND state IN ('pending', 'retryable') AND scheduled_at <= statement_timestamp()
    ORDER BY scheduled_at, id LIMIT 1
    FOR UPDATE SKIP LOCKED),
claimed AS (
    UPDATE tasks_task t
    SET state = 'running', attempt = t.attempt + 1, claim = t.claim + 1, worker_id = %(worker)s,
        claimed_at = statement_timestamp(), lease_until = statement_timestamp() + make_interval(secs => %(lease)s)
    FROM picked WHERE t.id = picked.id
    RETURNING t.id, t.kind, picked.state AS before, t.state, t.claim, t.attempt, t.max_attempts, t.args)
SELECT id, kind, 'running', 'completed', NULL::bigint, NULL::smallint, NULL::smallint, NULL::jsonb FROM completed
UNION ALL
SELECT id, kind, before, state, claim, attempt, max_attempts, args FROM claimed
