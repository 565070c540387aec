-- kinds_present: every kind that the table holds, by a skip through its index
WITH RECURSIVE skip(kind) AS (
    (SELECT kind FROM tasks_task WHERE state <> 'running' ORDER BY kind LIMIT 1)
    UNION ALL
    SELECT (SELECT t.kind FROM tasks_task t WHERE t.kind > skip.kind AND t.state <> 'running' ORDER BY t.kind LIMIT 1)
    FROM skip WHERE skip.kind IS NOT NULL)
SELECT kind FROM skip WHERE kind IS NOT NULL
UNION SELECT kind FROM tasks_task WHERE state = 'running'
