-- The statements of the hot path, one round trip and one commit each.
--
-- They live in a schema of their own that `turnloom migrate` makes anew, after the last revision. Order of locks, everywhere:
-- the turn's row, then the conversation's, then the next turn's; steps and fragments only under their turn's lock. What must see
-- the others' commits (who is last?) takes the turn's lock in a statement of its own first: each statement sees a new snapshot.
-- The time is read after the lock, so that what waited for it does not seem to have happened before.

drop schema if exists hot cascade;
create schema hot;

create function hot.is_final(p_status text) returns boolean language sql immutable as $$
  select p_status in ('succeeded', 'needs_input', 'failed', 'skipped', 'cancelled', 'unknown')
$$;

create function hot.rfc3339(p_at timestamptz) returns text language sql stable as $$
  select to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
$$;

-- Appends events to a turn whose row lock is held. In: [{type, data}]. Out: the same with `seq`.
create function hot.append_events(p_turn turns, p_events jsonb, p_at timestamptz) returns jsonb language plpgsql as $$
declare
  v_events jsonb;
begin
  if jsonb_array_length(p_events) = 0 then
    return p_events;
  end if;
  with numbered as (
    select p_turn.last_event + n as seq, e ->> 'type' as type,
           jsonb_build_object('turn_id', p_turn.id, 'at', hot.rfc3339(p_at)) || coalesce(e -> 'data', '{}') as data
      from jsonb_array_elements(p_events) with ordinality as listed(e, n)
  ), stored as (
    insert into events (turn_id, seq, tenant_id, type, data, at)
    select p_turn.id, seq, p_turn.tenant_id, type, data, p_at from numbered
  )
  select jsonb_agg(jsonb_build_object('seq', seq, 'type', type, 'data', data) order by seq) into v_events from numbered;
  update turns set last_event = last_event + jsonb_array_length(p_events) where id = p_turn.id;
  return v_events;
end $$;

-- Appends a record to a conversation's audit chain. The formula is that of models/ledger/audit.py.
create function hot.append_audit(p_tenant uuid, p_conversation text, p_turn uuid, p_kind text, p_content jsonb) returns void
language plpgsql as $$
declare
  v_seq int;
  v_before bytea;
  v_digest bytea := sha256(convert_to(p_content::text, 'UTF8'));
  v_hash bytea;
  v_at timestamptz;
begin
  select audit_seq + 1, audit_hash into v_seq, v_before from conversations where tenant_id = p_tenant and id = p_conversation
     for no key update;
  v_at := clock_timestamp();
  v_hash := sha256(convert_to(concat_ws('|', p_tenant, p_conversation, v_seq, p_turn, p_kind, hot.rfc3339(v_at),
                                        encode(v_digest, 'hex'), encode(v_before, 'hex')), 'UTF8'));
  insert into audit (tenant_id, conversation_id, seq, turn_id, kind, content, digest, hash, at)
  values (p_tenant, p_conversation, v_seq, p_turn, p_kind, p_content, v_digest, v_hash, v_at);
  update conversations set audit_seq = v_seq, audit_hash = v_hash where tenant_id = p_tenant and id = p_conversation;
end $$;

-- Opens a turn. `p_turn` holds the fields of the request as columns of `turns`.
-- Outcome: opened; repeated or mismatched (this message id came before, with the same or another body); busy.
create function hot.open_turn(p_tenant uuid, p_reject_busy boolean, p_default_agent text, p_deadline_ms int, p_turn jsonb)
returns table (outcome text, turn_id uuid, conversation_id text, seq int, is_active boolean, events jsonb) language plpgsql as $$
#variable_conflict use_column
declare
  t turns := jsonb_populate_record(null::turns, p_turn);
  earlier turns;
  c conversations;
  v_at timestamptz;
