-- Ending a turn: before its work is done, or with its reply.

-- Cancels what has no effect yet: steps that are pending or wait for approval, and reads under way. What became of a
-- pending call with an effect that its backend was still to be asked about is unknown. Out: events. The caller holds
-- the locks of the conversation and the turn, and counts the events off its open steps.
create function hot.cancel_open(t turns, p_message text, p_at timestamptz) returns jsonb language plpgsql as $$
declare
  v_events jsonb;
  v_error jsonb := jsonb_build_object('code', 'CANCELLED', 'message', p_message);
begin
  with ended as (
    update steps x
       set status = case when unsure and status = 'pending' then 'unknown' else 'cancelled' end,
           finished_at = p_at, lease_until = null,
           error = case when unsure and status = 'pending'
                     then coalesce(error - 'retry_at', v_error || jsonb_build_object(
                       'message', p_message || ' before anybody knew what had become of the call'))
                     else v_error end
     where turn_id = t.id and (status in ('pending', 'waiting_approval') or (status = 'running' and effect = 'read'))
    returning *
  )
  select coalesce(jsonb_agg(
           hot.step_finished(id, tool, status, error, hot.run_of(
             case when started_at is not null then attempt end, null, p_at - started_at)) order by position), '[]')
    into v_events from ended;
  perform hot.audit_calls(t, v_events);
  return v_events;
end $$;

-- Ends the work on a turn before it is done and leaves it to be answered: reads stop, calls with an effect are left to
-- their workers, who may record them still. Ending: cancelled, superseded (by another turn), late, paused (a person
-- writes in its conversation). The first one counts.
-- Null: the turn is final, or there is none. Out: {turn, respond: attempt or null where it was closed before, events}.
create function hot.close_turn(p_turn uuid, p_ending text, p_superseded_by uuid, p_lease_ms int)
returns jsonb language plpgsql as $$
declare
  t turns;
  v_at timestamptz;
  v_events jsonb;
begin
  perform hot.lock_conversation(p_turn);
  select * into t from turns where id = p_turn for no key update;
  if not found or t.finished_at is not null then
    return null;
  elsif t.ending is not null then
    return jsonb_build_object('turn', t.id, 'respond', null, 'events', '[]'::jsonb);
  end if;
  v_at := clock_timestamp();
  v_events := hot.cancel_open(t, case p_ending
    when 'cancelled' then 'the turn was cancelled' when 'late' then 'the turn''s deadline had passed'
    when 'paused' then 'a person took the conversation over'
    else 'a newer message took the turn''s place' end, v_at);
  update turns set status = 'responding', ending = p_ending, superseded_by = p_superseded_by, attempt = t.attempt + 1,
         open_steps = t.open_steps - jsonb_array_length(v_events), responding_at = v_at,
         deadline_at = t.deadline_at + coalesce(v_at - t.waiting_since, '0'), waiting_since = null,
         lease_until = v_at + make_interval(secs => p_lease_ms / 1000.0)
   where id = p_turn;
  return jsonb_build_object('turn', t.id, 'respond', t.attempt + 1, 'events', hot.append_events(t, v_events, v_at));
end $$;

-- Ends the work on a turn because somebody asks for that, with its audit record. Out: as hot.close_turn.
create function hot.cancel_turn(p_turn uuid, p_key uuid, p_by text, p_lease_ms int) returns jsonb language plpgsql as $$
declare
  v_closed jsonb := hot.close_turn(p_turn, 'cancelled', null, p_lease_ms);
begin
  if v_closed ->> 'respond' is not null then
    perform hot.append_audit(t.tenant_id, t.conversation_id, t.id, 'turn.cancelled',
                             jsonb_strip_nulls(hot.who(p_key, p_by))) from turns t where t.id = p_turn;
  end if;
  return v_closed;
end $$;

