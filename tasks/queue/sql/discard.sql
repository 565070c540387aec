-- discard: the task cannot succeed
UPDATE tasks_task t
SET state = 'discarded', finalized_at = statement_timestamp(), worker_id = NULL, lease_until = NULL,
    errors = t.errors || jsonb_build_array(
        jsonb_build_object('at', statement_timestamp(), 'attempt', t.attempt, 'error', %(error)s::text))
WHERE id = %(id)s AND claim = %(claim)s AND worker_id = %(worker)s AND state = 'running'
RETURNING id, kind, 'running', state