begin
  if t.message_id is not null then
    -- Two posts of one message may come with different (new) conversations: this lock, not a row, is what they share.
    perform pg_advisory_xact_lock(hashtextextended(concat_ws('|', p_tenant, t.channel, t.message_id), 0));
    select * into earlier from turns x where x.tenant_id = p_tenant and x.channel = t.channel and x.message_id = t.message_id;
    if found then
      return query select case when earlier.body_hash = t.body_hash then 'repeated' else 'mismatched' end,
                          earlier.id, earlier.conversation_id, earlier.seq, false, '[]'::jsonb;
      return;
    end if;
  end if;
  if p_reject_busy then
    perform 1 from conversations x
      where x.tenant_id = p_tenant and x.id = t.conversation_id and x.active_turn_id is not null for no key update;
    if found then
      return query select 'busy'::text, null::uuid, t.conversation_id, null::int, false, '[]'::jsonb;
      return;
    end if;
  end if;
  insert into conversations as x (tenant_id, id, channel, agent, person, last_seq, active_turn_id)
  values (p_tenant, t.conversation_id, t.channel, coalesce(t.agent, p_default_agent), t.person, 1, t.id)
  on conflict (tenant_id, id) do update
     set last_seq = x.last_seq + 1, active_turn_id = coalesce(x.active_turn_id, t.id), updated_at = clock_timestamp(),
         person = case when t.person = '{}' then x.person else t.person end
  returning * into c;
  v_at := clock_timestamp();
  insert into turns (id, tenant_id, conversation_id, seq, channel, message_id, body_hash, agent, mode, on_error, on_busy,
                     message, person, extra, callback_url, submitted_plan, status, deadline_at, sent_at, created_at)
  values (t.id, p_tenant, c.id, c.last_seq, t.channel, t.message_id, t.body_hash, coalesce(t.agent, c.agent), t.mode, t.on_error,
          t.on_busy, t.message, c.person, t.extra, t.callback_url, t.submitted_plan, 'queued',
          v_at + make_interval(secs => p_deadline_ms / 1000.0), case when c.active_turn_id = t.id then v_at end, v_at)
  returning * into t;
  perform hot.append_audit(p_tenant, c.id, t.id, 'turn.received', jsonb_build_object(
    'seq', t.seq, 'agent', t.agent, 'message_sha256', encode(sha256(convert_to(t.message, 'UTF8')), 'hex')));
  return query select 'opened'::text, t.id, t.conversation_id, t.seq, c.active_turn_id = t.id,
    hot.append_events(t, jsonb_build_array(jsonb_build_object(
      'type', 'turn.queued', 'data', jsonb_build_object('conversation_id', t.conversation_id, 'seq', t.seq))), v_at);
end $$;

-- Claims the planning of a turn whose conversation has come to it, or whose planner's lease has run out. Null: not ours to plan.
create function hot.claim_turn(p_turn uuid, p_lease_ms int) returns jsonb language plpgsql as $$
declare
  t turns;
  v_at timestamptz;
  v_events jsonb;
begin
  update turns x set status = 'planning', attempt = x.attempt + 1, planning_at = clock_timestamp(),
         lease_until = clock_timestamp() + make_interval(secs => p_lease_ms / 1000.0)
    from conversations c
   where x.id = p_turn and c.tenant_id = x.tenant_id and c.id = x.conversation_id and c.active_turn_id = x.id
     and (x.status = 'queued' or (x.status = 'planning' and x.lease_until < clock_timestamp()))
  returning x.* into t;
  if not found then
    return null;
  end if;
  v_at := t.planning_at;
  v_events := hot.append_events(t, jsonb_build_array(jsonb_build_object('type', 'plan.started')), v_at);
  return (to_jsonb(t) - 'body_hash') || jsonb_build_object(
    'events', v_events, 'left_ms', greatest(0, round(extract(epoch from t.deadline_at - v_at) * 1000)));
end $$;

-- Records a plan with its steps and fragments. A plan without steps leaves the turn in our hands, to respond.
-- Null: the claim was lost. Out: events.
create function hot.record_plan(p_turn uuid, p_attempt int, p_plan jsonb, p_placement text, p_steps jsonb, p_fragments jsonb,
                                p_usage jsonb)
returns jsonb language plpgsql as $$
declare
  t turns;
  v_at timestamptz;
  v_revision int;
