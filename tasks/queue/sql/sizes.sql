-- sizes: the rows (estimated; null until the table was analysed) and bytes (indexes included) of the panel's tables
SELECT c.relname, CASE WHEN c.reltuples >= 0 THEN c.reltuples::bigint END, pg_total_relation_size(c.oid)
FROM unnest(ARRAY['tasks_task', 'tasks_event', 'tasks_delivery']) WITH ORDINALITY names(name, place)
JOIN pg_class c ON c.oid = to_regclass(names.name) ORDER BY place
