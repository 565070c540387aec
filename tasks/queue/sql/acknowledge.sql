-- acknowledge: put the discarded tasks that nobody has acknowledged to rest, and keep who did it
WITH seen AS (
    UPDATE tasks_task SET acknowledged_at = statement_timestamp()
    WHERE state = 'discarded' AND acknowledged_at IS NULL
    RETURNING id),
noted AS (
    INSERT INTO tasks_taskaction (task_id, action, before, by_id, via, at)
    SELECT id, 'acknowledge', 'discarded', %(by)s::bigint, %(via)s::text, %(at)s::timestamptz FROM seen)
SELECT count(*) FROM seen