begin
  select * into t from turns where id = p_turn and attempt = p_attempt and status = 'planning' for no key update;
  if not found then
    return null;
  end if;
  v_at := clock_timestamp();
  select coalesce(max(revision), 0) + 1 into v_revision from plans where turn_id = p_turn;
  insert into plans (turn_id, revision, tenant_id, format, source, document, trace, created_at)
  values (p_turn, v_revision, t.tenant_id, (p_plan ->> 'format')::smallint, p_plan ->> 'source', p_plan -> 'document', p_plan -> 'trace', v_at);
  insert into steps (turn_id, id, tenant_id, revision, position, tool, args, needs, inputs, effect, queue, critical,
                     on_need_error, timeout_ms, ready_at)
  select p_turn, s.id, t.tenant_id, v_revision, s.position, s.tool, s.args, s.needs, s.inputs, s.effect, s.queue, s.critical,
         s.on_need_error, s.timeout_ms, case when s.needs = '{}' then v_at end
    from jsonb_populate_recordset(null::steps, p_steps) s;
  perform hot.store_fragments(p_turn, t.tenant_id, t.generation + 1, p_fragments, v_at);
  update turns set status = case when jsonb_array_length(p_steps) > 0 then 'running' else 'responding' end,
         generation = t.generation + 1, compiled_at = v_at, open_steps = jsonb_array_length(p_steps), planned_at = v_at,
         responding_at = case when jsonb_array_length(p_steps) = 0 then v_at end, placement = p_placement,
         action = p_plan #>> '{document,action}', synthesis_hint = p_plan #>> '{document,synthesis_hint}', usage = p_usage
   where id = p_turn;
  return hot.append_events(t, jsonb_build_array(jsonb_build_object('type', 'plan.ready', 'data', jsonb_build_object(
    'revision', v_revision, 'action', p_plan #>> '{document,action}',
    'steps', (select coalesce(jsonb_agg(jsonb_build_object('id', s.id, 'tool', s.tool, 'needs', s.needs) order by s.position), '[]')
                from steps s where s.turn_id = p_turn and s.revision = v_revision)))), v_at);
end $$;

-- Starts a step that is known to be pending with all needs final, under its turn's lock. Out: what its executor must know.
create function hot.start_step(p_turn turns, p_step text, p_worker text, p_lease_ms int, p_at timestamptz) returns jsonb
language plpgsql as $$
declare
  s steps;
begin
  update steps set status = 'running', attempt = attempt + 1, worker = p_worker, started_at = p_at,
         ready_at = coalesce((select max(n.finished_at) from steps n where n.turn_id = p_turn.id and n.id = any (steps.needs)), ready_at),
         lease_until = p_at + make_interval(secs => p_lease_ms / 1000.0)
   where turn_id = p_turn.id and id = p_step
  returning * into s;
  return jsonb_build_object(
    'id', s.id, 'tool', s.tool, 'attempt', s.attempt, 'args', s.args, 'timeout_ms', s.timeout_ms, 'effect', s.effect,
    'unsure', s.unsure,
    'left_ms', greatest(0, round(extract(epoch from p_turn.deadline_at - p_at) * 1000)),
    'inputs', (select coalesce(jsonb_object_agg(n.id, n.result), '{}') from steps n
                where n.turn_id = p_turn.id and n.id = any (s.inputs) and n.status = 'succeeded'));
end $$;

create function hot.started(p_step jsonb, p_worker text) returns jsonb language sql immutable as $$
  select jsonb_build_object('type', 'step.started', 'data', jsonb_build_object(
    'step', p_step -> 'id', 'tool', p_step -> 'tool', 'attempt', p_step -> 'attempt', 'worker', p_worker))
$$;

-- First step of a lane that is not final, if it is ready: null otherwise.
create function hot.next_of_lane(p_turn uuid, p_lane text[]) returns steps language sql stable as $$
  select s from unnest(p_lane) with ordinality as lane(id, n) join steps s on s.turn_id = p_turn and s.id = lane.id
   where not hot.is_final(s.status) order by n limit 1
$$;

