-- complete_and_claim_hand: complete the tasks of a hand and take the next few of the queue, in one commit
-- Only quick kinds in their first attempt are taken together, and none out of its turn.
WITH completed AS (
    UPDATE tasks_task t
    SET state = 'completed', finalized_at = statement_timestamp(), worker_id = NULL, lease_until = NULL
    FROM unnest(%(ids)s::bigint[], %(claims)s::bigint[]) AS done(id, claim)
    WHERE t.id = done.id AND t.claim = done.claim AND t.worker_id = %(worker)s AND t.state = 'running'
    RETURNING t.id, t.kind),
picked AS MATERIALIZED (
    SELECT id, state, scheduled_at, kind = ANY(%(quick)s::text[]) AND claim = 0 AS quick FROM tasks_task
    WHERE queue = %(queue)s AND state IN ('pending', 'retryable') AND scheduled_at <= statement_timestamp()
    ORDER BY scheduled_at, id LIMIT %(most)s
    FOR UPDATE SKIP LOCKED),
hand AS (
    SELECT id, state, row_number() OVER turn AS n, bool_and(quick) OVER turn AS quick FROM picked
    WINDOW turn AS (ORDER BY scheduled_at, id)),
claimed AS (
    UPDATE tasks_task t
    SET state = 'running', attempt = t.attempt + 1, claim = t.claim + 1, worker_id = %(worker)s,
        claimed_at = statement_timestamp(), lease_until = statement_timestamp() + make_interval(secs => %(lease)s)
    FROM hand WHERE t.id = hand.id AND (hand.n = 1 OR hand.quick)
    RETURNING t.id, t.kind, hand.state AS before, t.state, t.claim, t.attempt, t.max_attempts, t.args, hand.n)
SELECT id, kind, 'running', 'completed', NULL::bigint, NULL::smallint, NULL::smallint, NULL::jsonb, NULL::bigint
FROM completed
UNION ALL
SELECT id, kind, before, state, claim, attempt, max_attempts, args, n FROM claimed
