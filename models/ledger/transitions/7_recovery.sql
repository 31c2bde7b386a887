-- Recovery: leases, and what nobody holds.

-- Renews leases in one statement each: of turns [{turn, attempt}] and of steps [{turn, id, attempt}]. What somebody has
-- locked is left for the next beat: these statements take rows of many turns, and to wait for one could be a deadlock.
create function hot.renew_leases(p_steps jsonb, p_turns jsonb, p_lease_ms int) returns void language sql as $$
  update turns t set lease_until = clock_timestamp() + make_interval(secs => p_lease_ms / 1000.0)
    from (select x.id from turns x join jsonb_to_recordset(p_turns) as held(turn uuid, attempt int)
              on x.id = held.turn and x.attempt = held.attempt and x.status in ('planning', 'responding')
             for no key update of x skip locked) free
   where t.id = free.id;
  update steps s set lease_until = clock_timestamp() + make_interval(secs => p_lease_ms / 1000.0)
    from (select x.turn_id, x.id from steps x join jsonb_to_recordset(p_steps) as held(turn uuid, id text, attempt int)
              on x.turn_id = held.turn and x.id = held.id and x.attempt = held.attempt and x.status = 'running'
             for no key update of x skip locked) free
   where s.turn_id = free.turn_id and s.id = free.id
$$;

-- Renews the leases of the steps that other processes work on: [{turn, worker}].
create function hot.renew_held(p_held jsonb, p_lease_ms int) returns void language sql as $$
  update steps s set lease_until = clock_timestamp() + make_interval(secs => p_lease_ms / 1000.0)
    from (select x.turn_id, x.id from steps x join jsonb_to_recordset(p_held) as held(turn uuid, worker text)
              on x.turn_id = held.turn and x.worker = held.worker and x.status = 'running'
             for no key update of x skip locked) free
   where s.turn_id = free.turn_id and s.id = free.id
$$;

