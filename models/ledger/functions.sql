-- The statements of the hot path, one round trip and one commit each.
--
-- They live in a schema of their own that `turnloom migrate` makes anew, after the last revision. Order of locks, everywhere:
-- the conversation's row, then its turns'; steps and fragments only under their turn's lock. Who needs one turn alone takes no
-- more; who needs two, or a turn and its conversation, takes the conversation first. What must see the others' commits (who is
-- last?) takes its lock in a statement of its own first: each statement sees a new snapshot.
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
-- A turn that was final takes none: its last event is the last that its readers wait for.
create function hot.append_events(p_turn turns, p_events jsonb, p_at timestamptz) returns jsonb language plpgsql as $$
declare
  v_events jsonb;
begin
  if jsonb_array_length(p_events) = 0 or p_turn.finished_at is not null then
    return '[]';
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

-- The hash of an audit record. The formula is that of models/ledger/audit.py.
create function hot.audit_hash(p_tenant uuid, p_conversation text, p_seq int, p_turn uuid, p_kind text, p_at timestamptz,
                               p_digest bytea, p_before bytea) returns bytea language sql stable as $$
  select sha256(convert_to(concat_ws('|', p_tenant, p_conversation, p_seq, p_turn, p_kind, hot.rfc3339(p_at),
                                     encode(p_digest, 'hex'), encode(p_before, 'hex')), 'UTF8'))
$$;

-- Appends a record to a conversation's audit chain.
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
  v_hash := hot.audit_hash(p_tenant, p_conversation, v_seq, p_turn, p_kind, v_at, v_digest, v_before);
  insert into audit (tenant_id, conversation_id, seq, turn_id, kind, content, digest, hash, at)
  values (p_tenant, p_conversation, v_seq, p_turn, p_kind, p_content, v_digest, v_hash, v_at);
  update conversations set audit_seq = v_seq, audit_hash = v_hash where tenant_id = p_tenant and id = p_conversation;
end $$;

-- Ends the work on a turn before it is done and leaves it to be answered: reads stop, calls with an effect are left to their
-- workers, who may record them still. Ending: cancelled, superseded (by another turn), late. The first one counts.
-- Null: the turn is final, or there is none. Out: {turn, respond: attempt or null where it was closed before, events}.
create function hot.close_turn(p_turn uuid, p_ending text, p_superseded_by uuid, p_lease_ms int) returns jsonb language plpgsql as $$
declare
  t turns;
  v_at timestamptz;
  v_events jsonb;
  v_error jsonb := jsonb_build_object('code', 'CANCELLED', 'message', case p_ending
    when 'cancelled' then 'the turn was cancelled' when 'late' then 'the turn''s deadline had passed'
    else 'a newer message took the turn''s place' end);
begin
  select * into t from turns where id = p_turn for no key update;
  if not found or t.finished_at is not null then
    return null;
  elsif t.ending is not null then
    return jsonb_build_object('turn', t.id, 'respond', null, 'events', '[]'::jsonb);
  end if;
  v_at := clock_timestamp();
  with ended as (
    update steps set status = 'cancelled', finished_at = v_at, lease_until = null, error = v_error
     where turn_id = p_turn and (status = 'pending' or (status = 'running' and effect = 'read'))
    returning *
  )
  select coalesce(jsonb_agg(jsonb_build_object('type', 'step.finished', 'data', jsonb_strip_nulls(jsonb_build_object(
           'step', id, 'tool', tool, 'status', status, 'attempt', nullif(attempt, 0), 'error', error,
           'duration_ms', round(extract(epoch from v_at - started_at) * 1000, 3)))) order by position), '[]')
    into v_events from ended;
  update turns set status = 'responding', ending = p_ending, superseded_by = p_superseded_by, attempt = t.attempt + 1,
         open_steps = t.open_steps - jsonb_array_length(v_events), responding_at = v_at,
         lease_until = v_at + make_interval(secs => p_lease_ms / 1000.0)
   where id = p_turn;
  return jsonb_build_object('turn', t.id, 'respond', t.attempt + 1, 'events', hot.append_events(t, v_events, v_at));
