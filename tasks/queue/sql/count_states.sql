-- count_states: how many tasks of these kinds are in each state, counted up to a limit (the order leaves the planner one index)
SELECT s.state, (SELECT count(*) FROM (
    SELECT FROM unnest(%(kinds)s::text[]) k(kind), LATERAL (
        SELECT FROM tasks_task
        WHERE (kind, state, id) > (k.kind, s.state, 0) AND (kind, state) <= (k.kind, s.state) AND state <> 'running'
        ORDER BY kind, state, id LIMIT %(limit)s) t
    LIMIT %(limit)s) counted)
FROM unnest(ARRAY['pending', 'retryable', 'completed', 'discarded', 'cancelled']) s(state)
UNION ALL
SELECT 'running', count(*) FROM (
    SELECT FROM tasks_task WHERE state = 'running' AND kind = ANY(%(kinds)s::text[]) LIMIT %(limit)s) counted
