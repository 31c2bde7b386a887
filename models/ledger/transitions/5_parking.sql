-- Parking: steps that wait for a person or a time, and turns that rest meanwhile.

-- Lets a running turn rest while all that is left to do waits for a person: its deadline stands still. A step that
-- waits for its time, or that a worker is still to take, keeps the turn running. The caller holds the turn's lock.
create function hot.rest(p_turn uuid, p_at timestamptz) returns void language sql as $$
  update turns t set status = 'waiting_approval', waiting_since = p_at
   where t.id = p_turn and t.status = 'running'
     and exists (select 1 from steps s where s.turn_id = p_turn and s.status = 'waiting_approval')
     and not exists (
       select 1 from steps s
        where s.turn_id = p_turn and (s.status = 'running' or (s.status = 'pending' and not exists (
              select 1 from steps n where n.turn_id = p_turn and n.id = any (s.needs) and not hot.is_final(n.status)))))
$$;

-- Gives a claimed step back until it may be tried again, unless that is after the turn's deadline. The time is counted
-- from now: the worker's clock may be another. `p_pauses_ms`: one for each time that the step was given back, the last
-- one for all further times; of several, the one that would outlast the turn ends three seconds before its deadline.
-- `p_unsure`: it is still to be asked then what became of an earlier call; other steps are given back `p_most` times.
-- Null: it is not given back, and the caller records the failure. Out: events.
create function hot.delay_step(p_turn uuid, p_step text, p_attempt int, p_pauses_ms bigint[], p_error jsonb, p_most int,
                               p_unsure boolean) returns jsonb language plpgsql as $$
declare
  t turns;
  s steps;
  v_at timestamptz;
  v_until timestamptz;
  v_told jsonb;
begin
  perform hot.lock_conversation(p_turn);
  select * into t from turns where id = p_turn and status in ('planning', 'running') for no key update;
  v_at := clock_timestamp();
  select * into s from steps where turn_id = p_turn and id = p_step and attempt = p_attempt and status = 'running';
  v_until := v_at + make_interval(secs => p_pauses_ms[least(s.parked + 1, cardinality(p_pauses_ms))] / 1000.0);
  if cardinality(p_pauses_ms) > 1 and v_at < t.deadline_at - interval '3 s' then
    v_until := least(v_until, t.deadline_at - interval '3 s');
  end if;
  if t.id is null or s.id is null or v_until >= t.deadline_at or (s.parked >= p_most and not p_unsure) then
    return null;
  end if;
  update steps set status = 'pending', lease_until = null, not_before = v_until, parked = parked + 1, unsure = p_unsure,
         started_at = coalesce(started_at, v_at),
         error = p_error || jsonb_build_object('retry_at', hot.rfc3339(v_until))
   where turn_id = p_turn and id = p_step;
  perform hot.append_audit(t.tenant_id, t.conversation_id, t.id, 'call.delayed', jsonb_build_object(
    'step', s.id, 'tool', s.tool, 'attempt', s.attempt, 'worker', s.worker, 'error', p_error -> 'code',
    'retry_at', hot.rfc3339(v_until)));
  -- One that ran ahead may have begun without our having been told; the time of its failure stands for when.
  v_told := case when s.started_at is null then
              jsonb_build_array(hot.step_started(s.id, s.tool, s.attempt, s.worker)) else '[]' end;
  return hot.append_events(t, v_told || jsonb_build_object('type', 'step.retry', 'data', jsonb_build_object(
    'step', s.id, 'tool', s.tool, 'attempt', s.attempt, 'try', s.parked + 1, 'code', p_error -> 'code',
    'pause_ms', round(extract(epoch from v_until - v_at) * 1000))), v_at);
end $$;

