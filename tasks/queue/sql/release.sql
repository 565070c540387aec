-- release: give back what these workers hold and are not going to run, with no attempt spent
UPDATE tasks_task
SET state = 'pending', attempt = attempt - 1, worker_id = NULL, lease_until = NULL
WHERE worker_id = ANY(%(workers)s::bigint[]) AND id <> ALL(%(except_for)s::bigint[]) AND state = 'running'
RETURNING id, kind, 'running', state