end $$;

-- Decides what a message does to the turn that its conversation is busy with, under the conversation's lock. `auto` asks what
-- has happened: nothing yet, or another turn waits: merge; a call with an effect is under way or may have been made: enqueue;
-- otherwise interrupt.
create function hot.choose_policy(p_on_busy text, p_active uuid) returns text language plpgsql as $$
declare
  a turns;
begin
  if p_on_busy <> 'auto' then
    return p_on_busy;
  end if;
  select * into a from turns where id = p_active for no key update;
  return case
    when exists (select 1 from turns x where x.tenant_id = a.tenant_id and x.conversation_id = a.conversation_id
                    and x.seq >= a.seq and x.status = 'queued') then 'merge'
    when exists (select 1 from steps s where s.turn_id = a.id and s.effect <> 'read'
                    and (s.unsure or s.status in ('running', 'succeeded', 'unknown'))) then 'enqueue'
    else 'interrupt' end;
end $$;

-- Folds a message into the conversation's last turn, if no planner has claimed that one, it asks for the same (agent, mode, no
-- plan of the caller's) and there is room: 8000 characters, as in one message. Out: that turn, or null.
create function hot.merge_message(p_active uuid, p_turn turns) returns turns language plpgsql as $$
declare
  t turns;
begin
  update turns x set message = x.message || E'\n' || p_turn.message
   where x.id = (select q.id from turns a join turns q on q.tenant_id = a.tenant_id and q.conversation_id = a.conversation_id
                    and q.seq >= a.seq and q.status = 'queued'
                  where a.id = p_active order by q.seq desc limit 1)
     and x.status = 'queued' and x.submitted_plan is null and p_turn.submitted_plan is null
     and coalesce(p_turn.agent, x.agent) = x.agent and coalesce(p_turn.mode, x.mode) is not distinct from x.mode
     and char_length(x.message) + 1 + char_length(p_turn.message) <= 8000
  returning x.* into t;
  if not found then
    return null;
  end if;
  if p_turn.message_id is not null then
    insert into merged_messages (tenant_id, channel, message_id, turn_id, body_hash)
    values (t.tenant_id, p_turn.channel, p_turn.message_id, t.id, p_turn.body_hash);
  end if;
  update conversations set updated_at = clock_timestamp() where tenant_id = t.tenant_id and id = t.conversation_id;
  perform hot.append_audit(t.tenant_id, t.conversation_id, t.id, 'message.merged', jsonb_build_object(
    'message_sha256', encode(sha256(convert_to(p_turn.message, 'UTF8')), 'hex')));
  return t;
end $$;

-- Opens a turn. `p_turn` holds the fields of the request as columns of `turns`.
-- Outcome: opened; merged (into the turn that is told); repeated or mismatched (this message id came before, with the same or
-- another body); full (it did not, and the backlog has no room); busy. `closed` is what hot.close_turn says of the turn that
-- this one takes the place of.
create function hot.open_turn(p_tenant uuid, p_may_open boolean, p_default_agent text, p_deadline_ms int, p_lease_ms int,
                              p_turn jsonb)
returns table (outcome text, turn_id uuid, conversation_id text, seq int, is_active boolean, events jsonb, closed jsonb)
language plpgsql as $$
#variable_conflict use_column
declare
  t turns := jsonb_populate_record(null::turns, p_turn);
  earlier record;
  merged turns;
  c conversations;
  v_is_new boolean;
  v_policy text;
  v_closed jsonb;
  v_agent text;
  v_person jsonb;
  v_at timestamptz;
  v_content jsonb;
  v_digest bytea;
  v_event jsonb;
