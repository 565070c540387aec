-- workers_seen: how many worker processes of each queue were seen in the last minute
SELECT queue, count(*) FROM tasks_worker WHERE seen_at > statement_timestamp() - interval '60 seconds' GROUP BY queue
