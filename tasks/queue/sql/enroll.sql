-- enroll: a worker process begins
INSERT INTO tasks_worker ("group", machine, host, pid, started, queue, started_at, seen_at)
VALUES (%(group)s, %(machine)s, %(host)s, %(pid)s, %(started)s, %(queue)s, statement_timestamp(), statement_timestamp())
RETURNING id