begin
  if t.message_id is not null then
    -- Two posts of one message may come with different (new) conversations: this lock, not a row, is what they share.
    perform pg_advisory_xact_lock(hashtextextended(concat_ws('|', p_tenant, t.channel, t.message_id), 0));
    select x.id, x.conversation_id, x.seq, known.body_hash into earlier
      from (select y.id, y.body_hash from turns y
             where y.tenant_id = p_tenant and y.channel = t.channel and y.message_id = t.message_id
             union all
            select m.turn_id, m.body_hash from merged_messages m
             where m.tenant_id = p_tenant and m.channel = t.channel and m.message_id = t.message_id) known
      join turns x on x.id = known.id;
    if found then
      return query select case when earlier.body_hash = t.body_hash then 'repeated' else 'mismatched' end,
                          earlier.id, earlier.conversation_id, earlier.seq, false, '[]'::jsonb, null::jsonb;
      return;
    end if;
  end if;
  if not p_may_open then
    return query select 'full'::text, null::uuid, t.conversation_id, null::int, false, '[]'::jsonb, null::jsonb;
    return;
  end if;
  -- Every row is written once, with all that comes with it: this is what a message costs. A second round is for
  -- whoever finds no conversation and then loses the race to make it.
  loop
    select * into c from conversations x where x.tenant_id = p_tenant and x.id = t.conversation_id for no key update;
    v_is_new := not found;
    if v_is_new then
      c.agent := p_default_agent;
      c.last_seq := 0;
      c.audit_seq := 0;
      c.audit_hash := '';
    elsif c.active_turn_id is not null then
      v_policy := hot.choose_policy(t.on_busy, c.active_turn_id);
      if v_policy = 'reject' then
        return query select 'busy'::text, null::uuid, c.id, null::int, false, '[]'::jsonb, null::jsonb;
        return;
      elsif v_policy = 'merge' then
        merged := hot.merge_message(c.active_turn_id, t);
        if merged.id is not null then
          return query select 'merged'::text, merged.id, c.id, merged.seq, false, '[]'::jsonb, null::jsonb;
          return;
        end if;
      elsif v_policy in ('interrupt', 'rollback') then
        v_closed := hot.close_turn(c.active_turn_id, 'superseded', t.id, p_lease_ms);
      end if;
    end if;
    v_at := clock_timestamp();
    t.seq := c.last_seq + 1;
    v_agent := coalesce(t.agent, c.agent);
    v_person := case when v_is_new or t.person <> '{}' then t.person else c.person end;
    c.active_turn_id := coalesce(c.active_turn_id, t.id);
    v_content := jsonb_build_object(
      'seq', t.seq, 'agent', v_agent, 'message_sha256', encode(sha256(convert_to(t.message, 'UTF8')), 'hex'));
    v_digest := sha256(convert_to(v_content::text, 'UTF8'));
    c.audit_seq := c.audit_seq + 1;
    c.audit_hash := hot.audit_hash(p_tenant, t.conversation_id, c.audit_seq, t.id, 'turn.received', v_at, v_digest, c.audit_hash);
    if v_is_new then
      insert into conversations (tenant_id, id, channel, agent, person, last_seq, active_turn_id, audit_seq, audit_hash,
                                 created_at, updated_at)
      values (p_tenant, t.conversation_id, t.channel, v_agent, v_person, t.seq, t.id, c.audit_seq, c.audit_hash, v_at, v_at)
      on conflict (tenant_id, id) do nothing;
      continue when not found;
    else
      update conversations x
         set last_seq = t.seq, active_turn_id = c.active_turn_id, person = v_person, audit_seq = c.audit_seq,
             audit_hash = c.audit_hash, updated_at = v_at
       where x.tenant_id = p_tenant and x.id = c.id;
    end if;
    exit;
  end loop;
  insert into turns (id, tenant_id, conversation_id, seq, channel, message_id, body_hash, agent, mode, on_error, on_busy,
                     message, person, extra, callback_url, submitted_plan, status, last_event, deadline_at, sent_at, created_at)
  values (t.id, p_tenant, t.conversation_id, t.seq, t.channel, t.message_id, t.body_hash, v_agent, t.mode, t.on_error, t.on_busy,
          t.message, v_person, t.extra, t.callback_url, t.submitted_plan, 'queued', 1,
          v_at + make_interval(secs => p_deadline_ms / 1000.0), case when c.active_turn_id = t.id then v_at end, v_at);
  insert into audit (tenant_id, conversation_id, seq, turn_id, kind, content, digest, hash, at)
  values (p_tenant, t.conversation_id, c.audit_seq, t.id, 'turn.received', v_content, v_digest, c.audit_hash, v_at);
  v_event := jsonb_build_object('turn_id', t.id, 'at', hot.rfc3339(v_at), 'conversation_id', t.conversation_id, 'seq', t.seq);
  insert into events (turn_id, seq, tenant_id, type, data, at) values (t.id, 1, p_tenant, 'turn.queued', v_event, v_at);
  return query select 'opened'::text, t.id, t.conversation_id, t.seq, c.active_turn_id = t.id,
    jsonb_build_array(jsonb_build_object('seq', 1, 'type', 'turn.queued', 'data', v_event)), v_closed;
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
  insert into steps (turn_id, id, tenant_id, revision, position, tool, args, needs, inputs, effect, queue, inline, critical, run_if,
                     fallbacks, on_need_error, timeout_ms, ready_at)
  select p_turn, s.id, t.tenant_id, v_revision, s.position, s.tool, s.args, s.needs, s.inputs, s.effect, s.queue, s.inline, s.critical,
         s.run_if, s.fallbacks, s.on_need_error, s.timeout_ms, case when s.needs = '{}' then v_at end
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
    'unsure', s.unsure, 'run_if', s.run_if, 'fallbacks', s.fallbacks,
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
  v_last boolean;
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
      if t.generation = p_generation
         and (f.inline or (f.queue = p_queue and v_taken < p_take and (p_mixed or s.effect = 'read'))) then
        v_taken := v_taken + case when f.inline then 0 else 1 end;
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
  v_last := t.status = 'running' and t.open_steps = cardinality(v_ended);
  update turns x set open_steps = x.open_steps - cardinality(v_ended),
         status = case when v_last then 'responding' else x.status end, attempt = x.attempt + v_last::int,
         responding_at = case when v_last then v_at else x.responding_at end,
         lease_until = case when v_last then v_at + make_interval(secs => p_lease_ms / 1000.0) else x.lease_until end
   where x.id = p_turn
  returning case when v_last then x.attempt end into v_respond;
  return jsonb_build_object('fenced', (select coalesce(jsonb_agg(e -> 'id'), '[]') from jsonb_array_elements(p_finished) e
                                        where e ->> 'id' <> all (v_ended)),
                            'claimed', v_claimed, 'fragments', v_fragments, 'generation', t.generation, 'respond', v_respond,
                            'events', v_events);
