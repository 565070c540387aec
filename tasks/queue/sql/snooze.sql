-- snooze: again later, with no attempt spent
UPDATE tasks_task
SET state = 'pending', attempt = attempt - 1, worker_id = NULL, lease_until = NULL,
    scheduled_at = statement_timestamp() + make_interval(secs => %(delay)s)
WHERE id = %(id)s AND claim = %(claim)s AND worker_id = %(worker)s AND state = 'running'
RETURNING id, kind, 'running', state
