-- heartbeat: the workers of one group are alive
UPDATE tasks_worker SET seen_at = statement_timestamp() WHERE "group" = %(group)s
RETURNING id
