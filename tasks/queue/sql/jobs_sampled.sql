-- jobs_sampled: the same, estimated from about so many pages of the table, taken at random
WITH share AS MATERIALIZED (
    SELECT least(1.0, %(pages)s::float8 / greatest(1, pg_relation_size('tasks_task') / current_setting('block_size')::bigint)) AS part)
SELECT kind, state, round(count(*) / max(part)), round(sum(greatest(attempt - 1, 0)) / max(part))
FROM tasks_task TABLESAMPLE SYSTEM ((SELECT 100 * part FROM share)), share
GROUP BY kind, state
