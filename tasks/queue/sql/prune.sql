-- prune: among the next tasks of one kind and final state, delete those that ended longer ago than they are kept; how many, the last id looked at, and whether later ones may have ended as long ago
WITH looked AS MATERIALIZED (
    SELECT id, created_at FROM tasks_task
    WHERE (kind, state, id) > (%(kind)s::text, %(state)s::text, %(after)s::bigint)
      AND (kind, state) <= (%(kind)s::text, %(state)s::text) AND state <> 'running'
    ORDER BY kind, state, id LIMIT %(limit)s),
expired AS MATERIALIZED (
    SELECT t.id FROM tasks_task t JOIN looked USING (id)
    WHERE t.state = %(state)s AND t.finalized_at < statement_timestamp() - make_interval(secs => %(keep)s)
    FOR UPDATE OF t SKIP LOCKED),
gone AS (DELETE FROM tasks_task WHERE id IN (SELECT id FROM expired) RETURNING id),
forgotten AS (DELETE FROM tasks_taskaction WHERE task_id IN (SELECT id FROM gone))
SELECT (SELECT count(*) FROM gone), coalesce(max(id), 0),
       count(*) = %(limit)s AND max(created_at) < statement_timestamp() - make_interval(secs => %(keep)s)
FROM looked