-- What a turn is answered from: of the steps that started early only those that its plan holds.
-- Null: there is no such turn. Out: the fields of models/ledger/replies.py.
create function hot.reply_material(p_turn uuid) returns jsonb language sql stable as $$
  select jsonb_build_object(
    'tenant_id', t.tenant_id, 'conversation_id', t.conversation_id, 'agent', t.agent, 'llm', t.llm,
    'manner', t.manner, 'message', t.message, 'person', t.person, 'action', t.action,
    'synthesis_hint', t.synthesis_hint,
    'on_error', t.on_error, 'ending', t.ending, 'usage', t.usage, 'allowances', hot.allowances(t),
    'last_event', t.last_event, 'mode', t.mode, 'revision', t.revision,
    'spent_ms', round(extract(epoch from clock_timestamp() - t.begun_at) * 1000),
    'left_ms', greatest(0, round(extract(epoch from t.deadline_at - clock_timestamp()) * 1000)),
    'submitted', coalesce(p.source = 'caller', false), 'stood_in', coalesce(p.source = 'playbook', false),
    'confidence', (p.document ->> 'confidence')::float,
    'slots', coalesce(t.slots, (select c.slots from conversations c
                                 where c.tenant_id = t.tenant_id and c.id = t.conversation_id)),
    'memory', hot.fresh_memory(t.tenant_id, t.conversation_id, t.id, 20),
    'history', (select hot.history(t, c.past, c.summary_seq, 6) from conversations c
                 where c.tenant_id = t.tenant_id and c.id = t.conversation_id),
    'reply', case when p.document -> 'steps' = '[]' then p.document ->> 'reply' end,
    'steps', (select coalesce(jsonb_agg(jsonb_build_object(
                       'id', s.id, 'tool', s.tool, 'args', s.args, 'effect', s.effect, 'needs', s.needs,
                       'status', s.status, 'critical', s.critical, 'revision', s.revision, 'result', s.result,
                       'error', s.error) order by s.revision, s.position), '[]')
                from steps s where s.turn_id = t.id
                 and (s.revision > 0 or t.revision = 0)))
    from turns t left join plans p on p.turn_id = t.id and p.revision = t.revision where t.id = p_turn
$$;

-- What the audit record of a turn's end says of it: how it ended, the digest of its reply, its steps.
create function hot.finished_content(p_turn uuid, p_status text, p_error jsonb, p_text text) returns jsonb
language plpgsql stable as $$
begin
  return jsonb_build_object(
    'status', p_status, 'error', p_error -> 'code', 'reply_sha256', encode(sha256(convert_to(p_text, 'UTF8')), 'hex'),
    'steps', (select coalesce(jsonb_agg(jsonb_build_object(
                       'id', s.id, 'tool', s.tool, 'effect', s.effect, 'status', s.status, 'attempt', s.attempt,
                       'error', s.error -> 'code', 'cache', s.cache,
                       'args_sha256', encode(sha256(convert_to(s.args::text, 'UTF8')), 'hex'))
                       order by s.position), '[]')
                from steps s where s.turn_id = p_turn));
end $$;

-- Writes what a turn leaves to its conversation. If that was busy with it, its next queued turn becomes the active one.
-- The caller holds the locks of both, and has counted its audit record already. `p_slots` of null leave those that it
-- has. Out: the line of the next turn, if it is due.
create function hot.leave_conversation(c conversations, p_turn uuid, p_last_sequence bigint, p_slots jsonb,
                                       p_usage jsonb, p_at timestamptz)
returns bigint language plpgsql as $$
declare
  n turns;
begin
  if c.active_turn_id = p_turn then
    select * into n from turns
     where tenant_id = c.tenant_id and conversation_id = c.id
       and sent_at is null and ending is null
     order by sequence nulls first, seq limit 1 for no key update;
    c.active_turn_id := n.id;
    c.last_sequence := greatest(c.last_sequence, p_last_sequence);
    c.updated_at := p_at;
    c.usage := hot.add_usage(c.usage, p_usage);
    c.slots := coalesce(p_slots, c.slots);
    if n.id is not null then
      n.due_at := hot.due_at(n, c.last_sequence, p_at);
      n.line := case when n.due_at = p_at then hot.line_of(n) end;
      update turns set due_at = n.due_at, line = n.line where id = n.id;
    end if;
  end if;
  update conversations
     set active_turn_id = c.active_turn_id, last_sequence = c.last_sequence, updated_at = c.updated_at,
         usage = c.usage, slots = c.slots, audit_seq = c.audit_seq, audit_hash = c.audit_hash
   where tenant_id = c.tenant_id and id = c.id;
  return n.line;
end $$;

