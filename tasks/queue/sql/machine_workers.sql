-- machine_workers: the worker processes that were started on this machine, and whether any task is to be rescued
SELECT w.id, w.pid, w.started, e.lost
FROM (SELECT EXISTS (
    SELECT FROM tasks_task
    WHERE state = 'running' AND (lease_until < statement_timestamp() OR worker_id = ANY(%(buried)s::bigint[])))) e(lost)
LEFT JOIN tasks_worker w ON w.machine = %(machine)s
