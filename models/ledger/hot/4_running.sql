-- Running: steps are claimed, recorded, and lead to the next ones.

-- First step of a lane that is not final; null where all are. Most lanes are one step.
create function hot.next_of_lane(p_turn uuid, p_lane text[]) returns steps language plpgsql stable as $$
declare
  s steps;
begin
  if cardinality(p_lane) = 1 then
    select * into s from steps where turn_id = p_turn and id = p_lane[1];
    return case when not hot.is_final(s.status) then s end;
  end if;
  select x.* into s from steps x where x.turn_id = p_turn and x.id = any (p_lane) and not hot.is_final(x.status)
   order by array_position(p_lane, x.id) limit 1;
  return s;
end $$;

-- Starts a step that hot.next_of_lane has found, if it is ready and, with `p_reads_only`, only reads; under its turn's lock.
-- Null: it is not. Out: what its executor must know.
create function hot.start(p_turn turns, s steps, p_reads_only boolean, p_worker text, p_lease_ms int, p_at timestamptz)
returns jsonb language plpgsql as $$
declare
  v_open boolean := false;
  v_ready_at timestamptz := s.ready_at;
  v_inputs jsonb := '{}';
begin
  if s.status <> 'pending' or (p_reads_only and s.effect <> 'read') or s.not_before > p_at then
    return null;
  end if;
  if cardinality(s.needs) > 0 then
    select bool_or(not hot.is_final(n.status)), max(n.finished_at) into v_open, v_ready_at
      from steps n where n.turn_id = s.turn_id and n.id = any (s.needs);
    if v_open then
      return null;
    end if;
  end if;
  if cardinality(s.inputs) > 0 then
    select coalesce(jsonb_object_agg(n.id, n.result), '{}') into v_inputs
      from steps n where n.turn_id = s.turn_id and n.id = any (s.inputs) and n.status = 'succeeded';
  end if;
  update steps x
     set status = 'running', attempt = x.attempt + 1, worker = p_worker, started_at = p_at, error = null,
         ready_at = greatest(s.not_before, coalesce(v_ready_at, s.ready_at)),
         lease_until = p_at + make_interval(secs => p_lease_ms / 1000.0)
   where x.turn_id = s.turn_id and x.id = s.id;
  return jsonb_build_object(
    'id', s.id, 'tool', s.tool, 'attempt', s.attempt + 1, 'args', s.args, 'timeout_ms', s.timeout_ms, 'effect', s.effect,
    'unsure', s.unsure, 'run_if', s.run_if, 'fallbacks', s.fallbacks, 'copy_of', s.copy_of,
    'left_ms', greatest(0, round(extract(epoch from p_turn.deadline_at - p_at) * 1000)), 'inputs', v_inputs);
end $$;

create function hot.started(p_step jsonb, p_worker text) returns jsonb language sql immutable as $$
  select jsonb_build_object('type', 'step.started', 'data', jsonb_build_object(
    'step', p_step -> 'id', 'tool', p_step -> 'tool', 'attempt', p_step -> 'attempt', 'worker', p_worker))
$$;

-- Claims the next step of each lane [[step ids]]. Verdict: claimed (of at least one); done (every step of the lanes is final);
-- or why not: closed (the turn is neither planned nor run), stale (another generation), busy (somebody holds the step), early
-- (a need is not final, or its time has not come).
create function hot.claim_lanes(p_turn uuid, p_lanes jsonb, p_generation int, p_worker text, p_lease_ms int) returns jsonb
language plpgsql as $$
declare
  t turns;
  s steps;
  v_lane text[];
  v_step jsonb;
  v_verdict text := 'done';
  v_claimed jsonb := '[]';
  v_events jsonb := '[]';
  v_at timestamptz;
