-- renew: prolong the leases of tasks that are being worked on
UPDATE tasks_task t
SET lease_until = statement_timestamp() + make_interval(secs => %(lease)s)
FROM unnest(%(ids)s::bigint[], %(claims)s::bigint[]) AS held(id, claim)
WHERE t.id = held.id AND t.claim = held.claim AND t.state = 'running'