end $$;

-- Renews leases in one statement each: of steps [{turn, id, attempt}] and of turns [{turn, attempt}]. Steps that somebody has
-- locked are left for the next beat: this statement takes steps of many turns, and to wait for one could be a deadlock.
create function hot.renew_leases(p_steps jsonb, p_turns jsonb, p_lease_ms int) returns void language sql as $$
  update steps s set lease_until = clock_timestamp() + make_interval(secs => p_lease_ms / 1000.0)
    from (select x.turn_id, x.id from steps x join jsonb_to_recordset(p_steps) as held(turn uuid, id text, attempt int)
              on x.turn_id = held.turn and x.id = held.id and x.attempt = held.attempt and x.status = 'running'
             for no key update of x skip locked) free
   where s.turn_id = free.turn_id and s.id = free.id;
  update turns t set lease_until = clock_timestamp() + make_interval(secs => p_lease_ms / 1000.0)
    from jsonb_to_recordset(p_turns) as held(turn uuid, attempt int)
   where t.id = held.turn and t.attempt = held.attempt and t.status in ('planning', 'responding')
$$;

-- Finds turns that nobody holds. Kind: plan, respond (the lease has run out), steps (a step's lease has run out; or a step is
-- ready and nobody has taken it for the grace, which doubles with each recovery; but on a busy queue that is only waiting),
-- effect (the turn was closed over a call with an effect, and that call's lease has run out).
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
  union all
  select distinct t.id, 'effect'
    from steps s join turns t on t.id = s.turn_id
   where s.status = 'running' and s.lease_until < clock_timestamp() and t.status <> 'running'
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
                       'inline', s.inline,
                       'is_running', s.status = 'running',
                       'needs', array(select n.id from steps n where n.turn_id = p_turn and n.id = any (s.needs)
                                         and not hot.is_final(n.status))) order by s.revision, s.position), '[]')
                from steps s where s.turn_id = p_turn and not hot.is_final(s.status)));
