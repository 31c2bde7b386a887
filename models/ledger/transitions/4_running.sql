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

-- What an executor must know of a step that it has claimed.
create function hot.claimed_step(s steps, p_attempt int, p_turn turns, p_inputs jsonb, p_waits text[],
                                 p_at timestamptz)
returns jsonb language sql stable as $$
  select jsonb_build_object(
    'id', s.id, 'tool', s.tool, 'attempt', p_attempt, 'args', s.args, 'timeout_ms', s.timeout_ms, 'effect', s.effect,
    'unsure', s.unsure, 'run_if', s.run_if, 'fallbacks', s.fallbacks, 'copy_of', s.copy_of,
    'left_ms', greatest(0, round(extract(epoch from p_turn.deadline_at - p_at) * 1000)), 'inputs', p_inputs,
    'waits', p_waits, 'has_rivals', s.effect <> 'read' and exists (
      select from steps o where o.turn_id = s.turn_id and o.tool = s.tool and o.id <> s.id and o.effect <> 'read'))
$$;

-- What a caller's own plan says that a step is for; null in other plans.
create function hot.purpose(p_turn uuid, p_step text) returns text language sql stable as $$
  select e ->> 'purpose' from plans p, jsonb_array_elements(p.document -> 'steps') e
   where p.turn_id = p_turn and p.source = 'caller' and e ->> 'id' = p_step
$$;

-- Notes which call with an effect a claimed step is about to make, unless another step of its turn makes the same one,
-- has made it, or may have. In a caller's own plan, two that say another purpose are two. Out: {is_ours: whether the
-- claim still holds, rival: the other step or null}.
create function hot.begin_effect(p_turn uuid, p_step text, p_attempt int, p_hash text)
returns jsonb language plpgsql as $$
declare
  v_rival text;
begin
  perform 1 from turns where id = p_turn for no key update;
  select o.id into v_rival from steps o
   where o.turn_id = p_turn and o.id <> p_step and o.effect <> 'read' and o.input_hash = p_hash
     and (o.status in ('running', 'succeeded', 'unknown') or (o.status = 'pending' and o.unsure))
     and hot.purpose(p_turn, o.id) is not distinct from hot.purpose(p_turn, p_step)
   order by o.revision, o.position limit 1;
  update steps set input_hash = p_hash
   where turn_id = p_turn and id = p_step and attempt = p_attempt and status = 'running' and v_rival is null;
  return jsonb_build_object('is_ours', found, 'rival', v_rival);
end $$;

-- Starts a step that hot.next_of_lane has found, if it is ready and, with `p_reads_only`, only reads; under its turn's
-- lock.
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
  return hot.claimed_step(s, s.attempt + 1, p_turn, v_inputs, '{}', p_at);
end $$;

-- When the last of a step's needs has ended; null where one has not, or it has none.
create function hot.needs_ended(s steps) returns timestamptz language sql stable as $$
  select max(n.finished_at) from steps n
   where n.turn_id = s.turn_id and n.id = any (s.needs) having bool_and(hot.is_final(n.status))
$$;

-- Steps that may run side by side or one after another without a word of the ledger in between: nobody has tried any of
-- them, all only read, and what they need beside each other is final. A step that waits for others of them has no start
-- until its executor tells of it. Null: not all are so. Out: [{lane, step}], of one step each, with this attempt.
create function hot.free_reads(p_turn turns, p_steps text[], p_attempt int, p_at timestamptz)
returns jsonb language sql stable as $$
  with mine as materialized (
    select * from steps where turn_id = p_turn.id and id = any (p_steps)
  ), before as materialized (
    select n.id, n.status, n.result from steps n
     where n.turn_id = p_turn.id and n.id in (select unnest(m.needs) from mine m) and n.id <> all (p_steps)
  )
  select jsonb_agg(jsonb_build_object('lane', jsonb_build_array(m.id), 'step', hot.claimed_step(
           m, p_attempt, p_turn,
           (select coalesce(jsonb_object_agg(b.id, b.result), '{}') from before b
             where b.id = any (m.inputs) and b.status = 'succeeded'),
           array(select need from unnest(m.needs) need where need = any (p_steps)), p_at)) order by m.position)
    from mine m
  having count(*) = cardinality(p_steps) and not exists (select from before where not hot.is_final(status))
     and bool_and(m.status = 'pending' and m.attempt = 0 and m.effect = 'read' and m.not_before is null)