-- Gives a turn that is planned or answered back until it may be tried again, unless that is after its deadline.
-- `p_pauses_ms`: the pause after the first failure, the second and so on. Nobody renews the lease that the turn has
-- until then, so recovery goes on with it when the time has come. Steps of a plan that is not whole are cancelled. Its
-- readers are told once.
-- Null: it is not given back, and the caller ends it. Out: events.
create function hot.postpone_turn(p_turn uuid, p_attempt int, p_pauses_ms bigint[], p_error jsonb)
returns jsonb language plpgsql as $$
declare
  t turns;
  v_at timestamptz;
  v_until timestamptz;
  v_times int;
  v_events jsonb;
begin
  perform hot.lock_conversation(p_turn);
  select * into t from turns
   where id = p_turn and attempt = p_attempt and status in ('planning', 'responding') and ending is null
     for no key update;
  v_times := coalesce((t.error ->> 'times')::int, 0) + 1;
  v_at := clock_timestamp();
  v_until := v_at + make_interval(secs => p_pauses_ms[least(v_times, cardinality(p_pauses_ms))] / 1000.0);
  if t.id is null or v_until >= t.deadline_at then
    return null;
  end if;
  v_events := case when t.status = 'planning' then hot.cancel_open(t, 'its plan is made again', v_at)
                   else '[]' end;
  update turns set attempt = t.attempt + 1, generation = t.generation + 1, tries = greatest(0, t.tries - 1),
         lease_until = v_until, open_steps = t.open_steps - jsonb_array_length(v_events),
         error = p_error || jsonb_build_object('retry_at', hot.rfc3339(v_until), 'times', v_times)
   where id = p_turn;
  -- It is the last event of its commit.
  if not exists (select from turn_events where turn_id = p_turn and seq > 1 and type = 'turn.queued') then
    v_events := v_events || jsonb_build_object('type', 'turn.queued', 'data', jsonb_build_object(
      'conversation_id', t.conversation_id, 'seq', t.seq, 'code', p_error -> 'code', 'retry_at', hot.rfc3339(v_until)));
  end if;
  return hot.append_events(t, v_events, v_at);
end $$;

