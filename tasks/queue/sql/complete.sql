-- complete: the handler is done, if this claim still holds the task
UPDATE tasks_task
SET state = 'completed', finalized_at = statement_timestamp(), worker_id = NULL, lease_until = NULL
WHERE id = %(id)s AND claim = %(claim)s AND state = 'running'
RETURNING id, kind, 'running', state