begin
  select * into t from turns where id = p_turn for no key update;
  if not found then
    return jsonb_build_object('verdict', 'closed');
  end if;
  v_at := clock_timestamp();
  if t.generation <> p_generation then
    return jsonb_build_object('verdict', 'stale');
  end if;
  for v_lane in select array(select jsonb_array_elements_text(lane)) from jsonb_array_elements(p_lanes) lane loop
    s := hot.next_of_lane(p_turn, v_lane);
    continue when s.id is null;
    v_step := case when t.status in ('planning', 'running') then hot.start(t, s, false, p_worker, p_lease_ms, v_at) end;
    if v_step is not null then
      v_claimed := v_claimed || jsonb_build_object('lane', to_jsonb(v_lane), 'step', v_step);
      v_events := v_events || hot.started(v_step, p_worker);
      continue;
    end if;
    v_verdict := case when t.status not in ('planning', 'running') then 'closed' when s.status <> 'pending' then 'busy' else 'early' end;
  end loop;
  return jsonb_build_object(
    'verdict', case when jsonb_array_length(v_claimed) > 0 then 'claimed' else v_verdict end, 'claimed', v_claimed,
    'turn', jsonb_build_object('tenant_id', t.tenant_id, 'conversation_id', t.conversation_id, 'person', t.person,
                               'is_capped', t.max_parallel is not null),
    'events', hot.append_events(t, v_events, v_at));
end $$;

-- Ends what became impossible when steps ended: all that have not begun (fail_fast), or those that need a step that did not
-- succeed. A copy ends as the step that it is a copy of. Out: events. The caller holds the turn's lock.
create function hot.end_impossible(p_turn uuid, p_stop boolean, p_at timestamptz) returns jsonb language plpgsql as $$
declare
  v_events jsonb := '[]';
  v_more jsonb;
begin
  loop
    with ended as (
      update steps s
         set status = case when p_stop then 'cancelled' else coalesce(o.status, 'skipped') end, finished_at = p_at,
             result = case when not p_stop then o.result end,
             error = case when o.status is not null and not p_stop then o.error
                          when p_stop then '{"code": "CANCELLED", "message": "an earlier step failed and the turn stops at the first failure"}'::jsonb
                          else '{"code": "DEPENDENCY_FAILED", "message": "a step that it needs did not succeed"}' end
        from steps x
        left join steps o on o.turn_id = x.turn_id and o.id = x.copy_of and hot.is_final(o.status) and o.status <> 'succeeded'
       where s.turn_id = p_turn and s.status in ('pending', 'waiting_approval') and x.turn_id = s.turn_id and x.id = s.id
         and (p_stop or o.id is not null or (s.on_need_error = 'skip' and exists (
               select 1 from steps n where n.turn_id = p_turn and n.id = any (s.needs)
                  and hot.is_final(n.status) and n.status <> 'succeeded')))
      returning s.id, s.tool, s.status, s.error
    )
    select jsonb_agg(jsonb_build_object('type', 'step.finished', 'data', jsonb_build_object(
             'step', id, 'tool', tool, 'status', status, 'duration_ms', null, 'error', error))) into v_more from ended;
    exit when v_more is null;
    v_events := v_events || v_more;
  end loop;
  return v_events;
end $$;

-- Records finished steps, each under its fence, and goes on: one commit.
--   p_finished  [{id, attempt, status, result, error, cache, input_hash, remember}]
--   p_lanes     [[step ids]]: the rest of each lane that the caller is on; a next step that only reads is claimed here
--   p_take      how many further lanes on p_queue the caller has free slots for; inline ones it takes all the same
--   p_mixed     whether these may have effects; otherwise only lanes that begin with a read are taken
-- Out: {fenced: [step ids], claimed: [{lane, step}], fragments: [expression], generation, respond: attempt or null, events}.
-- `claimed[].step` is null where the caller must claim by itself (a write). `fragments` are the caller's to publish.
create function hot.advance(p_turn uuid, p_generation int, p_worker text, p_finished jsonb, p_lanes jsonb, p_queue text,
                            p_take int, p_mixed boolean, p_lease_ms int) returns jsonb language plpgsql as $$
declare
  t turns;
  f fragments;
  s steps;
  v_at timestamptz;
  v_ended text[];
  v_events jsonb;
  v_failed boolean;
  v_critical boolean;
  v_wrote boolean;
  v_last boolean;
  v_step jsonb;
  v_claimed jsonb := '[]';
  v_fragments jsonb := '[]';
  v_respond int;
  v_taken int := 0;
  v_lane text[];
  v_next int[];