-- Asks whether the call that a step is about to make is approved with these arguments; if not, the step is given back
-- and waits. `p_masked` are the arguments as events show them.
-- Out: {verdict: approved; asked; closed (the turn does not run: the call is not to be made); fenced (the step is
-- somebody else's), events, deliver: whether the person of a channel is to be asked}.
create function hot.ask_approval(p_turn uuid, p_step text, p_attempt int, p_args jsonb, p_masked jsonb,
                                 p_args_hash text, p_timeout_ms bigint)
returns jsonb language plpgsql as $$
declare
  t turns;
  s steps;
  v_at timestamptz;
  v_lapses timestamptz;
begin
  perform hot.lock_conversation(p_turn);
  select * into t from turns where id = p_turn for no key update;
  v_at := clock_timestamp();
  v_lapses := v_at + make_interval(secs => p_timeout_ms / 1000.0);
  select * into s from steps where turn_id = p_turn and id = p_step and attempt = p_attempt and status = 'running';
  if not found then
    return jsonb_build_object('verdict', 'fenced', 'events', '[]'::jsonb);
  elsif t.status <> 'running' then
    return jsonb_build_object('verdict', 'closed', 'events', '[]'::jsonb);
  elsif s.approval ->> 'args_hash' = p_args_hash and s.approval ->> 'decision' = 'approve' then
    return jsonb_build_object('verdict', 'approved', 'events', '[]'::jsonb);
  end if;
  -- Nothing was called, so there is nothing to ask the backend about.
  update steps set status = 'waiting_approval', lease_until = null, worker = null, started_at = null, unsure = false,
         parked = parked + 1, lapses_at = v_lapses, approval = jsonb_build_object(
           'args', p_args, 'shown', p_masked, 'args_hash', p_args_hash, 'asked_at', hot.rfc3339(v_at),
           'lapses_at', hot.rfc3339(v_lapses))
   where turn_id = p_turn and id = p_step;
  update turns set asked = true where id = p_turn;
  perform hot.rest(p_turn, v_at);
  perform hot.append_audit(t.tenant_id, t.conversation_id, t.id, 'approval.requested', jsonb_build_object(
    'step', s.id, 'tool', s.tool, 'args_sha256', p_args_hash));
  return jsonb_build_object('verdict', 'asked', 'deliver', hot.request_decision(t, v_at), 'events', hot.append_events(
    t, jsonb_build_array(jsonb_build_object('type', 'approval.requested', 'data', jsonb_build_object(
      'step', s.id, 'tool', s.tool, 'args', p_masked, 'args_hash', p_args_hash, 'lapses_at', hot.rfc3339(v_lapses)))),
    v_at));
end $$;

-- Decides what a step waits for: whoever has a key, or the person in chat. Without either it lapses, if its time has
-- come. An approved step is pending, and its time is now; a rejected one has failed.
-- Null: there is no such step. Out: {status: of the step, approval, is_new: whether this call decided, events, respond:
-- attempt or null, deliver: whether the person of a channel is to be asked about the next call}. If it is new, the
-- caller publishes what is ready, or the reply.
create function hot.decide_approval(p_turn uuid, p_step text, p_decision text, p_reason text, p_key uuid,
                                    p_in_chat boolean, p_lease_ms int)
returns jsonb language plpgsql as $$
declare
  t turns;
  s steps;
  v_at timestamptz;
  v_by text;
  v_events jsonb := '[]';
  v_ended int;
  v_respond int;
begin
  perform hot.lock_conversation(p_turn);
  perform 1 from turns where id = p_turn for no key update;
  v_at := clock_timestamp();
  select * into s from steps where turn_id = p_turn and id = p_step;
  if not found then
    return null;
  elsif s.status <> 'waiting_approval' or (p_key is null and not p_in_chat and s.lapses_at > v_at) then
    return jsonb_build_object('status', s.status, 'approval', s.approval, 'is_new', false, 'events', '[]'::jsonb);
  end if;
  update turns set status = 'running', deadline_at = deadline_at + (v_at - waiting_since), waiting_since = null
   where id = p_turn and status = 'waiting_approval';
  select * into t from turns where id = p_turn;
  v_by := case when p_in_chat then 'person' else (select name from keys where id = p_key) end;
  update steps set status = case p_decision when 'approve' then 'pending' else 'failed' end, lapses_at = null,
         not_before = case p_decision when 'approve' then v_at end,
         finished_at = case p_decision when 'reject' then v_at end,
         error = case p_decision when 'reject' then jsonb_build_object('code', 'REJECTED', 'message', concat_ws(': ',
           case when p_key is null and not p_in_chat then 'nobody approved it in time'
                else format('%s rejected it', v_by) end, p_reason)) end,
         approval = s.approval || jsonb_build_object(
           'decision', p_decision, 'reason', p_reason, 'by', v_by, 'key_id', p_key, 'decided_at', hot.rfc3339(v_at))
   where turn_id = p_turn and id = p_step returning * into s;
  if p_decision = 'reject' then
    v_events := jsonb_build_array(hot.step_finished(
      s.id, s.tool, s.status, s.error, jsonb_build_object('attempt', s.attempt)));
    v_events := v_events || hot.end_impossible(p_turn, t.on_error = 'fail_fast' and s.critical, v_at);
  end if;
  v_ended := jsonb_array_length(v_events);
  v_respond := hot.count_ended(p_turn, v_ended, 0, t.open_steps = v_ended, p_lease_ms, v_at);
  perform hot.rest(p_turn, v_at);
  perform hot.append_audit(t.tenant_id, t.conversation_id, t.id, 'approval.decided', jsonb_build_object(
    'step', s.id, 'tool', s.tool, 'args_sha256', s.approval -> 'args_hash', 'decision', p_decision, 'reason', p_reason,
    'by', v_by, 'key_id', p_key));
  return jsonb_build_object('status', s.status, 'approval', s.approval, 'is_new', true, 'respond', v_respond,
                            'events', hot.append_events(t, v_events, v_at), 'deliver', hot.request_decision(t, v_at));
end $$;