-- Claims the next step of each lane [[step ids]]. Verdict: claimed (of at least one); done (every step of the lanes is final);
-- or why not: closed (the turn does not run), stale (another generation), busy (somebody holds the step), early (a need is not
-- final, or its time has not come).
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
    if s.id is null then
      continue;
    elsif t.status <> 'running' then
      v_verdict := 'closed';
    elsif s.status <> 'pending' then
      v_verdict := 'busy';
    elsif s.not_before > v_at
       or exists (select 1 from steps n where n.turn_id = p_turn and n.id = any (s.needs) and not hot.is_final(n.status)) then
      v_verdict := 'early';
    else
      v_step := hot.start_step(t, s.id, p_worker, p_lease_ms, v_at);
      v_claimed := v_claimed || jsonb_build_object('lane', to_jsonb(v_lane), 'step', v_step);
      v_events := v_events || hot.started(v_step, p_worker);
    end if;
  end loop;
  return jsonb_build_object(
    'verdict', case when jsonb_array_length(v_claimed) > 0 then 'claimed' else v_verdict end, 'claimed', v_claimed,
    'turn', jsonb_build_object('tenant_id', t.tenant_id, 'conversation_id', t.conversation_id, 'person', t.person),
    'events', hot.append_events(t, v_events, v_at));
end $$;

-- Ends what became impossible when steps ended: all pending ones (fail_fast), or those that need a step that did not succeed.
-- Out: events. The caller holds the turn's lock.
create function hot.end_impossible(p_turn uuid, p_stop boolean, p_at timestamptz) returns jsonb language plpgsql as $$
declare
  v_events jsonb := '[]';
  v_more jsonb;
