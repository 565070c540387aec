-- prune_runs: of each periodic work keep the latest runs, and those whose task has not ended
DELETE FROM tasks_run WHERE id IN (
    SELECT id FROM (SELECT id, job_id, state, row_number() OVER (PARTITION BY name ORDER BY id DESC) AS n FROM tasks_run) counted
    WHERE n > %(keep)s AND (state <> '' OR NOT EXISTS (SELECT FROM tasks_task t WHERE t.id = job_id)))
