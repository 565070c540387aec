-- end_runs: keep what became of these tasks, for longer than the tasks themselves are kept
UPDATE tasks_run r
SET state = t.state, started_at = t.claimed_at, finished_at = t.finalized_at,
    reason = CASE WHEN t.state = 'completed' THEN '' ELSE coalesce(t.errors -> -1 ->> 'error', '') END
FROM tasks_task t WHERE t.id = r.job_id AND t.id = ANY(%(ids)s::bigint[]) AND t.state IN ('completed', 'discarded', 'cancelled')