$$;

-- Looks at what lanes [[step ids]] begin with: at all their steps, or else at the next one of each, where these are
-- reads that may run without a claim. A look takes nothing, so two may have the same; the record of one counts. The
-- attempt is 0, which no claim has. Where something of the turn was lost before there is none: what kills its workers
-- must be counted.
-- Null: who wants to run these claims them. Out: as hot.claim_lanes.
create function hot.look(p_turn uuid, p_lanes jsonb, p_generation int) returns jsonb
language plpgsql stable set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  t turns;
  s steps;
  v_lane text[];
  v_at timestamptz := clock_timestamp();
  v_one jsonb;
  v_free jsonb;
begin
  select * into t from turns
   where id = p_turn and generation = p_generation and status in ('planning', 'running') and recoveries = 0;
  if not found then
    return null;
  end if;
  v_free := hot.free_reads(
    t, array(select step from jsonb_array_elements(p_lanes) lane, jsonb_array_elements_text(lane) step), 0, v_at);
  if v_free is null then
    v_free := '[]';
    for v_lane in select array(select jsonb_array_elements_text(lane)) from jsonb_array_elements(p_lanes) lane loop
      s := hot.next_of_lane(p_turn, v_lane);
      continue when s.id is null;
      v_one := hot.free_reads(t, array[s.id], 0, v_at);
      if v_one is null then
        return null;
      end if;
      v_free := v_free || jsonb_build_object('lane', to_jsonb(v_lane), 'step', v_one #> '{0,step}');
    end loop;
  end if;
  return jsonb_build_object(
    'verdict', case when v_free = '[]' then 'done' else 'claimed' end, 'claimed', v_free,
    'at', extract(epoch from v_at), 'turn', hot.facts(t));
end $$;

-- What an executor must know of a turn.
create function hot.facts(p_turn turns) returns jsonb language sql immutable as $$
  select jsonb_build_object('tenant_id', p_turn.tenant_id, 'conversation_id', p_turn.conversation_id,
                            'person', p_turn.person, 'is_capped', p_turn.max_parallel is not null,
                            'agent', p_turn.agent)
$$;

-- Looks for several messages: [{turn, lanes, generation}]. Out, for each: as hot.look.
create function hot.look_all(p_asked jsonb) returns setof jsonb language sql stable as $$
  select hot.look((a ->> 'turn')::uuid, a -> 'lanes', (a ->> 'generation')::int) from jsonb_array_elements(p_asked) a
$$;

-- Claims steps together where they are free: hot.free_reads. Under the turn's lock. Null: not all of them can be
-- claimed.
create function hot.claim_together(p_turn turns, p_steps text[], p_worker text, p_lease_ms int, p_at timestamptz)
returns jsonb language plpgsql as $$
declare
  v_free jsonb := hot.free_reads(p_turn, p_steps, 1, p_at);
begin
  if v_free is not null then
    update steps x
       set status = 'running', attempt = 1, worker = p_worker,
           lease_until = p_at + make_interval(secs => p_lease_ms / 1000.0),
           started_at = case when not x.needs && p_steps then p_at end,
           ready_at = case when not x.needs && p_steps then coalesce(hot.needs_ended(x), x.ready_at) end
     where x.turn_id = p_turn.id and x.id = any (p_steps);
  end if;
  return v_free;
end $$;

-- Claims of lanes [[step ids]] what can be claimed: all their steps together, or else the next one of each.
-- Out: [{lane, step, status, effect}] of those that are not at their end; the step is null where it cannot be claimed
-- so.
create function hot.claim_of(p_turn turns, p_lanes jsonb, p_reads_only boolean, p_worker text, p_lease_ms int,
                                p_at timestamptz)
returns jsonb language plpgsql as $$
declare
  s steps;
  v_lane text[];
  v_steps text[] := array(select step from jsonb_array_elements(p_lanes) lane, jsonb_array_elements_text(lane) step);
  v_claimed jsonb;
begin
  if cardinality(v_steps) > 1 then
    v_claimed := hot.claim_together(p_turn, v_steps, p_worker, p_lease_ms, p_at);
  end if;
  if v_claimed is not null then
    return v_claimed;
  end if;
  v_claimed := '[]';
  for v_lane in select array(select jsonb_array_elements_text(lane)) from jsonb_array_elements(p_lanes) lane loop
    s := hot.next_of_lane(p_turn.id, v_lane);
    continue when s.id is null;
    v_claimed := v_claimed || jsonb_build_object(
      'lane', to_jsonb(v_lane), 'status', s.status, 'effect', s.effect,
      'step', hot.start(p_turn, s, p_reads_only, p_worker, p_lease_ms, p_at));
  end loop;
  return v_claimed;
end $$;

-- The lanes of a fragment that is one task.
create function hot.lanes_of(p_fragment fragments) returns jsonb language sql immutable as $$
  select case when p_fragment.expression ? 'bundle'
                then jsonb_path_query_array(p_fragment.expression, '$.bundle[*].lane')
              else jsonb_build_array(to_jsonb(p_fragment.steps)) end
$$;

-- Claims of fragments that are ready what an executor of this queue has slots for, a lane each; inline ones it takes
-- all the same. `p_mixed`: whether these may begin with an effect. Out: {claimed: as above, fragments: [expression]
-- that are to be published}.
create function hot.take(p_turn turns, p_ready fragments[], p_queue text, p_take int, p_mixed boolean, p_worker text,
                         p_lease_ms int, p_at timestamptz)
returns jsonb language plpgsql as $$
declare
  f fragments;
  v_lanes jsonb;
  v_free int := p_take;
  v_claimed jsonb := '[]';
  v_fragments jsonb := '[]';
begin
  foreach f in array p_ready loop
    v_lanes := hot.lanes_of(f);
    if f.inline or (f.queue = p_queue and jsonb_array_length(v_lanes) <= v_free and (
         p_mixed or (select effect from steps where turn_id = p_turn.id and id = f.steps[1]) = 'read')) then
      v_free := v_free - case when f.inline then 0 else jsonb_array_length(v_lanes) end;
      v_claimed := v_claimed || hot.claim_of(p_turn, v_lanes, true, p_worker, p_lease_ms, p_at);
    else
      v_fragments := v_fragments || jsonb_build_array(f.expression);
    end if;
  end loop;
  return jsonb_build_object('claimed', v_claimed, 'fragments', v_fragments);
end $$;

-- Stores the fragments of a plan that is being recorded, and claims of those that are ready what its planner has slots
-- for. Out: as hot.take.
create function hot.take_first(p_turn turns, p_fragments jsonb, p_asked jsonb, p_at timestamptz)
returns jsonb language plpgsql as $$
declare
  v_ready int[] := hot.store_fragments(p_turn, p_fragments, p_at);
begin
  return hot.take(
    p_turn, array(select f from fragments f where f.turn_id = p_turn.id and f.generation = p_turn.generation
                     and f.number = any (v_ready) order by f.number),
    p_asked ->> 'queue', (p_asked ->> 'take')::int, false, p_asked ->> 'worker', (p_asked ->> 'lease_ms')::int, p_at);
end $$;

-- The events of claimed steps that begin now.
create function hot.started(p_claimed jsonb, p_worker text) returns jsonb language sql immutable as $$
  select coalesce(jsonb_agg(jsonb_build_object('type', 'step.started', 'data', jsonb_build_object(
           'step', s -> 'id', 'tool', s -> 'tool', 'attempt', s -> 'attempt', 'worker', p_worker))), '[]')
    from jsonb_path_query(p_claimed, '$[*].step ? (@.waits.size() == 0)') s
$$;

-- Takes the conversation's lock where one of these lanes has a call with an effect, the claim of which is audited.
create function hot.lock_for_effects(p_turn uuid, p_lanes jsonb) returns void language plpgsql as $$
begin
  if exists (select from steps where turn_id = p_turn and effect <> 'read' and id in (
       select step from jsonb_array_elements(p_lanes) lane, jsonb_array_elements_text(lane) step)) then
    perform hot.lock_conversation(p_turn);
  end if;
end $$;

-- Appends a record of the calls with an effect among the steps that a worker has claimed: it is there before the
-- effect, whatever becomes of the worker. The caller holds the locks of the conversation and the turn.
create function hot.audit_claims(p_turn turns, p_claimed jsonb, p_worker text) returns void language plpgsql as $$
declare
  v_calls jsonb;
begin
  select jsonb_agg(jsonb_build_object(
           'step', s -> 'id', 'tool', s -> 'tool', 'effect', s -> 'effect', 'attempt', s -> 'attempt',
           'worker', p_worker, 'args_sha256', encode(sha256(convert_to(s ->> 'args', 'UTF8')), 'hex')))
    into v_calls from jsonb_path_query(p_claimed, '$[*].step ? (@.effect != "read")') s;
  if v_calls is not null then
    perform hot.append_audit(p_turn.tenant_id, p_turn.conversation_id, p_turn.id, 'calls.claimed', jsonb_strip_nulls(
      jsonb_build_object('user', p_turn.person -> 'id', 'calls', v_calls)));
  end if;
end $$;

-- Claims of lanes [[step ids]] what can be claimed. Verdict: claimed (of at least one); done (every step of the lanes
-- is final); or why not: closed (the turn is neither planned nor run), stale (another generation), busy (somebody holds
-- the step), early (a need is not final, or its time has not come).
create function hot.claim_lanes(p_turn uuid, p_lanes jsonb, p_generation int, p_worker text, p_lease_ms int)
returns jsonb language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  t turns;
  v_claimed jsonb;
  v_at timestamptz;
begin
  perform hot.lock_for_effects(p_turn, p_lanes);
  select * into t from turns where id = p_turn for no key update;
  if not found then
    return jsonb_build_object('verdict', 'closed');
  end if;
  v_at := clock_timestamp();
  if t.generation <> p_generation then
    return jsonb_build_object('verdict', 'stale');
  elsif t.status not in ('planning', 'running') then
    return jsonb_build_object('verdict', case when exists (
      select from steps where turn_id = p_turn and not hot.is_final(status)
         and id in (select step from jsonb_array_elements(p_lanes) lane, jsonb_array_elements_text(lane) step))
      then 'closed' else 'done' end);
  end if;
  v_claimed := hot.claim_of(t, p_lanes, false, p_worker, p_lease_ms, v_at);
  perform hot.audit_claims(t, v_claimed, p_worker);
  return jsonb_build_object(
    'verdict', case when v_claimed = '[]' then 'done' when v_claimed @? '$[*].step.id' then 'claimed'
                    when v_claimed #>> '{-1,status}' <> 'pending' then 'busy' else 'early' end,
    'claimed', v_claimed, 'at', extract(epoch from v_at),
    'turn', hot.facts(t),
    'events', hot.append_events(t, hot.started(v_claimed, p_worker), v_at));
end $$;

-- Ends what became impossible when steps ended: all that have not begun, also where a worker holds them (fail_fast; a
-- call with an effect that its backend is to be asked about has begun), or those that need a step that did not succeed.
-- A copy ends as the step that it is a copy of. Out: events. The caller holds the turn's lock. After the first round
-- only what needs something that the round before has ended can have become impossible.
create function hot.end_impossible(p_turn uuid, p_stop boolean, p_at timestamptz) returns jsonb language plpgsql as $$
declare
  v_events jsonb := '[]';
  v_more jsonb;
  v_round text[];
begin
  loop
    with ended as (
      update steps s
         set status = case when p_stop then 'cancelled' else coalesce(o.status, 'skipped') end, finished_at = p_at,
             lease_until = null, result = case when not p_stop then o.result end,
             error = case when o.status is not null and not p_stop then o.error
                          when p_stop then jsonb_build_object('code', 'CANCELLED', 'message',
                            'an earlier step failed and the turn stops at the first failure')
                          else jsonb_build_object('code', 'DEPENDENCY_FAILED', 'message',
                            'a step that it needs did not succeed') end
        from steps x
        left join steps o on o.turn_id = x.turn_id and o.id = x.copy_of
                         and hot.is_final(o.status) and o.status <> 'succeeded'
       where s.turn_id = p_turn and x.turn_id = s.turn_id and x.id = s.id and (v_round is null or s.needs && v_round)
         and ((s.status in ('pending', 'waiting_approval') and not (p_stop and s.unsure))
              or (p_stop and s.status = 'running' and s.started_at is null))
         and (p_stop or o.id is not null or (s.on_need_error = 'skip' and exists (
               select 1 from steps n where n.turn_id = p_turn and n.id = any (s.needs)
                  and hot.is_final(n.status) and n.status <> 'succeeded')))
      returning s.id, s.tool, s.status, s.error
    )
    select jsonb_agg(hot.step_finished(id, tool, status, error, '{"duration_ms": null}')), array_agg(id)
      into v_more, v_round from ended;
    exit when v_more is null;
    v_events := v_events || v_more;
  end loop;
  return v_events;
end $$;

-- What was recorded of steps: the ids of those that have ended, the events, and whether one of them did not succeed,
-- was critical and failed, or had an effect.
create type hot.recorded as (ended text[], told jsonb, has_failed boolean, is_critical boolean, has_effect boolean);

-- Gives back steps that a worker holds and that are still waiting.
create function hot.give_back(p_turn uuid, p_steps jsonb, p_worker text) returns void language plpgsql as $$
begin
  update steps set status = 'pending', worker = null, lease_until = null
   where turn_id = p_turn and id in (select jsonb_array_elements_text(p_steps))
     and status = 'running' and worker = p_worker and started_at is null;
end $$;

-- Records steps that finished and steps that began, each under its fence, those of attempt 0 where `p_are_free`. Part
-- of hot.advance, under the turn's lock.
create function hot.record_steps(p_turn uuid, p_finished jsonb, p_begun jsonb, p_are_free boolean, p_worker text,
                                 p_lease_ms int, p_at timestamptz)
returns hot.recorded language plpgsql as $$
declare
  r hot.recorded;
begin
  with ended as (
    update steps x
       set status = e.status, attempt = greatest(x.attempt, 1),
           worker = case e.attempt when 0 then p_worker else x.worker end,
           result = e.result, error = e.error, cache = e.cache,
           input_hash = case x.effect when 'read' then e.input_hash else coalesce(e.input_hash, x.input_hash) end,
           started_at = coalesce(x.started_at, to_timestamp(e.began_at)),
           ready_at = coalesce(x.ready_at, case e.attempt when 0 then hot.needs_ended(x) end, to_timestamp(e.began_at)),
           finished_at = coalesce(to_timestamp(e.ended_at), p_at), lease_until = null
      from jsonb_to_recordset(p_finished) as e(id text, attempt int, status text, result jsonb, error jsonb,
                                               cache text, input_hash text, began_at float, ended_at float)
     where x.turn_id = p_turn and x.id = e.id
       and case e.attempt when 0 then p_are_free else x.attempt = e.attempt and x.status = 'running' end
    returning x.*, e.began_at
  ), begun as (
    update steps x set status = 'running', attempt = greatest(x.attempt, 1), worker = p_worker,
           started_at = to_timestamp(b.began_at),
           ready_at = coalesce(case b.attempt when 0 then coalesce(x.ready_at, hot.needs_ended(x)) end,
                               to_timestamp(b.began_at)),
           lease_until = case b.attempt when 0 then p_at + make_interval(secs => p_lease_ms / 1000.0)
                                        else x.lease_until end
      from jsonb_to_recordset(p_begun) as b(id text, attempt int, began_at float)
     where x.turn_id = p_turn and x.id = b.id and x.started_at is null
       and case b.attempt when 0 then p_are_free else x.status = 'running' and x.worker = p_worker end
    returning x.id, x.tool, x.attempt, x.started_at
  ), told as (
    select started_at as at, 1 as place, id, hot.step_started(id, tool, attempt, p_worker) as event
      from (select id, tool, attempt, started_at from ended where began_at is not null
            union all
            select * from begun) started
     union all
    select finished_at, 0, id,
           hot.step_finished(id, tool, status, error, hot.run_of(attempt, cache, finished_at - started_at)) from ended
  )
  select coalesce(array_agg(id), '{}'), bool_or(status <> 'succeeded'), bool_or(status = 'failed' and critical),
         bool_or(effect <> 'read'), coalesce((select jsonb_agg(event order by at, place, id) from told), '[]')
    into r.ended, r.has_failed, r.is_critical, r.has_effect, r.told from ended;
  return r;
end $$;

-- Draws the consequences of steps that ended: the audit record, what is remembered, what may have changed, what became
-- impossible. Part of hot.advance, under the locks of the conversation and the turn. Out: what was recorded with those
-- that this has ended.
create function hot.follow_up(p_turn turns, r hot.recorded, p_finished jsonb, p_at timestamptz)
returns hot.recorded language plpgsql as $$
declare
  v_more jsonb;
begin
  perform hot.audit_calls(p_turn, r.told);
  if p_finished @? '$[*].remember.tool' then
    perform hot.remember(p_turn, p_finished, r.ended, p_at);
  end if;
  if r.has_effect then
    perform hot.doubt_memory(p_turn);
  end if;
  if r.has_failed then
    v_more := hot.end_impossible(p_turn.id, p_turn.on_error = 'fail_fast' and r.is_critical, p_at);
    r.told := r.told || v_more;
    r.ended := r.ended || array(select e #>> '{data,step}' from jsonb_array_elements(v_more) e);
  end if;
  return r;
end $$;

-- Marks as sent the fragments that became ready when these steps ended, as many as the turn's cap allows, and claims of
-- them what the caller has slots for, if it is of the turn's generation. Part of hot.advance, under the turn's lock.
-- Null: none became ready. Out: as hot.take.
create function hot.take_ready(p_turn turns, p_ended text[], p_asked jsonb, p_lease_ms int, p_at timestamptz)
returns jsonb language plpgsql as $$
declare
  v_next int[];
  v_ready fragments[];
begin
  if p_turn.max_parallel is not null then
    v_next := hot.next_within_cap(p_turn);
  end if;
  with ready as (
    update fragments x set sent_at = p_at
     where x.turn_id = p_turn.id and x.generation = p_turn.generation and x.sent_at is null
       and case when p_turn.max_parallel is null then x.needs && p_ended else x.number = any (v_next) end
       and not exists (select 1 from steps n where n.turn_id = p_turn.id and n.id = any (x.needs)
                                               and not hot.is_final(n.status))
       and exists (select 1 from steps n where n.turn_id = p_turn.id and n.id = any (x.steps)
                                           and not hot.is_final(n.status))
    returning x
  )
  select array_agg(x order by (x).number) into v_ready from ready;
  if v_ready is null then
    return null;
  elsif p_turn.generation <> (p_asked ->> 'generation')::int then
    return jsonb_build_object('claimed', '[]'::jsonb, 'fragments', (
      select jsonb_agg(f.expression) from unnest(v_ready) f));
  end if;
  return hot.take(p_turn, v_ready, p_asked ->> 'queue', (p_asked ->> 'take')::int, (p_asked ->> 'mixed')::boolean,
                  p_asked ->> 'worker', p_lease_ms, p_at);
end $$;

-- Counts what ended of a turn, and the events that were stored of it. Where `p_is_last`, nothing is left to do, and the
-- turn is to be answered: out is the fence of whoever does that. Null: otherwise. The caller holds the turn's lock.
create function hot.count_ended(p_turn uuid, p_ended int, p_told int, p_is_last boolean, p_lease_ms int,
                                p_at timestamptz)
returns int language plpgsql as $$
declare
  v_respond int;
begin
  update turns x set open_steps = x.open_steps - p_ended, last_event = x.last_event + p_told,
         status = case when p_is_last then 'responding' else x.status end, attempt = x.attempt + p_is_last::int,
         responding_at = case when p_is_last then p_at else x.responding_at end,
         lease_until = case when p_is_last then p_at + make_interval(secs => p_lease_ms / 1000.0) else x.lease_until end
   where x.id = p_turn
  returning case when p_is_last then x.attempt end into v_respond;
  return v_respond;
end $$;

-- The ids of the steps that no claim has: they were only looked at.
create function hot.looked_at(p_steps jsonb) returns text[] language plpgsql immutable as $$
begin
  return array(select e ->> 'id' from jsonb_array_elements(p_steps) e where e -> 'attempt' = '0');
end $$;

-- Whether these steps, which were only looked at, are such that a read may still be recorded without a claim.
create function hot.are_free(p_turn uuid, p_steps text[]) returns boolean language plpgsql as $$
begin
  return not exists (
    select from steps where turn_id = p_turn and id = any (p_steps)
                        and not (status = 'pending' and attempt = 0 and effect = 'read' and not_before is null));
end $$;

-- Whether some of these steps are not final.
create function hot.are_open(p_turn uuid, p_steps text[]) returns boolean language plpgsql stable as $$
begin
  return exists (select from steps where turn_id = p_turn and id = any (p_steps) and not hot.is_final(status));
end $$;

-- The ids of the steps, finished or to be claimed, that are not among those that were recorded.
create function hot.not_among(p_steps jsonb, p_recorded text[]) returns jsonb language plpgsql immutable as $$
begin
  return (select coalesce(jsonb_agg(e -> 'id'), '[]') from jsonb_array_elements(p_steps) e
           where e ->> 'id' <> all (p_recorded) and (e -> 'attempt' = '0' or e ? 'status'));
end $$;

-- Records finished steps, each under its fence, and goes on: one commit. `p_asked`:
--   generation  that of the canvas that the caller is of
--   worker      the caller's process
--   finished    [{id, attempt, status, result, error, cache, input_hash, remember, began_at, ended_at}]: the last two
--               tell when, in seconds since 1970; the first of them where the step had been waiting when it was claimed
--               An attempt of 0 is no claim's: a read that was only looked at. Those are recorded all or none, because
--               one may have another's result: where the generation is the same, and still nobody has claimed any
--   begun       [{id, attempt, began_at}]: steps that had been waiting, and that run now; those of attempt 0 are
--               claimed
--   back        [step ids]: steps that are waiting, and that the caller gives back
--   lanes       [[step ids]]: the rest of each lane that the caller is on; what only reads is claimed here
--   queue, take how many further lanes on this queue the caller has free slots for; inline ones it takes all the same
--   mixed       whether these may have effects; otherwise only lanes that begin with a read are taken
-- Out: {fenced: [step ids] of `finished`, and of `begun` those that were not claimed, are_elsewhere: whether somebody
-- else has, or is to have, one that was looked at, claimed: [{lane, step, effect}], fragments: [expression],
-- generation, respond: attempt or null, material: of the reply that is due then, at: the time in seconds since 1970,
-- events}. `claimed[].step` is null where the caller must claim by itself (a write), or later. `fragments` are the
-- caller's to publish.
create function hot.advance(p_turn uuid, p_asked jsonb, p_lease_ms int)
returns jsonb language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  t turns;
  r hot.recorded;
  v_at timestamptz;
  v_worker text := p_asked ->> 'worker';
  v_finished jsonb := p_asked -> 'finished';
  v_begun jsonb := p_asked -> 'begun';
  v_looked_at text[];
  v_are_free boolean;
  v_is_last boolean;
  v_claimed jsonb := '[]';
  v_taken jsonb;
  v_respond int;
begin
  if v_finished <> '[]' then
    perform hot.lock_conversation(p_turn);
  end if;
  select * into t from turns where id = p_turn for no key update;
  v_at := clock_timestamp();
  v_are_free := t.generation = (p_asked ->> 'generation')::int;
  if v_finished || v_begun @? '$[*] ? (@.attempt == 0)' then
    v_looked_at := hot.looked_at(v_finished || v_begun);
    v_are_free := v_are_free and hot.are_free(p_turn, v_looked_at);
  end if;
  perform hot.give_back(p_turn, p_asked -> 'back', v_worker) where p_asked -> 'back' <> '[]';
  r := hot.record_steps(p_turn, v_finished, v_begun, v_are_free, v_worker, p_lease_ms, v_at);
  if r.ended <> '{}' then
    r := hot.follow_up(t, r, v_finished, v_at);
  end if;
  v_is_last := t.status = 'running' and t.open_steps = cardinality(r.ended);
  if t.status in ('planning', 'running') and p_asked -> 'lanes' <> '[]'
     and t.generation = (p_asked ->> 'generation')::int then
    v_claimed := hot.claim_of(t, p_asked -> 'lanes', true, v_worker, p_lease_ms, v_at);
  end if;
  if t.status in ('planning', 'running') and not v_is_last then
    v_taken := hot.take_ready(t, r.ended, p_asked, p_lease_ms, v_at);
    v_claimed := v_claimed || coalesce(v_taken -> 'claimed', '[]');
  end if;
  r.told := hot.store_events(t, r.told || hot.started(v_claimed, v_worker), v_at);
  v_respond := hot.count_ended(p_turn, cardinality(r.ended), hot.count_events(r.told), v_is_last, p_lease_ms, v_at);
  perform hot.rest(p_turn, v_at) where t.asked;
  return jsonb_build_object(
    'fenced', hot.not_among(v_finished || case when v_are_free then '[]' else v_begun end, r.ended),
    'are_elsewhere', not v_are_free and hot.are_open(p_turn, v_looked_at), 'at', extract(epoch from v_at),
    'claimed', v_claimed, 'fragments', coalesce(v_taken -> 'fragments', '[]'), 'generation', t.generation,
    'respond', v_respond, 'material', case when v_is_last then hot.reply_material(p_turn) end, 'events', r.told);
end $$;

-- Takes the locks that the record of a turn's steps needs, those of the conversation, the turn and the conversation's
-- memory, unless somebody else has one of them.
create function hot.is_free_to_advance(p_turn uuid) returns boolean language plpgsql as $$
declare
  t turns;
begin
  perform from conversations c
   where (c.tenant_id, c.id) = (select x.tenant_id, x.conversation_id from turns x where x.id = p_turn)
     for no key update skip locked;
  if not found then
    return false;
  end if;
  select * into t from turns where id = p_turn for no key update skip locked;
  return found and pg_try_advisory_xact_lock(hot.memory_lock(t.tenant_id, t.conversation_id));
end $$;

-- Records for several executors in one commit: for each its turn, and what it asks of hot.advance. Out, for each: the
-- same as of hot.advance; null where somebody else has a lock that it needs, because who holds the locks of several
-- turns may not wait.
create function hot.advance_all(p_asked jsonb, p_lease_ms int) returns setof jsonb language sql as $$
  select case when hot.is_free_to_advance((a ->> 'turn')::uuid) then
           hot.advance((a ->> 'turn')::uuid, a, p_lease_ms) end
    from jsonb_array_elements(p_asked) a
$$;