end $$;

-- Ends the lost calls of a closed turn. They are not made again and nobody asks the backend: what became of them is unknown,
-- until an operator decides. Out: events; null: the turn runs, and hot.reclaim is for it.
create function hot.give_up(p_turn uuid) returns jsonb language plpgsql as $$
declare
  t turns;
  v_at timestamptz;
  v_events jsonb;
begin
  select * into t from turns where id = p_turn and status <> 'running' for no key update;
  if not found then
    return null;
  end if;
  v_at := clock_timestamp();
  with lost as (
    update steps s set status = 'unknown', finished_at = v_at, lease_until = null, error = jsonb_build_object(
             'code', 'INTERNAL_ERROR', 'message', 'the worker was lost after the turn had been closed')
     where s.turn_id = p_turn and s.status = 'running' and s.lease_until < v_at
    returning s.*
  )
  select coalesce(jsonb_agg(jsonb_build_object('type', 'step.finished', 'data', jsonb_build_object(
           'step', id, 'tool', tool, 'status', status, 'attempt', attempt, 'error', error))), '[]') into v_events from lost;
  update turns set open_steps = open_steps - jsonb_array_length(v_events) where id = p_turn;
  return hot.append_events(t, v_events, v_at);
end $$;

-- Stores the fragments of a generation; those without needs count as sent.
create function hot.store_fragments(p_turn uuid, p_tenant uuid, p_generation int, p_fragments jsonb, p_at timestamptz) returns void
language sql as $$
  insert into fragments (turn_id, generation, number, tenant_id, needs, steps, queue, inline, expression, sent_at)
  select p_turn, p_generation, f.number, p_tenant, f.needs, f.steps, f.queue, f.inline, f.expression, case when f.needs = '{}' then p_at end
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
-- (A turn that was closed while it waited ends without having been active, and hands nothing on.)
-- Null: the claim was lost. Out: {events, next: turn id or null}.
create function hot.finish_turn(p_turn uuid, p_attempt int, p_status text, p_reply jsonb, p_output jsonb, p_usage jsonb, p_error jsonb)
returns jsonb language plpgsql as $$
declare
  t turns;
  r replies := jsonb_populate_record(null::replies, p_reply);
  v_at timestamptz;
  v_events jsonb;
  v_active uuid;
  v_next uuid;
begin
  select c.active_turn_id into v_active from conversations c
   where (c.tenant_id, c.id) = (select x.tenant_id, x.conversation_id from turns x where x.id = p_turn) for no key update;
  select * into t from turns where id = p_turn and attempt = p_attempt and status in ('planning', 'responding') for no key update;
  if not found then
    return null;
  end if;
  v_at := clock_timestamp();
  update turns set status = p_status, output = p_output, usage = p_usage, error = p_error, finished_at = v_at, lease_until = null,
         responding_at = coalesce(responding_at, v_at)
   where id = p_turn;
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
    jsonb_build_object('type', 'turn.' || p_status, 'data', jsonb_build_object('error', p_error)
      || case when p_status = 'superseded' then jsonb_build_object('superseded_by', t.superseded_by) else '{}' end)), v_at);
  if v_active = p_turn then
    select id into v_next from turns
     where tenant_id = t.tenant_id and conversation_id = t.conversation_id and seq > t.seq and status = 'queued'
     order by seq limit 1 for no key update;
    update turns set sent_at = v_at where id = v_next;
    update conversations set active_turn_id = v_next, updated_at = v_at where tenant_id = t.tenant_id and id = t.conversation_id;
  end if;
  return jsonb_build_object('events', v_events, 'next', v_next);
end $$;
