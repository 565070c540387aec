-- machine_workers: the worker processes that were started on this machine, and whether any task is to be rescued
SELECT w.id, w.pid, w.started, e.lost
FROM (SELECT EXISTS (
    SELECT FROM tasks_task t
    WHERE state = 'running' AND (lease_until < statement_timestamp()
        OR NOT EXISTS (SELECT FROM tasks_worker o WHERE o.id = t.worker_id)))) e(lost)
LEFT JOIN tasks_worker w ON w.machine = %(machine)s
