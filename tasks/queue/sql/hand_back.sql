-- hand_back: give back the tasks of a hand that were not begun, with no attempt spent, and ring for them
WITH back AS (
    UPDATE tasks_task t
    SET state = 'pending', attempt = t.attempt - 1, worker_id = NULL, lease_until = NULL
    FROM unnest(%(ids)s::bigint[], %(claims)s::bigint[]) AS held(id, claim)
    WHERE t.id = held.id AND t.claim = held.claim AND t.worker_id = %(worker)s AND t.state = 'running'
    RETURNING t.id, t.kind, t.state, t.queue)
SELECT id, kind, 'running', state, pg_notify('standmeet_job_new', queue) FROM back
