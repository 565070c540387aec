-- machine_workers: the worker processes that were started on this machine, and whether any lease has passed
SELECT w.id, w.pid, w.started, e.expired
FROM (SELECT EXISTS (SELECT FROM tasks_task WHERE state = 'running' AND lease_until < statement_timestamp())) e(expired)
LEFT JOIN tasks_worker w ON w.machine = %(machine)s
