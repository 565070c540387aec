-- overdue_periods: which of these have not run to an end in two periods, and since when they are late
SELECT d.name, ended.at + make_interval(secs => d.every)
FROM unnest(%(names)s::text[], %(everys)s::float8[]) AS d(name, every)
JOIN tasks_period p USING (name)
CROSS JOIN LATERAL (SELECT coalesce(
    (SELECT finished_at FROM tasks_run WHERE name = d.name AND state IN ('completed', 'discarded') ORDER BY id DESC LIMIT 1),
    p.since)) ended(at)
WHERE ended.at + make_interval(secs => 2 * d.every) < statement_timestamp()
ORDER BY 2