begin
  loop
    with ended as (
      update steps s
         set status = case when p_stop then 'cancelled' else 'skipped' end, finished_at = p_at,
             error = case when p_stop then '{"code": "CANCELLED", "message": "an earlier step failed and the turn stops at the first failure"}'::jsonb
                          else '{"code": "DEPENDENCY_FAILED", "message": "a step that it needs did not succeed"}' end
       where s.turn_id = p_turn and s.status = 'pending'
         and (p_stop or (s.on_need_error = 'skip' and exists (
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
--   p_finished  [{id, attempt, status, result, error}]
--   p_lanes     [[step ids]]: the rest of each lane that the caller is on; a next step that only reads is claimed here
--   p_take      how many further lanes on p_queue the caller has free slots for
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
  v_step jsonb;
  v_claimed jsonb := '[]';
  v_fragments jsonb := '[]';
  v_respond int;
  v_taken int := 0;
  v_lane text[];
begin
  select * into t from turns where id = p_turn for no key update;
  v_at := clock_timestamp();
  with ended as (
    update steps x set status = e.status, result = e.result, error = e.error, finished_at = v_at, lease_until = null
      from jsonb_to_recordset(p_finished) as e(id text, attempt int, status text, result jsonb, error jsonb)
     where x.turn_id = p_turn and x.id = e.id and x.attempt = e.attempt and x.status = 'running'
    returning x.*
  )
  select array_agg(id), bool_or(status <> 'succeeded'), bool_or(status = 'failed' and critical),
         jsonb_agg(jsonb_build_object('type', 'step.finished', 'data', jsonb_strip_nulls(jsonb_build_object(
           'step', id, 'tool', tool, 'status', status, 'attempt', attempt, 'error', error,
           'duration_ms', round(extract(epoch from v_at - started_at) * 1000, 3)))))
    into v_ended, v_failed, v_critical, v_events from ended;
  if v_ended is null then
    return jsonb_build_object('fenced', (select jsonb_agg(e -> 'id') from jsonb_array_elements(p_finished) e),
                              'claimed', '[]'::jsonb, 'fragments', '[]'::jsonb, 'generation', t.generation, 'events', '[]'::jsonb);
  end if;
  if v_failed then
    v_events := v_events || hot.end_impossible(p_turn, t.on_error = 'fail_fast' and v_critical, v_at);
  end if;
  v_ended := array(select e #>> '{data,step}' from jsonb_array_elements(v_events) e);

  if t.status = 'running' then
    for v_lane in
      select array(select jsonb_array_elements_text(lane)) from jsonb_array_elements(p_lanes) lane where t.generation = p_generation
    loop
      s := hot.next_of_lane(p_turn, v_lane);
      continue when s.id is null;
      v_step := null;
      if s.effect = 'read' and s.status = 'pending' and not exists (
           select 1 from steps n where n.turn_id = p_turn and n.id = any (s.needs) and not hot.is_final(n.status)) then
        v_step := hot.start_step(t, s.id, p_worker, p_lease_ms, v_at);
        v_events := v_events || hot.started(v_step, p_worker);
      end if;
      v_claimed := v_claimed || jsonb_build_object('lane', to_jsonb(v_lane), 'step', v_step);
    end loop;
    for f in
      update fragments x set sent_at = v_at
       where x.turn_id = p_turn and x.generation = t.generation and x.sent_at is null and x.needs && v_ended
         and not exists (select 1 from steps n where n.turn_id = p_turn and n.id = any (x.needs) and not hot.is_final(n.status))
      returning x.*
    loop
      s := hot.next_of_lane(p_turn, f.steps);
      continue when s.id is null;
      if f.queue = p_queue and v_taken < p_take and t.generation = p_generation and (p_mixed or s.effect = 'read') then
        v_taken := v_taken + 1;
        v_step := null;
        if s.effect = 'read' and s.id = f.steps[1] then
          v_step := hot.start_step(t, s.id, p_worker, p_lease_ms, v_at);
          v_events := v_events || hot.started(v_step, p_worker);
        end if;
        v_claimed := v_claimed || jsonb_build_object('lane', to_jsonb(f.steps), 'step', v_step);
      else
        v_fragments := v_fragments || jsonb_build_array(f.expression);
      end if;
    end loop;
  end if;

  v_events := hot.append_events(t, v_events, v_at);
  update turns x set open_steps = x.open_steps - cardinality(v_ended),
         status = case when x.status = 'running' and x.open_steps = cardinality(v_ended) then 'responding' else x.status end,
         attempt = case when x.status = 'running' and x.open_steps = cardinality(v_ended) then x.attempt + 1 else x.attempt end,
         responding_at = case when x.open_steps = cardinality(v_ended) then v_at end,
         lease_until = case when x.open_steps = cardinality(v_ended) then v_at + make_interval(secs => p_lease_ms / 1000.0) end
   where x.id = p_turn
  returning case when x.status = 'responding' then x.attempt end into v_respond;
  return jsonb_build_object('fenced', (select coalesce(jsonb_agg(e -> 'id'), '[]') from jsonb_array_elements(p_finished) e
                                        where e ->> 'id' <> all (v_ended)),
                            'claimed', v_claimed, 'fragments', v_fragments, 'generation', t.generation, 'respond', v_respond,
                            'events', v_events);
end $$;

-- Renews leases in one statement each: of steps [{turn, id, attempt}] and of turns [{turn, attempt}].
create function hot.renew_leases(p_steps jsonb, p_turns jsonb, p_lease_ms int) returns void language sql as $$
  update steps s set lease_until = clock_timestamp() + make_interval(secs => p_lease_ms / 1000.0)
    from jsonb_to_recordset(p_steps) as held(turn uuid, id text, attempt int)
   where s.turn_id = held.turn and s.id = held.id and s.attempt = held.attempt and s.status = 'running';
  update turns t set lease_until = clock_timestamp() + make_interval(secs => p_lease_ms / 1000.0)
    from jsonb_to_recordset(p_turns) as held(turn uuid, attempt int)
   where t.id = held.turn and t.attempt = held.attempt and t.status in ('planning', 'responding')
$$;

-- Finds turns that nobody holds. Kind: plan, respond (the lease has run out), steps (a step's lease has run out; or a step is
-- ready and nobody has taken it for the grace, which doubles with each recovery; but on a busy queue that is only waiting).
create function hot.find_lost(p_grace_ms int, p_busy_queues text[], p_limit int) returns table (turn_id uuid, kind text)
language sql as $$
  select t.id, case t.status when 'planning' then 'plan' else 'respond' end
    from turns t
   where t.status in ('planning', 'responding') and t.lease_until < clock_timestamp()
  union all
  select t.id, 'steps'
    from turns t
   where t.status = 'running' and (
     exists (select 1 from steps s where s.turn_id = t.id and s.status = 'running' and s.lease_until < clock_timestamp())
     or exists (
       select 1 from steps s
        where s.turn_id = t.id and s.status = 'pending' and s.queue <> all (p_busy_queues)
          and not exists (select 1 from steps n where n.turn_id = t.id and n.id = any (s.needs) and not hot.is_final(n.status))
          and greatest(t.compiled_at, s.not_before, (select max(n.finished_at) from steps n where n.turn_id = t.id and n.id = any (s.needs)))
              < clock_timestamp() - make_interval(secs => p_grace_ms / 1000.0 * power(2, least(t.recoveries, 8)))))
   limit p_limit
$$;

-- Takes back what was lost of a running turn and starts a new generation, whose fragments the caller compiles and stores with
-- hot.store_fragments in the same transaction. Reads run again; a lost call with an effect is `unsure`; after `p_max_attempts`
-- a step fails, because it seems to kill its workers.
-- Null: the turn does not run. Out: {generation, placement, nodes: [{id, needs, queue, tool, effect, is_running}], respond, events}.
create function hot.reclaim(p_turn uuid, p_max_attempts int, p_lease_ms int) returns jsonb language plpgsql as $$
declare
  t turns;
  v_at timestamptz;
  v_events jsonb;
  v_respond int;
begin
  select * into t from turns where id = p_turn and status = 'running' for no key update;
  if not found then
    return null;
  end if;
  v_at := clock_timestamp();
  with lost as (
    update steps s
       set status = case when s.attempt < p_max_attempts then 'pending' when s.effect = 'read' then 'failed' else 'unknown' end,
           unsure = s.effect <> 'read', lease_until = null, finished_at = case when s.attempt >= p_max_attempts then v_at end,
           error = case when s.attempt >= p_max_attempts then jsonb_build_object(
             'code', 'INTERNAL_ERROR', 'message', format('the worker was lost in each of %s attempts', s.attempt)) end
     where s.turn_id = p_turn and s.status = 'running' and s.lease_until < v_at
    returning s.*
  )
  select coalesce(jsonb_agg(jsonb_build_object('type', 'step.finished', 'data', jsonb_build_object(
           'step', id, 'tool', tool, 'status', status, 'attempt', attempt, 'error', error)))
           filter (where status <> 'pending'), '[]') into v_events from lost;
  if jsonb_array_length(v_events) > 0 then
    v_events := v_events || hot.end_impossible(p_turn, t.on_error = 'fail_fast', v_at);
  end if;
  update turns x set generation = x.generation + 1, compiled_at = v_at, recoveries = x.recoveries + 1,
         open_steps = x.open_steps - jsonb_array_length(v_events)
   where x.id = p_turn returning * into t;
  if t.open_steps = 0 then
    update turns x set status = 'responding', attempt = x.attempt + 1, responding_at = v_at,
           lease_until = v_at + make_interval(secs => p_lease_ms / 1000.0)
     where x.id = p_turn returning x.attempt into v_respond;
  end if;
  return jsonb_build_object(
    'generation', t.generation, 'placement', t.placement, 'respond', v_respond, 'events', hot.append_events(t, v_events, v_at),
    'nodes', (select coalesce(jsonb_agg(jsonb_build_object('id', s.id, 'queue', s.queue, 'tool', s.tool, 'effect', s.effect,
                       'is_running', s.status = 'running',
                       'needs', array(select n.id from steps n where n.turn_id = p_turn and n.id = any (s.needs)
                                         and not hot.is_final(n.status))) order by s.revision, s.position), '[]')
                from steps s where s.turn_id = p_turn and not hot.is_final(s.status)));
end $$;

-- Stores the fragments of a generation; those without needs count as sent.
create function hot.store_fragments(p_turn uuid, p_tenant uuid, p_generation int, p_fragments jsonb, p_at timestamptz) returns void
language sql as $$
  insert into fragments (turn_id, generation, number, tenant_id, needs, steps, queue, expression, sent_at)
  select p_turn, p_generation, f.number, p_tenant, f.needs, f.steps, f.queue, f.expression, case when f.needs = '{}' then p_at end
    from jsonb_populate_recordset(null::fragments, p_fragments) f
$$;

-- Takes a turn whose planner or responder was lost. Out: its new fence; null: it is held, or has ended.
create function hot.take_over(p_turn uuid, p_lease_ms int) returns int language sql as $$
  update turns t set attempt = t.attempt + 1, recoveries = t.recoveries + 1,
         lease_until = clock_timestamp() + make_interval(secs => p_lease_ms / 1000.0 * power(2, least(t.recoveries, 6)))
   where t.id = p_turn and t.status = 'responding' and t.lease_until < clock_timestamp()
  returning t.attempt
$$;

-- Gives a turn whose planner was lost back to the queue; false where it is held, or planned.
create function hot.requeue(p_turn uuid) returns boolean language sql as $$
  with given_back as (
    update turns t set status = 'queued', sent_at = clock_timestamp(), recoveries = t.recoveries + 1, lease_until = null
     where t.id = p_turn and t.status = 'planning' and t.lease_until < clock_timestamp()
    returning 1
  )
  select exists (select 1 from given_back)
$$;

-- Appends one event to a turn. Null: there is no such turn.
create function hot.note(p_turn uuid, p_type text, p_data jsonb) returns jsonb language plpgsql as $$
declare
  t turns;
begin
  select * into t from turns where id = p_turn for no key update;
  if not found then
    return null;
  end if;
  return hot.append_events(t, jsonb_build_array(jsonb_build_object('type', p_type, 'data', p_data)), clock_timestamp());
end $$;

-- Ends a turn under its fence, with its reply, and makes the conversation's next queued turn the active one: one commit.
-- Null: the claim was lost. Out: {events, next: turn id or null}.
create function hot.finish_turn(p_turn uuid, p_attempt int, p_status text, p_reply jsonb, p_output jsonb, p_usage jsonb, p_error jsonb)
returns jsonb language plpgsql as $$
declare
  t turns;
  r replies := jsonb_populate_record(null::replies, p_reply);
  v_at timestamptz;
  v_events jsonb;
  v_next uuid;
begin
  perform 1 from turns where id = p_turn for no key update;
  v_at := clock_timestamp();
  update turns set status = p_status, output = p_output, usage = p_usage, error = p_error, finished_at = v_at, lease_until = null,
         responding_at = coalesce(responding_at, v_at)
   where id = p_turn and attempt = p_attempt and status in ('planning', 'responding')
  returning * into t;
  if not found then
    return null;
  end if;
  insert into replies (turn_id, tenant_id, text, artifacts, question, grounded, sources, trace, created_at)
  values (p_turn, t.tenant_id, r.text, r.artifacts, r.question, r.grounded, r.sources, r.trace, v_at);
  perform hot.append_audit(t.tenant_id, t.conversation_id, t.id, 'turn.finished', jsonb_build_object(
    'status', p_status, 'error', p_error -> 'code', 'reply_sha256', encode(sha256(convert_to(r.text, 'UTF8')), 'hex'),
    'steps', (select coalesce(jsonb_agg(jsonb_build_object(
                       'id', s.id, 'tool', s.tool, 'effect', s.effect, 'status', s.status, 'attempt', s.attempt, 'error', s.error -> 'code',
                       'args_sha256', encode(sha256(convert_to(s.args::text, 'UTF8')), 'hex')) order by s.position), '[]')
                from steps s where s.turn_id = p_turn)));
  v_events := hot.append_events(t, jsonb_build_array(
    jsonb_build_object('type', 'reply.done', 'data', p_reply - 'trace'),
    jsonb_build_object('type', 'turn.' || p_status, 'data', jsonb_build_object('error', p_error))), v_at);
  select id into v_next from turns
   where tenant_id = t.tenant_id and conversation_id = t.conversation_id and status = 'queued' order by seq limit 1 for no key update;
  update turns set sent_at = v_at where id = v_next;
  update conversations set active_turn_id = v_next, updated_at = v_at where tenant_id = t.tenant_id and id = t.conversation_id;
  return jsonb_build_object('events', v_events, 'next', v_next);
end $$;
