-- jobs_by_kind: how many jobs of each kind and state, and attempts beyond their first, counted by index up to a limit a state (a queue, where they wait)
WITH looked_at AS (
    SELECT q.name AS source, w.kind, w.state, w.attempt FROM unnest(%(queues)s::text[]) AS q(name)
    CROSS JOIN LATERAL (
        SELECT kind, state, attempt FROM tasks_task WHERE queue = q.name AND state IN ('pending', 'retryable')
        ORDER BY scheduled_at, id LIMIT %(limit)s) w
    UNION ALL
    (SELECT 'running', kind, state, attempt FROM tasks_task WHERE state = 'running' ORDER BY lease_until LIMIT %(limit)s)
    UNION ALL
    SELECT s.state, f.kind, s.state, f.attempt FROM unnest(ARRAY['completed', 'discarded', 'cancelled']) s(state)
    CROSS JOIN LATERAL (
        SELECT k.kind, t.attempt FROM unnest(%(kinds)s::text[]) k(kind), LATERAL (
            SELECT attempt FROM tasks_task
            WHERE (kind, state, id) > (k.kind, s.state, 0) AND (kind, state) <= (k.kind, s.state) AND state <> 'running'
            ORDER BY kind, state, id LIMIT %(limit)s) t
        LIMIT %(limit)s) f)
SELECT source, kind, state, count(*), sum(greatest(attempt - 1, 0)) FROM looked_at GROUP BY source, kind, state
