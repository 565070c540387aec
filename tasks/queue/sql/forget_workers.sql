-- forget_workers: remove the rows of workers that are gone, or of other machines and silent for long, and hold nothing
DELETE FROM tasks_worker w
WHERE (id = ANY(%(gone)s::bigint[])
       OR machine <> %(machine)s AND seen_at < statement_timestamp() - interval '5 minutes')
  AND NOT EXISTS (SELECT FROM tasks_task t WHERE t.worker_id = w.id AND t.state = 'running')