begin
  select * into t from turns where id = p_turn for no key update;
  v_at := clock_timestamp();
  with ended as (
    update steps x set status = e.status, result = e.result, error = e.error, cache = e.cache, input_hash = e.input_hash,
           finished_at = v_at, lease_until = null
      from jsonb_to_recordset(p_finished) as e(id text, attempt int, status text, result jsonb, error jsonb, cache text, input_hash text)
     where x.turn_id = p_turn and x.id = e.id and x.attempt = e.attempt and x.status = 'running'
    returning x.*
  )
  select array_agg(id), bool_or(status <> 'succeeded'), bool_or(status = 'failed' and critical), bool_or(effect <> 'read'),
         jsonb_agg(jsonb_build_object('type', 'step.finished', 'data', jsonb_strip_nulls(jsonb_build_object(
           'step', id, 'tool', tool, 'status', status, 'attempt', attempt, 'error', error, 'cache', cache,
           'duration_ms', round(extract(epoch from v_at - started_at) * 1000, 3)))))
    into v_ended, v_failed, v_critical, v_wrote, v_events from ended;
  if v_ended is null then
    return jsonb_build_object('fenced', (select jsonb_agg(e -> 'id') from jsonb_array_elements(p_finished) e),
                              'claimed', '[]'::jsonb, 'fragments', '[]'::jsonb, 'generation', t.generation, 'events', '[]'::jsonb);
  end if;
  if p_finished @? '$[*].remember.tool' then
    perform hot.remember(t, p_finished, v_at);
  end if;
  if v_wrote then
    perform hot.doubt_memory(t);
  end if;
  if v_failed then
    v_events := v_events || hot.end_impossible(p_turn, t.on_error = 'fail_fast' and v_critical, v_at);
    v_ended := array(select e #>> '{data,step}' from jsonb_array_elements(v_events) e);
  end if;
  v_last := t.status = 'running' and t.open_steps = cardinality(v_ended);

  if p_lanes <> '[]' and t.generation = p_generation and t.status in ('planning', 'running') then
    for v_lane in select array(select jsonb_array_elements_text(lane)) from jsonb_array_elements(p_lanes) lane loop
      s := hot.next_of_lane(p_turn, v_lane);
      continue when s.id is null;
      v_step := hot.start(t, s, true, p_worker, p_lease_ms, v_at);
      if v_step is not null then
        v_events := v_events || hot.started(v_step, p_worker);
      end if;
      v_claimed := v_claimed || jsonb_build_object('lane', to_jsonb(v_lane), 'step', v_step);
    end loop;
  end if;
  if t.status in ('planning', 'running') and not v_last then
    if t.max_parallel is not null then
      v_next := hot.next_within_cap(t);
    end if;
    for f in
      update fragments x set sent_at = v_at
       where x.turn_id = p_turn and x.generation = t.generation and x.sent_at is null
         and case when t.max_parallel is null then x.needs && v_ended else x.number = any (v_next) end
         and not exists (select 1 from steps n where n.turn_id = p_turn and n.id = any (x.needs) and not hot.is_final(n.status))
      returning x.*
    loop
      s := hot.next_of_lane(p_turn, f.steps);
      continue when s.id is null;
      if t.generation = p_generation
         and (f.inline or (f.queue = p_queue and v_taken < p_take and (p_mixed or s.effect = 'read'))) then
        v_taken := v_taken + case when f.inline then 0 else 1 end;
        v_step := hot.start(t, s, true, p_worker, p_lease_ms, v_at);
        if v_step is not null then
          v_events := v_events || hot.started(v_step, p_worker);
        end if;
        v_claimed := v_claimed || jsonb_build_object('lane', to_jsonb(f.steps), 'step', v_step);
      else
        v_fragments := v_fragments || jsonb_build_array(f.expression);
      end if;
    end loop;
  end if;

  v_events := hot.store_events(t, v_events, v_at);
  update turns x set open_steps = x.open_steps - cardinality(v_ended), last_event = x.last_event + hot.count_events(v_events),
         status = case when v_last then 'responding' else x.status end, attempt = x.attempt + v_last::int,
         responding_at = case when v_last then v_at else x.responding_at end,
         lease_until = case when v_last then v_at + make_interval(secs => p_lease_ms / 1000.0) else x.lease_until end
   where x.id = p_turn
  returning case when v_last then x.attempt end into v_respond;
  if t.asked then
    perform hot.rest(p_turn, v_at);
  end if;
  return jsonb_build_object('fenced', (select coalesce(jsonb_agg(e -> 'id'), '[]') from jsonb_array_elements(p_finished) e
                                        where e ->> 'id' <> all (v_ended)),
                            'claimed', v_claimed, 'fragments', v_fragments, 'generation', t.generation, 'respond', v_respond,
                            'events', v_events);
end $$;
