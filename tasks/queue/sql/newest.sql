-- newest: the ids of the newest tasks of these kinds, states and queues, below an id
SELECT id FROM (
    SELECT t.id FROM unnest(%(kinds)s::text[]) k(kind), unnest(%(states)s::text[]) s(state), LATERAL (
        SELECT id FROM tasks_task
        WHERE kind = k.kind AND state = s.state AND state <> 'running' AND id < %(before)s
          AND (%(queue)s = '' OR queue = %(queue)s)
        ORDER BY kind DESC, state DESC, id DESC LIMIT %(limit)s) t
    UNION ALL
    SELECT id FROM tasks_task
    WHERE state = 'running' AND 'running' = ANY(%(states)s::text[]) AND kind = ANY(%(kinds)s::text[])
      AND id < %(before)s AND (%(queue)s = '' OR queue = %(queue)s)) found
ORDER BY id DESC LIMIT %(limit)s