-- Finds turns that nobody holds. Kind: plan, respond (the lease has run out, or no planner has taken a turn that is to
-- be planned again), steps (a step's lease has run out; a parked step's time has come since the last compilation; or a
-- step is ready and nobody has taken it for the grace, which doubles with each recovery; but on a busy queue that is
-- only waiting, and so it is for a place within the turn's cap), effect (the turn was closed over a call with an
-- effect, and that call's lease has run out).
create function hot.find_lost(p_grace_ms int, p_busy_queues text[], p_limit int) returns table (turn_id uuid, kind text)
language sql as $$
  select t.id, case t.status when 'planning' then 'plan' else 'respond' end
    from turns t
   where t.status in ('planning', 'responding') and t.lease_until < clock_timestamp()
  union all
  select t.id, 'plan'
    from turns t
   where t.status = 'planning' and t.lease_until is null
     and t.sent_at < clock_timestamp() - make_interval(secs => p_grace_ms / 1000.0 * power(2, least(t.recoveries, 8)))
  union all
  select t.id, 'steps'
    from turns t cross join lateral (
           select case when t.max_parallel is not null
                        and t.compiled_at < clock_timestamp() - make_interval(secs => p_grace_ms / 1000.0)
                       then hot.in_flight(t) end as steps offset 0) in_flight
   where t.status = 'running' and (
     exists (select 1 from steps s where s.turn_id = t.id and (
               (s.status = 'running' and s.lease_until < clock_timestamp())
               or (s.status = 'pending' and s.not_before < clock_timestamp() and s.not_before > t.compiled_at)))
     or exists (
       select 1 from steps s
        where s.turn_id = t.id and s.status = 'pending' and s.queue <> all (p_busy_queues)
          and not exists (select 1 from steps n where n.turn_id = t.id and n.id = any (s.needs)
                          and not hot.is_final(n.status))
          and greatest(t.compiled_at, s.not_before, (select max(n.finished_at) from steps n
                                                     where n.turn_id = t.id and n.id = any (s.needs)))
              < clock_timestamp() - make_interval(secs => p_grace_ms / 1000.0 * power(2, least(t.recoveries, 8)))
          and (t.max_parallel is null or coalesce(
            (select f.sent_at
                    < clock_timestamp() - make_interval(secs => p_grace_ms / 1000.0 * power(2, least(t.recoveries, 8)))
               from fragments f where f.turn_id = t.id and f.generation = t.generation and s.id = any (f.steps)),
            in_flight.steps < t.max_parallel))))
  union all
  select distinct t.id, 'effect'
    from steps s join turns t on t.id = s.turn_id
   where s.status = 'running' and s.effect <> 'read' and s.lease_until < clock_timestamp() and t.status <> 'running'
   limit p_limit
$$;

-- Takes the active queued turns that no planner took within the grace, which doubles each time. Out: their ids, which
-- are the caller's to dispatch.
create function hot.take_unsent(p_grace_ms int, p_limit int) returns setof uuid language sql as $$
  with overdue as materialized (
    select id, tenant_id from turns
     where status = 'queued'
       and sent_at < clock_timestamp() - make_interval(secs => p_grace_ms / 1000.0 * power(2, least(recoveries, 8)))
     order by sent_at limit p_limit for no key update skip locked
  )
  update turns t set sent_at = clock_timestamp(), recoveries = t.recoveries + 1
    from overdue o where t.id = o.id and t.tenant_id = o.tenant_id
  returning t.id
$$;

-- What was lost of a turn: how many steps, whether a critical one failed of it, and the events of those that have
-- ended.
create type hot.lost as (steps int, is_critical boolean, told jsonb);

-- Takes lost steps of a turn back, and ends those that are not to run again: hot.reclaim, whose lock the turn is under.
create function hot.take_back(p_turn uuid, p_max_attempts int, p_gone text, p_overran boolean, p_at timestamptz)
returns hot.lost language plpgsql as $$
declare
  r hot.lost;
begin
  with lost as (
    update steps s
       set status = case when not x.is_over then 'pending' when s.effect = 'read' then 'failed' else 'unknown' end,
           unsure = s.effect <> 'read', lease_until = null, finished_at = case when x.is_over then p_at end,
           error = case when x.overran then jsonb_build_object('code', 'TOOL_TIMEOUT', 'message', format(
                          '%s did not return within its %s ms, and its process was ended', s.tool, s.timeout_ms))
                        when x.is_over then jsonb_build_object('code', 'INTERNAL_ERROR', 'message', format(
                          'the worker was lost in each of %s attempts', s.attempt - s.parked)) end
      from (select y.id, o.overran, o.overran or y.attempt - y.parked >= p_max_attempts as is_over
              from steps y, lateral (select p_overran and y.worker = p_gone as overran) o
             where y.turn_id = p_turn and y.status = 'running'
               and (y.lease_until < p_at or y.worker = p_gone)) x
     where s.turn_id = p_turn and s.id = x.id
    returning s.*
  )
  select count(*), coalesce(bool_or(status = 'failed' and critical), false),
         coalesce(jsonb_agg(hot.step_finished(id, tool, status, error, jsonb_build_object('attempt', attempt)))
                  filter (where status <> 'pending'), '[]')
    into r.steps, r.is_critical, r.told from lost;
  return r;
end $$;

-- The steps of a turn that are not final, as its new canvas is compiled from them. Pinned are those that somebody runs,
-- and those that are parked.
create function hot.open_nodes(p_turn uuid, p_at timestamptz) returns jsonb language plpgsql stable as $$
begin
  return (select coalesce(jsonb_agg(jsonb_build_object(
                   'id', s.id, 'queue', s.queue, 'tool', s.tool, 'effect', s.effect, 'inline', s.inline,
                   'timeout_ms', s.timeout_ms, 'fallbacks', s.fallbacks,
                   'is_pinned', s.status <> 'pending' or coalesce(s.not_before > p_at, false),
                   'needs', array(select n.id from steps n where n.turn_id = p_turn and n.id = any (s.needs)
                                     and not hot.is_final(n.status))) order by s.revision, s.position), '[]')
            from steps s where s.turn_id = p_turn and not hot.is_final(s.status));
end $$;

-- Takes back what was lost of a running turn and starts a new generation, whose fragments the caller compiles and
-- stores with hot.store_fragments in the same transaction. Reads run again; a lost call with an effect is `unsure`;
-- after `p_max_attempts` a step fails, because it seems to kill its workers. The steps of the process `p_gone` are lost
-- before their leases end; if it was ended because it had overrun its time, they end too. `p_resumed`: something may go
-- on that had to wait.
-- Null: the turn does not run. Out: {generation, placement, max_parallel, nodes: [{id, needs, queue, tool, effect,
-- inline, timeout_ms, fallbacks, is_pinned}], respond, events}. Pinned are the steps that somebody runs, and those that
-- are parked.
create function hot.reclaim(p_turn uuid, p_max_attempts int, p_lease_ms int, p_gone text, p_overran boolean,
                            p_resumed boolean)
returns jsonb language plpgsql as $$
declare
  t turns;
  l hot.lost;
  v_at timestamptz;
  v_events jsonb;
  v_respond int;
begin
  perform hot.lock_conversation(p_turn);
  select * into t from turns where id = p_turn and status = 'running' for no key update;
  if not found then
    return null;
  end if;
  v_at := clock_timestamp();
  l := hot.take_back(p_turn, p_max_attempts, p_gone, p_overran, v_at);
  v_events := l.told;
  if jsonb_array_length(v_events) > 0 then
    perform hot.audit_calls(t, v_events);
    v_events := v_events || hot.end_impossible(p_turn, t.on_error = 'fail_fast' and l.is_critical, v_at);
  end if;
  -- That something may go on, or that a parked step's time has come, is no loss: what is lost after it is to be found
  -- as soon as ever.
  update turns x set generation = x.generation + 1, compiled_at = v_at,
         recoveries = x.recoveries + (l.steps > 0 or not (p_resumed or exists (
           select from steps
            where turn_id = p_turn and status = 'pending' and not_before > t.compiled_at
              and not_before <= v_at)))::int,
         open_steps = x.open_steps - jsonb_array_length(v_events)
   where x.id = p_turn returning * into t;
  if t.open_steps = 0 then
    v_respond := hot.count_ended(p_turn, 0, 0, true, p_lease_ms, v_at);
  elsif t.asked then
    perform hot.rest(p_turn, v_at);
  end if;
  return jsonb_build_object(
    'generation', t.generation, 'placement', t.placement, 'max_parallel', t.max_parallel, 'respond', v_respond,
    'events', hot.append_events(t, v_events, v_at),
    'nodes', hot.open_nodes(p_turn, v_at));
end $$;

-- Ends the lost calls of a closed turn. They are not made again and nobody asks the backend: what became of them is
-- unknown, until an operator decides. Out: events; null: the turn runs, and hot.reclaim is for it.
create function hot.give_up(p_turn uuid) returns jsonb language plpgsql as $$
declare
  t turns;
  v_at timestamptz;
  v_events jsonb;
begin
  perform hot.lock_conversation(p_turn);
  select * into t from turns where id = p_turn and status <> 'running' for no key update;
  if not found then
    return null;
  end if;
  v_at := clock_timestamp();
  with lost as (
    update steps s set status = 'unknown', finished_at = v_at, lease_until = null, error = jsonb_build_object(
             'code', 'INTERNAL_ERROR', 'message', 'the worker was lost after the turn had been closed')
     where s.turn_id = p_turn and s.status = 'running' and s.effect <> 'read' and s.lease_until < v_at
    returning s.*
  )
  select coalesce(jsonb_agg(hot.step_finished(id, tool, status, error, jsonb_build_object('attempt', attempt))), '[]')
    into v_events from lost;
  perform hot.audit_calls(t, v_events);
  update turns set open_steps = open_steps - jsonb_array_length(v_events) where id = p_turn;
  return hot.append_events(t, v_events, v_at);
end $$;

-- Takes a turn whose responder was lost, or that was postponed, which is no loss. Out: its new fence; null: it is held,
-- or has ended.
create function hot.take_over(p_turn uuid, p_lease_ms int) returns int language sql as $$
  update turns t set attempt = t.attempt + 1, recoveries = t.recoveries + (t.error is null)::int,
         lease_until = clock_timestamp() + make_interval(secs => p_lease_ms / 1000.0 * power(2, least(t.recoveries, 6)))
   where t.id = p_turn and t.status = 'responding' and t.lease_until < clock_timestamp()
  returning t.attempt
$$;

-- Gives a turn whose planner was lost, or that was postponed, back to the queue; false where it is held, or planned.
-- One that has a plan already stays in planning: a queued turn is one that nobody has begun, and takes further
-- messages.
create function hot.requeue(p_turn uuid) returns boolean language sql as $$
  with given_back as (
    update turns t set status = case t.revision when 0 then 'queued' else 'planning' end, sent_at = clock_timestamp(),
           recoveries = t.recoveries + (t.error is null)::int, lease_until = null
     where t.id = p_turn and t.status = 'planning' and coalesce(t.lease_until < clock_timestamp(), true)
    returning 1
  )
  select exists (select 1 from given_back)
$$;

-- Records what an operator has found out about a call of unknown outcome. Nothing is called, and a reply that was sent
-- does not change.
-- Null: there is no such step. Out: {status: of the step before, events: null where that was not unknown}.
create function hot.decide_step(p_turn uuid, p_step text, p_status text, p_result jsonb, p_note text, p_key uuid,
                                p_by text) returns jsonb language plpgsql as $$
declare
  t turns;
  s steps;
begin
  perform hot.lock_conversation(p_turn);
  select * into t from turns where id = p_turn for no key update;
  select * into s from steps where turn_id = p_turn and id = p_step;
  if not found then
    return null;
  elsif s.status <> 'unknown' then
    return jsonb_build_object('status', s.status, 'events', null);
  end if;
  update steps set status = p_status, result = p_result,
         error = case p_status when 'failed' then jsonb_build_object(
                   'code', coalesce(s.error ->> 'code', 'INTERNAL_ERROR'),
                   'message', coalesce(nullif(p_note, ''), 'an operator found that it had not taken effect')) end
   where turn_id = p_turn and id = p_step returning * into s;
  perform hot.append_audit(t.tenant_id, t.conversation_id, t.id, 'step.decided', jsonb_strip_nulls(jsonb_build_object(
    'step', s.id, 'tool', s.tool, 'status', s.status, 'note', p_note) || hot.who(p_key, p_by)));
  return jsonb_build_object('status', 'unknown', 'events', hot.append_events(t, jsonb_build_array(
    hot.step_finished(s.id, s.tool, s.status, s.error, jsonb_build_object('attempt', s.attempt))), clock_timestamp()));
end $$;