-- Puts what is sent of a turn that becomes final into the outboxes; its reply is withheld unless it is told. The caller
-- holds the locks of the conversation and the turn.
-- Out: {deliver: whether a channel's reply is to be sent, call_back: whether a callback is}.
create function hot.queue_answers(t turns, p_is_told boolean, p_at timestamptz) returns jsonb language plpgsql as $$
begin
  if t.channel <> 'api' then
    perform hot.queue_delivery(t, p_is_told, p_at);
  end if;
  if t.callback_url is not null then
    perform hot.queue_callback(t, p_at);
  end if;
  return jsonb_build_object('deliver', t.channel <> 'api', 'call_back', t.callback_url is not null);
end $$;

-- Ends a turn under its fence, with its reply, makes the conversation's next queued turn the active one, and hands to
-- the planners what its tenant's windows now have room for: one commit. (A turn that was closed while it waited ends
-- without having been active: its conversation stays where it is.)
-- `p_end`: {status, reply, output, error, bound, slots}; what is null is left out.
-- The state that the turn leaves, these slots or those of its plan, becomes the conversation's, unless the turn was
-- rolled back: then what it found is forgotten, too.
-- Nobody sends the reply of a superseded turn, nor one that is made while a person writes, so it is not announced.
-- Null: the claim was lost. Out: {events, released: turn ids}, and what hot.queue_answers says.
create function hot.finish_turn(p_turn uuid, p_attempt int, p_end jsonb, p_calls jsonb, p_windows jsonb)
returns jsonb language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_status text := p_end ->> 'status';
  v_error jsonb := p_end -> 'error';
  t turns;
  r replies := jsonb_populate_record(null::replies, '{"suggestions": []}' || (p_end -> 'reply'));
  v_at timestamptz;
  v_slots jsonb;
  v_dropped jsonb;
  v_events jsonb;
  c conversations;
  v_usage jsonb;
  v_next bigint;
  v_is_told boolean;
begin
  perform hot.lock_conversation(p_turn);
  select * into t from turns where id = p_turn and attempt = p_attempt and status in ('planning', 'responding')
         for no key update;
  if not found then
    return null;
  end if;
  v_at := clock_timestamp();
  v_dropped := case when t.status = 'planning' then hot.cancel_open(t, 'no plan came of it', v_at) else '[]' end;
  select * into c from conversations where tenant_id = t.tenant_id and id = t.conversation_id;
  v_usage := hot.add_calls(t.usage, p_calls);
  v_slots := coalesce(p_end -> 'slots', t.slots);
  v_is_told := v_status <> 'superseded' and t.ending is distinct from 'paused' and c.paused_at is null;
  v_events := hot.store_events(t, v_dropped || case when not v_is_told then '[]' else
    jsonb_build_array(jsonb_build_object('type', 'reply.done', 'data', (p_end -> 'reply') - 'trace')) end
    || jsonb_build_array(jsonb_build_object('type', 'turn.' || v_status, 'data', jsonb_build_object('error', v_error)
      || case when v_status = 'superseded' then jsonb_build_object('superseded_by', t.superseded_by) else '{}' end)),
      v_at);
  update turns set status = v_status, slots = v_slots, output = p_end -> 'output', usage = v_usage, error = v_error,
         bound = p_end ->> 'bound', finished_at = v_at, lease_until = null,
         open_steps = open_steps - jsonb_array_length(v_dropped), last_event = last_event + hot.count_events(v_events),
         responding_at = coalesce(responding_at, v_at) where id = p_turn;
  insert into replies (turn_id, tenant_id, text, artifacts, question, grounded, sources, suggestions, trace, created_at)
  values (p_turn, t.tenant_id, r.text, r.artifacts, r.question, r.grounded, r.sources, r.suggestions, r.trace, v_at);
  c := hot.store_audit(c, p_turn, 'turn.finished', hot.finished_content(p_turn, v_status, v_error, r.text), v_at);
  if t.superseded_by is not null and hot.is_rolled_back(t.superseded_by) then
    v_slots := null;
    perform hot.forget_found(t);
  end if;
  v_next := hot.leave_conversation(c, p_turn, t.last_sequence, v_slots, v_usage, v_at);
  perform hot.store_calls(t, p_calls, v_at);
  return jsonb_build_object('events', v_events, 'released', hot.release(t.tenant_id, p_windows, array[t.line, v_next]))
         || hot.queue_answers(t, v_is_told, v_at);
end $$;

-- Records a plan without steps, and ends its turn with the planner's own answer: one commit after the claim.
-- Null: the claim was lost. Out: as hot.finish_turn, and the events of the record.
create function hot.answer_turn(p_turn uuid, p_attempt int, p_plan jsonb, p_begun jsonb, p_end jsonb, p_calls jsonb,
                                p_windows jsonb)
returns jsonb language plpgsql as $$
declare
  v_recorded jsonb;
begin
  perform hot.lock_conversation(p_turn);
  v_recorded := hot.record_plan(p_turn, p_attempt, p_plan, '[]', '[]', p_begun, '[]', '{"queue": "plan", "take": 0}');
  if v_recorded is null then
    return null;
  end if;
  return hot.finish_turn(p_turn, p_attempt, p_end, p_calls, p_windows)
         || jsonb_build_object('recorded', v_recorded -> 'events');
end $$;
