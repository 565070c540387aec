-- renew: prolong the leases of tasks that are being worked on
UPDATE tasks_task t
SET lease_until = statement_timestamp() + make_interval(secs => %(lease)s)
FROM unnest(%(ids)s::bigint[], %(claims)s::bigint[], %(workers)s::bigint[]) AS held(id, claim, worker)
WHERE t.id = held.id AND t.claim = held.claim AND t.worker_id = held.worker AND t.state = 'running'
