-- claim: take the oldest due task of one queue; a crash of Postgres may forget it, as if it had not been made
WITH picked AS MATERIALIZED (
    SELECT id, state FROM tasks_task
    WHERE queue = %(queue)s AND state IN ('pending', 'retryable') AND scheduled_at <= statement_timestamp()
    ORDER BY scheduled_at, id LIMIT 1
    FOR UPDATE SKIP LOCKED)
UPDATE tasks_task t
SET state = 'running', attempt = t.attempt + 1, claim = t.claim + 1, worker_id = %(worker)s,
    claimed_at = statement_timestamp(), lease_until = statement_timestamp() + make_interval(secs => %(lease)s)
FROM picked, set_config('synchronous_commit', 'off', true) WHERE t.id = picked.id
RETURNING t.id, t.kind, picked.state, t.state, t.claim, t.attempt, t.max_attempts, t.args
