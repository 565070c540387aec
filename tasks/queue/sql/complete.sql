-- complete: the handlers are done, where these claims still hold the tasks
UPDATE tasks_task t
SET state = 'completed', finalized_at = statement_timestamp(), worker_id = NULL, lease_until = NULL
FROM unnest(%(ids)s::bigint[], %(claims)s::bigint[]) AS done(id, claim)
WHERE t.id = done.id AND t.claim = done.claim AND t.worker_id = %(worker)s AND t.state = 'running'
RETURNING t.id, t.kind, 'running', t.state
