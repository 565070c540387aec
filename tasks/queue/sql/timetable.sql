-- timetable: when each of these is due next, and its latest runs as their tasks are now
SELECT d.name, p.next_due, r.job_id, r.due_at, r.missed, r.asked_at, r.asked_by_id,
       coalesce(t.claimed_at, r.started_at), coalesce(t.finalized_at, r.finished_at),
       coalesce(t.state, nullif(r.state, ''), 'lost'),
       CASE WHEN t.id IS NULL THEN r.reason WHEN t.state IN ('completed', 'pending', 'running') THEN ''
            ELSE coalesce(t.errors -> -1 ->> 'error', '') END
FROM unnest(%(names)s::text[]) WITH ORDINALITY AS d(name, place)
LEFT JOIN tasks_period p USING (name)
LEFT JOIN LATERAL (SELECT * FROM tasks_run WHERE name = d.name ORDER BY id DESC LIMIT %(runs)s) r ON true
LEFT JOIN tasks_task t ON t.id = r.job_id
ORDER BY d.place, r.id DESC
