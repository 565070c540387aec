-- newest: the ids of the newest tasks of these kinds and states, below an id (the order leaves the planner one index)
SELECT id FROM (
    SELECT t.id FROM unnest(%(kinds)s::text[]) k(kind), unnest(%(states)s::text[]) s(state), LATERAL (
        SELECT id FROM tasks_task
        WHERE (kind, state, id) > (k.kind, s.state, 0) AND (kind, state, id) < (k.kind, s.state, %(before)s::bigint)
          AND state <> 'running'
        ORDER BY kind DESC, state DESC, id DESC LIMIT %(limit)s) t
    UNION ALL
    SELECT id FROM tasks_task
    WHERE state = 'running' AND 'running' = ANY(%(states)s::text[]) AND kind = ANY(%(kinds)s::text[])
      AND id < %(before)s) found
ORDER BY id DESC LIMIT %(limit)s
