-- sizes: the rows (estimated) and bytes (indexes included) of the panel's tables
SELECT c.relname, greatest(c.reltuples, 0)::bigint, pg_total_relation_size(c.oid)
FROM unnest(ARRAY['tasks_task', 'tasks_event', 'tasks_delivery']) WITH ORDINALITY names(name, place)
JOIN pg_class c ON c.oid = to_regclass(names.name) ORDER BY place
