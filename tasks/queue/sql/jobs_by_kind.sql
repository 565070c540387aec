-- jobs_by_kind: how many jobs of each kind and state, and attempts beyond their first, counted by index up to a limit a state (a queue, where they wait)
WITH looked_at AS (
    SELECT q.name AS source, w.kind, w.state, w.attempt FROM unnest(%(queues)s::text[]) AS q(name)
    CROSS JOIN LATERAL (
        SELECT kind, state, attempt FROM tasks_task WHERE queue = q.name AND state IN ('pending', 'retryable')
        ORDER BY scheduled_at, id LIMIT %(limit)s) w
    UNION ALL
    (SELECT 'running', kind, state, attempt FROM tasks_task WHERE state = 'running' ORDER BY lease_until LIMIT %(limit)s)
    UNION ALL
    (SELECT 'completed', kind, state, attempt FROM tasks_task WHERE state = 'completed' ORDER BY finalized_at DESC LIMIT %(limit)s)
    UNION ALL
    (SELECT 'discarded', kind, state, attempt FROM tasks_task WHERE state = 'discarded' ORDER BY finalized_at DESC LIMIT %(limit)s)
    UNION ALL
    (SELECT 'cancelled', kind, state, attempt FROM tasks_task WHERE state = 'cancelled' ORDER BY finalized_at DESC LIMIT %(limit)s))
SELECT source, kind, state, count(*), sum(greatest(attempt - 1, 0)) FROM looked_at GROUP BY source, kind, state
