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

-- Stores events of a turn whose row lock is held; the caller counts them in `last_event`. In: [{type, data}]. Out: the same with `seq`.
-- A turn that was final takes none: its last event is the last that its readers wait for.
create function hot.store_events(p_turn turns, p_events jsonb, p_at timestamptz) returns jsonb language plpgsql as $$
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
  return v_events;
end $$;

-- Stores events of a turn whose row lock is held, and counts them.
create function hot.append_events(p_turn turns, p_events jsonb, p_at timestamptz) returns jsonb language plpgsql as $$
declare
  v_events jsonb := hot.store_events(p_turn, p_events, p_at);
begin
  if v_events <> '[]' then
    update turns set last_event = last_event + jsonb_array_length(v_events) where id = p_turn.id;
  end if;
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

-- Cancels what has no effect yet: steps that are pending or wait for approval, and reads under way. Out: events. The caller holds the turn's lock, and counts
-- the events off its open steps.
create function hot.cancel_open(p_turn uuid, p_message text, p_at timestamptz) returns jsonb language plpgsql as $$
declare
  v_events jsonb;
  v_error jsonb := jsonb_build_object('code', 'CANCELLED', 'message', p_message);
begin
  with ended as (
    update steps set status = 'cancelled', finished_at = p_at, lease_until = null, error = v_error
     where turn_id = p_turn and (status in ('pending', 'waiting_approval') or (status = 'running' and effect = 'read'))
    returning *
  )
  select coalesce(jsonb_agg(jsonb_build_object('type', 'step.finished', 'data', jsonb_strip_nulls(jsonb_build_object(
           'step', id, 'tool', tool, 'status', status, 'attempt', nullif(attempt, 0), 'error', error,
           'duration_ms', round(extract(epoch from p_at - started_at) * 1000, 3)))) order by position), '[]')
    into v_events from ended;
  return v_events;
end $$;

-- Ends the work on a turn before it is done and leaves it to be answered: reads stop, calls with an effect are left to their
-- workers, who may record them still. Ending: cancelled, superseded (by another turn), late. The first one counts.
-- Null: the turn is final, or there is none. Out: {turn, respond: attempt or null where it was closed before, events}.
create function hot.close_turn(p_turn uuid, p_ending text, p_superseded_by uuid, p_lease_ms int) returns jsonb language plpgsql as $$
declare
  t turns;
  v_at timestamptz;
  v_events jsonb;
begin
  select * into t from turns where id = p_turn for no key update;
  if not found or t.finished_at is not null then
    return null;
  elsif t.ending is not null then
    return jsonb_build_object('turn', t.id, 'respond', null, 'events', '[]'::jsonb);
  end if;
  v_at := clock_timestamp();
  v_events := hot.cancel_open(p_turn, case p_ending
    when 'cancelled' then 'the turn was cancelled' when 'late' then 'the turn''s deadline had passed'
    else 'a newer message took the turn''s place' end, v_at);
  update turns set status = 'responding', ending = p_ending, superseded_by = p_superseded_by, attempt = t.attempt + 1,
         open_steps = t.open_steps - jsonb_array_length(v_events), responding_at = v_at,
         deadline_at = t.deadline_at + coalesce(v_at - t.waiting_since, '0'), waiting_since = null,
         lease_until = v_at + make_interval(secs => p_lease_ms / 1000.0)
   where id = p_turn;
  return jsonb_build_object('turn', t.id, 'respond', t.attempt + 1, 'events', hot.append_events(t, v_events, v_at));
end $$;

-- When a turn that its conversation has come to is due: when its burst has ended and, where by its sender's count messages
-- before it are missing, when these are awaited no longer.
create function hot.due_at(p_turn turns, p_last_sequence bigint, p_at timestamptz) returns timestamptz language sql immutable as $$
  select greatest(p_at, p_turn.settles_at, case when p_turn.sequence > p_last_sequence + 1 then p_turn.awaits_until end)
$$;

-- How many more turns of a tenant may be handed to the planners: its window less those that are out. Null: any number.
-- Nothing is locked, so that a few too many may be out where several processes count at once. The order is that of the index:
-- without it Postgres, which takes a long backlog for as many turns sent, would rather read the table until it has enough. And
-- one plan serves every window: to plan anew for each costs ten times what the counting does.
create function hot.room(p_tenant uuid, p_window int) returns int language plpgsql stable
set plan_cache_mode = force_generic_plan as $$
begin
  return case when p_window > 0 then p_window - (select count(*) from (
    select from turns where tenant_id = p_tenant and status in ('queued', 'planning', 'running', 'responding')
                        and sent_at is not null order by status, sent_at limit p_window) handed_out) end;
end $$;

-- Hands a tenant's held turns that are due to the planners, first come first served, as far as its window has room.
-- Who holds a turn's lock may be about to change when it is due, so such a turn is left for the next time: to wait, with
-- turns of many conversations locked, could be a deadlock. Out: their ids, which are the caller's to dispatch.
create function hot.release(p_tenant uuid, p_window int) returns uuid[] language plpgsql
set plan_cache_mode = force_generic_plan as $$
declare
  v_at timestamptz := clock_timestamp();
  v_released uuid[];
begin
  if not exists (select from turns where tenant_id = p_tenant and sent_at is null and ending is null and due_at <= v_at) then
    return '{}';
  end if;
  with due as (
    select id from turns where tenant_id = p_tenant and sent_at is null and ending is null and due_at <= v_at
     order by due_at limit least(hot.room(p_tenant, p_window), 500) for no key update skip locked
  ), released as (
    update turns t set sent_at = v_at from due where t.id = due.id and t.tenant_id = p_tenant returning t.id, t.due_at
  )
  select coalesce(array_agg(id order by due_at), '{}') into v_released from released;
  return v_released;
end $$;

-- The same for all tenants that have held turns; only one process at a time does so. Out: their ids.
create function hot.release_due(p_window int) returns setof uuid language plpgsql as $$
declare
  v_tenant uuid := '00000000-0000-0000-0000-000000000000';
begin
  if not pg_try_advisory_xact_lock(hashtext('turnloom.release')) then
    return;
  end if;
  loop
    select tenant_id into v_tenant from turns
     where sent_at is null and ending is null and due_at is not null and tenant_id > v_tenant order by tenant_id limit 1;
    exit when not found;
    return query select unnest(hot.release(v_tenant, p_window));
  end loop;
end $$;

-- Lets the conversation's active turn wait behind a message that its sender had written before it, if no planner has claimed
-- it; a message about it that is under way then starts nothing. The caller holds the conversation's lock.
create function hot.step_aside(p_active uuid, p_sequence bigint) returns boolean language plpgsql as $$
begin
  update turns set due_at = null, sent_at = null where id = p_active and status = 'queued' and sequence > p_sequence;
  return found;
end $$;

-- Decides what a message does to the turn that its conversation is busy with, under the conversation's lock. `auto` asks what
-- has happened: nothing yet, or another turn waits: merge; a call with an effect is under way or may have been made, or the
-- message was written before that turn's: enqueue; otherwise interrupt.
create function hot.choose_policy(p_on_busy text, p_active uuid, p_sequence bigint) returns text language plpgsql as $$
declare
  a turns;
begin
  if p_on_busy <> 'auto' then
    return p_on_busy;
  end if;
  select * into a from turns where id = p_active for no key update;
  return case
    when a.status = 'queued' or exists (
      select 1 from turns x where x.tenant_id = a.tenant_id and x.conversation_id = a.conversation_id
                              and x.sent_at is null and x.ending is null) then 'merge'
    when p_sequence < a.sequence then 'enqueue'
    when exists (select 1 from steps s where s.turn_id = a.id and s.effect <> 'read'
                    and (s.unsure or s.status in ('running', 'succeeded', 'unknown'))) then 'enqueue'
    else 'interrupt' end;
end $$;

-- Folds a message into the conversation's last turn, if no planner has claimed that one, it asks for the same (agent, mode, no
-- plan of the caller's), it is the next by its sender's count, and there is room: 8000 characters, as in one message. Further
-- messages are awaited for another burst window, until four of them have passed since the first. Out: that turn, or null.
create function hot.merge_message(p_active uuid, p_turn turns, p_burst_ms int) returns turns language plpgsql as $$
declare
  t turns;
  v_window interval := make_interval(secs => nullif(p_burst_ms, 0) / 1000.0);
  v_settles_at timestamptz := clock_timestamp() + v_window;
begin
  update turns x
     set message = x.message || E'\n' || p_turn.message, last_sequence = p_turn.sequence,
         settles_at = greatest(x.settles_at, least(v_settles_at, x.created_at + 4 * v_window)),
         due_at = case when x.due_at is not null then greatest(x.due_at, least(v_settles_at, x.created_at + 4 * v_window)) end
   where x.id = coalesce((
           select q.id from turns a join turns q on q.tenant_id = a.tenant_id and q.conversation_id = a.conversation_id
                                                and q.sent_at is null and q.ending is null
            where a.id = p_active order by q.sequence desc nulls last, q.seq desc limit 1), p_active)
     and x.status = 'queued' and x.submitted_plan is null and p_turn.submitted_plan is null
     and p_turn.sequence is not distinct from x.last_sequence + 1
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
-- another body); full (it did not, and the backlog has no room); busy. `is_sent`: it is the caller's to dispatch. `closed` is
-- what hot.close_turn says of the turn that this one takes the place of.
create function hot.open_turn(p_tenant uuid, p_may_open boolean, p_default_agent text, p_deadline_ms int, p_lease_ms int,
                              p_burst_ms int, p_order_ms int, p_window int, p_turn jsonb)
returns table (outcome text, turn_id uuid, conversation_id text, seq int, is_sent boolean, events jsonb, closed jsonb)
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
      c.last_sequence := 0;
      c.audit_seq := 0;
      c.audit_hash := '';
    elsif c.active_turn_id is not null then
      v_policy := hot.choose_policy(t.on_busy, c.active_turn_id, t.sequence);
      if v_policy = 'reject' then
        return query select 'busy'::text, null::uuid, c.id, null::int, false, '[]'::jsonb, null::jsonb;
        return;
      elsif v_policy = 'merge' then
        merged := hot.merge_message(c.active_turn_id, t, p_burst_ms);
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
    if c.active_turn_id is null or (t.sequence is not null and hot.step_aside(c.active_turn_id, t.sequence)) then
      c.active_turn_id := t.id;
    end if;
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
  t.settles_at := v_at + make_interval(secs => nullif(p_burst_ms, 0) / 1000.0);
  t.awaits_until := case when t.sequence is not null then v_at + make_interval(secs => p_order_ms / 1000.0) end;
  if c.active_turn_id = t.id then
    t.due_at := hot.due_at(t, c.last_sequence, v_at);
    t.sent_at := case when t.due_at = v_at and coalesce(hot.room(p_tenant, p_window) > 0, true) then v_at end;
  end if;
  insert into turns (id, tenant_id, conversation_id, seq, sequence, last_sequence, channel, message_id, body_hash, agent, mode,
                     on_error, on_busy, message, person, extra, callback_url, submitted_plan, status, last_event, deadline_at,
                     settles_at, awaits_until, due_at, sent_at, created_at)
  values (t.id, p_tenant, t.conversation_id, t.seq, t.sequence, t.sequence, t.channel, t.message_id, t.body_hash, v_agent, t.mode,
          t.on_error, t.on_busy, t.message, v_person, t.extra, t.callback_url, t.submitted_plan, 'queued', 1,
          v_at + make_interval(secs => p_deadline_ms / 1000.0), t.settles_at, t.awaits_until, t.due_at, t.sent_at, v_at);
  insert into audit (tenant_id, conversation_id, seq, turn_id, kind, content, digest, hash, at)
  values (p_tenant, t.conversation_id, c.audit_seq, t.id, 'turn.received', v_content, v_digest, c.audit_hash, v_at);
  v_event := jsonb_build_object('turn_id', t.id, 'at', hot.rfc3339(v_at), 'conversation_id', t.conversation_id, 'seq', t.seq);
  insert into events (turn_id, seq, tenant_id, type, data, at) values (t.id, 1, p_tenant, 'turn.queued', v_event, v_at);
  return query select 'opened'::text, t.id, t.conversation_id, t.seq, t.sent_at is not null,
    jsonb_build_array(jsonb_build_object('seq', 1, 'type', 'turn.queued', 'data', v_event)), v_closed;
end $$;

-- Claims the planning of a turn that was handed to the planners, or whose planner's lease has run out. What a planner before
-- us had started early is cancelled, and the new generation keeps messages about it from starting anything.
-- Null: not ours to plan.
create function hot.claim_turn(p_turn uuid, p_lease_ms int) returns jsonb language plpgsql as $$
declare
  t turns;
  v_at timestamptz;
  v_events jsonb;
begin
  update turns x set status = 'planning', attempt = x.attempt + 1, generation = x.generation + 1, planning_at = clock_timestamp(),
         lease_until = clock_timestamp() + make_interval(secs => p_lease_ms / 1000.0)
   where x.id = p_turn and ((x.status = 'queued' and x.sent_at is not null)
                            or (x.status = 'planning' and x.lease_until < clock_timestamp()))
  returning x.* into t;
  if not found then
    return null;
  end if;
  v_at := t.planning_at;
  v_events := case when t.open_steps > 0 then hot.cancel_open(p_turn, 'its planner was lost', v_at) else '[]' end;
  v_events := hot.store_events(t, v_events || jsonb_build_object('type', 'plan.started'), v_at);
  update turns set open_steps = 0, last_event = last_event + jsonb_array_length(v_events) where id = p_turn;
  return (to_jsonb(t) - 'body_hash') || jsonb_build_object(
    'events', v_events, 'left_ms', greatest(0, round(extract(epoch from t.deadline_at - v_at) * 1000)));
end $$;

-- Stores steps as pending. One that was started early and cancelled may come again under its id, with another call: it keeps its
-- attempts, so that who ran it then can record nothing now.
create function hot.store_steps(p_turn turns, p_revision int, p_steps jsonb, p_at timestamptz) returns void language sql as $$
  insert into steps (turn_id, id, tenant_id, revision, position, tool, args, needs, inputs, effect, queue, inline, critical, run_if,
                     fallbacks, on_need_error, timeout_ms, copy_of, ready_at)
  select p_turn.id, s.id, p_turn.tenant_id, p_revision, s.position, s.tool, s.args, s.needs, s.inputs, s.effect, s.queue, s.inline,
         s.critical, s.run_if, s.fallbacks, s.on_need_error, s.timeout_ms, s.copy_of, case when s.needs = '{}' then p_at end
    from jsonb_populate_recordset(null::steps, p_steps) s
  on conflict (turn_id, id, tenant_id) do update
     set revision = excluded.revision, position = excluded.position, tool = excluded.tool, args = excluded.args,
         needs = excluded.needs, inputs = excluded.inputs, effect = excluded.effect, queue = excluded.queue, inline = excluded.inline,
         critical = excluded.critical, run_if = excluded.run_if, fallbacks = excluded.fallbacks,
         on_need_error = excluded.on_need_error, timeout_ms = excluded.timeout_ms, copy_of = excluded.copy_of,
         ready_at = excluded.ready_at, status = 'pending',
         lease_until = null, not_before = null, parked = 0, worker = null, cache = null, started_at = null, finished_at = null,
         result = null, error = null
$$;

-- Starts a step before its plan is whole, as a fragment of its own in the generation that the plan will have. Revision 0 means
-- that no plan holds it yet. `p_max_parallel` is its agent's cap. `p_told` is the data of the event that the step was written.
-- Null: the claim was lost. Out: {ready: [numbers of the fragments to publish], events}.
create function hot.start_early(p_turn uuid, p_attempt int, p_step jsonb, p_fragment jsonb, p_max_parallel int, p_told jsonb)
returns jsonb language plpgsql as $$
declare
  t turns;
  v_at timestamptz;
  v_ended jsonb;
  v_ready int[];
begin
  select * into t from turns where id = p_turn and attempt = p_attempt and status = 'planning' for no key update;
  if not found then
    return null;
  end if;
  v_at := clock_timestamp();
  perform hot.store_steps(t, 0, jsonb_build_array(p_step), v_at);
  v_ended := hot.end_impossible(p_turn, false, v_at);
  t.max_parallel := p_max_parallel;
  v_ready := hot.store_fragments(t, jsonb_build_array(p_fragment), v_at);
  update turns set open_steps = open_steps + 1 - jsonb_array_length(v_ended), max_parallel = p_max_parallel where id = p_turn;
  return jsonb_build_object(
    'ready', to_jsonb(array_remove(v_ready, case when v_ended <> '[]' then (p_fragment -> 'number')::int end)),
    'events', hot.append_events(t, jsonb_build_object('type', 'plan.step', 'data', p_told) || v_ended, v_at));
end $$;

-- Cancels the steps that were started early, because their plan is refused or does not hold them; the new generation keeps
-- messages about them from starting anything. Null: the claim was lost. Out: events.
create function hot.drop_early(p_turn uuid, p_attempt int) returns jsonb language plpgsql as $$
declare
  t turns;
  v_at timestamptz;
  v_events jsonb;
begin
  select * into t from turns where id = p_turn and attempt = p_attempt and status = 'planning' for no key update;
  if not found then
    return null;
  end if;
  v_at := clock_timestamp();
  v_events := hot.cancel_open(p_turn, 'the plan that it was of is refused', v_at);
  update turns set generation = generation + 1, open_steps = open_steps - jsonb_array_length(v_events) where id = p_turn;
  return hot.append_events(t, v_events, v_at);
end $$;

-- Records a plan. The steps that were started early in this generation are the plan's too: `p_steps` and `p_fragments` are the
-- rest. `p_max_parallel` is the cap on steps at a time, where the plan could have more; then each fragment is one step.
-- Where no step is open, the turn is left in our hands, to respond.
-- Null: the claim was lost. Out: {generation, open_steps, ready: [numbers of the fragments to publish], events}.
create function hot.record_plan(p_turn uuid, p_attempt int, p_plan jsonb, p_placement text, p_max_parallel int, p_steps jsonb,
                                p_fragments jsonb, p_usage jsonb)
returns jsonb language plpgsql as $$
declare
  t turns;
  v_at timestamptz;
  v_revision int;
  v_early text[];
  v_ended jsonb := '[]';
  v_ready int[];
  v_open int;
  v_events jsonb;
begin
  select * into t from turns where id = p_turn and attempt = p_attempt and status = 'planning' for no key update;
  if not found then
    return null;
  end if;
  v_at := clock_timestamp();
  select coalesce(max(revision), 0) + 1 into v_revision from plans where turn_id = p_turn;
  insert into plans (turn_id, revision, tenant_id, format, source, document, trace, created_at)
  values (p_turn, v_revision, t.tenant_id, (p_plan ->> 'format')::smallint, p_plan ->> 'source', p_plan -> 'document', p_plan -> 'trace', v_at);
  v_early := array(select unnest(f.steps) from fragments f where f.turn_id = p_turn and f.generation = t.generation);
  perform hot.store_steps(t, v_revision, p_steps, v_at);
  if cardinality(v_early) > 0 then
    update steps set revision = v_revision where turn_id = p_turn and id = any (v_early);
    v_ended := hot.end_impossible(p_turn, t.on_error = 'fail_fast' and exists (
      select 1 from steps where turn_id = p_turn and id = any (v_early) and status = 'failed' and critical), v_at);
  end if;
  t.max_parallel := p_max_parallel;
  v_ready := hot.store_fragments(t, p_fragments, v_at);
  v_open := t.open_steps + jsonb_array_length(p_steps) - jsonb_array_length(v_ended);
  v_events := hot.store_events(t, jsonb_build_object('type', 'plan.ready', 'data', jsonb_build_object(
    'revision', v_revision, 'action', p_plan #>> '{document,action}',
    'steps', (select coalesce(jsonb_agg(jsonb_build_object('id', s.id, 'tool', s.tool, 'needs', array_remove(s.needs, s.copy_of)) order by s.position), '[]')
                from steps s where s.turn_id = p_turn and s.revision = v_revision))) || v_ended, v_at);
  update turns set status = case when v_open > 0 then 'running' else 'responding' end,
         compiled_at = v_at, open_steps = v_open, planned_at = v_at,
         responding_at = case when v_open = 0 then v_at end, placement = p_placement, max_parallel = p_max_parallel,
         action = p_plan #>> '{document,action}', synthesis_hint = p_plan #>> '{document,synthesis_hint}', usage = p_usage,
         last_event = last_event + jsonb_array_length(v_events)
   where id = p_turn;
  return jsonb_build_object(
    'generation', t.generation, 'open_steps', v_open, 'ready', to_jsonb(v_ready),
    'events', v_events);
end $$;

-- Starts the first step of a lane that is not final, if it is ready and, with `p_reads_only`, only reads; under its turn's lock.
-- Null: it is not, or the lane has ended. Out: what its executor must know.
create function hot.start_next(p_turn turns, p_lane text[], p_reads_only boolean, p_worker text, p_lease_ms int, p_at timestamptz)
returns jsonb language plpgsql as $$
declare
  s steps;
begin
  update steps x
     set status = 'running', attempt = x.attempt + 1, worker = p_worker, started_at = p_at, error = null,
         ready_at = greatest(x.not_before, coalesce(
           (select max(n.finished_at) from steps n where n.turn_id = p_turn.id and n.id = any (x.needs)), x.ready_at)),
         lease_until = p_at + make_interval(secs => p_lease_ms / 1000.0)
   where x.turn_id = p_turn.id and x.status = 'pending' and (x.effect = 'read' or not p_reads_only)
     and x.id = (select o.id from unnest(p_lane) with ordinality as lane(id, n) join steps o on o.turn_id = p_turn.id and o.id = lane.id
                  where not hot.is_final(o.status) order by n limit 1)
     and (x.not_before is null or x.not_before <= p_at)
     and not exists (select 1 from steps n where n.turn_id = p_turn.id and n.id = any (x.needs) and not hot.is_final(n.status))
  returning x.* into s;
  if not found then
    return null;
  end if;
  return jsonb_build_object(
    'id', s.id, 'tool', s.tool, 'attempt', s.attempt, 'args', s.args, 'timeout_ms', s.timeout_ms, 'effect', s.effect,
    'unsure', s.unsure, 'run_if', s.run_if, 'fallbacks', s.fallbacks, 'copy_of', s.copy_of,
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
-- or why not: closed (the turn is neither planned nor run), stale (another generation), busy (somebody holds the step), early (a need is not
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
    v_step := case when t.status in ('planning', 'running') then hot.start_next(t, v_lane, false, p_worker, p_lease_ms, v_at) end;
    if v_step is not null then
      v_claimed := v_claimed || jsonb_build_object('lane', to_jsonb(v_lane), 'step', v_step);
      v_events := v_events || hot.started(v_step, p_worker);
      continue;
    end if;
    s := hot.next_of_lane(p_turn, v_lane);
    continue when s.id is null;
    v_verdict := case when t.status not in ('planning', 'running') then 'closed' when s.status <> 'pending' then 'busy' else 'early' end;
  end loop;
  return jsonb_build_object(
    'verdict', case when jsonb_array_length(v_claimed) > 0 then 'claimed' else v_verdict end, 'claimed', v_claimed,
    'turn', jsonb_build_object('tenant_id', t.tenant_id, 'conversation_id', t.conversation_id, 'person', t.person,
                               'is_capped', t.max_parallel is not null),
    'events', hot.append_events(t, v_events, v_at));
end $$;

-- Ends what became impossible when steps ended: all that have not begun (fail_fast), or those that need a step that did not succeed.
-- A copy ends as the step that it is a copy of.
-- Out: events. The caller holds the turn's lock.
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

-- How many steps of a capped turn are under way: those that run, whatever message brought them, and those that were sent in this
-- generation and that nobody has claimed yet. One that was parked since takes no place.
create function hot.in_flight(p_turn turns) returns bigint language sql stable as $$
  select count(*) from steps s
   where s.turn_id = p_turn.id and (s.status = 'running' or (s.status = 'pending' and exists (
           select from fragments f where f.turn_id = p_turn.id and f.generation = p_turn.generation and s.id = any (f.steps)
              and f.sent_at >= coalesce(s.not_before, f.sent_at))))
$$;

-- The fragments of a capped turn that are ready and that there is a place for: their numbers, in the order of the plan.
create function hot.next_within_cap(p_turn turns) returns int[] language sql stable as $$
  select array(
    select f.number from fragments f join steps s on s.turn_id = f.turn_id and s.id = any (f.steps)
     where f.turn_id = p_turn.id and f.generation = p_turn.generation and f.sent_at is null and s.status = 'pending'
       and not exists (select 1 from steps n where n.turn_id = f.turn_id and n.id = any (f.needs) and not hot.is_final(n.status))
     order by f.number limit greatest(0, p_turn.max_parallel - hot.in_flight(p_turn)))
$$;

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
  v_next int[];
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

  if t.status in ('planning', 'running') then
    for v_lane in
      select array(select jsonb_array_elements_text(lane)) from jsonb_array_elements(p_lanes) lane where t.generation = p_generation
    loop
      v_step := hot.start_next(t, v_lane, true, p_worker, p_lease_ms, v_at);
      if v_step is null then
        s := hot.next_of_lane(p_turn, v_lane);
        continue when s.id is null;
      else
        v_events := v_events || hot.started(v_step, p_worker);
      end if;
      v_claimed := v_claimed || jsonb_build_object('lane', to_jsonb(v_lane), 'step', v_step);
    end loop;
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
        v_step := hot.start_next(t, f.steps, true, p_worker, p_lease_ms, v_at);
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
  v_last := t.status = 'running' and t.open_steps = cardinality(v_ended);
  update turns x set open_steps = x.open_steps - cardinality(v_ended), last_event = x.last_event + jsonb_array_length(v_events),
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

-- Lets a running turn rest while all that is left to do waits for a person: its deadline stands still. A step that waits for its
-- time, or that a worker is still to take, keeps the turn running. The caller holds the turn's lock.
create function hot.rest(p_turn uuid, p_at timestamptz) returns void language sql as $$
  update turns t set status = 'waiting_approval', waiting_since = p_at
   where t.id = p_turn and t.status = 'running'
     and exists (select 1 from steps s where s.turn_id = p_turn and s.status = 'waiting_approval')
     and not exists (
       select 1 from steps s
        where s.turn_id = p_turn and (s.status = 'running' or (s.status = 'pending' and not exists (
              select 1 from steps n where n.turn_id = p_turn and n.id = any (s.needs) and not hot.is_final(n.status)))))
$$;

-- Gives a claimed step back until it may be tried again, unless that is after the turn's deadline or it was given back
-- `p_most` times before. The time is counted from now: the worker's clock may be another.
-- Null: it is not given back, and the caller records the failure. Out: events.
create function hot.delay_step(p_turn uuid, p_step text, p_attempt int, p_pause_ms bigint, p_error jsonb, p_most int) returns jsonb
language plpgsql as $$
declare
  t turns;
  s steps;
  v_at timestamptz;
  v_until timestamptz;
begin
  select * into t from turns where id = p_turn and status in ('planning', 'running') for no key update;
  v_at := clock_timestamp();
  v_until := v_at + make_interval(secs => p_pause_ms / 1000.0);
  if not found or v_until >= t.deadline_at then
    return null;
  end if;
  update steps set status = 'pending', lease_until = null, not_before = v_until, parked = parked + 1, unsure = false,
         error = p_error || jsonb_build_object('retry_at', hot.rfc3339(v_until))
   where turn_id = p_turn and id = p_step and attempt = p_attempt and status = 'running' and parked < p_most
  returning * into s;
  if not found then
    return null;
  end if;
  return hot.append_events(t, jsonb_build_array(jsonb_build_object('type', 'step.retry', 'data', jsonb_build_object(
    'step', s.id, 'tool', s.tool, 'attempt', s.attempt, 'try', s.parked, 'code', p_error -> 'code', 'pause_ms', p_pause_ms))), v_at);
end $$;

-- Asks whether the call that a step is about to make is approved with these arguments; if not, the step is given back and waits.
-- `p_masked` are the arguments as events show them.
-- Verdict: approved; asked; closed (the turn does not run: the call is not to be made); fenced (the step is somebody else's).
create function hot.ask_approval(p_turn uuid, p_step text, p_attempt int, p_args jsonb, p_masked jsonb, p_args_hash text,
                                 p_timeout_ms bigint) returns jsonb
language plpgsql as $$
declare
  t turns;
  s steps;
  v_at timestamptz;
  v_lapses timestamptz;
begin
  perform 1 from conversations c
    where (c.tenant_id, c.id) = (select x.tenant_id, x.conversation_id from turns x where x.id = p_turn) for no key update;
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
           'args', p_args, 'args_hash', p_args_hash, 'asked_at', hot.rfc3339(v_at), 'lapses_at', hot.rfc3339(v_lapses))
   where turn_id = p_turn and id = p_step;
  update turns set asked = true where id = p_turn;
  perform hot.rest(p_turn, v_at);
  perform hot.append_audit(t.tenant_id, t.conversation_id, t.id, 'approval.requested', jsonb_build_object(
    'step', s.id, 'tool', s.tool, 'args_sha256', p_args_hash));
  return jsonb_build_object('verdict', 'asked', 'events', hot.append_events(t, jsonb_build_array(jsonb_build_object(
    'type', 'approval.requested', 'data', jsonb_build_object(
      'step', s.id, 'tool', s.tool, 'args', p_masked, 'args_hash', p_args_hash, 'lapses_at', hot.rfc3339(v_lapses)))), v_at));
end $$;

-- Decides what a step waits for. Without a key it lapses, if its time has come. An approved step is pending, and its time is now;
-- a rejected one has failed.
-- Null: there is no such step. Out: {status: of the step, approval, is_new: whether this call decided, events, respond: attempt or
-- null}. If it is new, the caller publishes what is ready, or the reply.
create function hot.decide_approval(p_turn uuid, p_step text, p_decision text, p_reason text, p_key uuid, p_lease_ms int)
returns jsonb language plpgsql as $$
declare
  t turns;
  s steps;
  v_at timestamptz;
  v_by text;
  v_events jsonb := '[]';
  v_respond int;
begin
  perform 1 from conversations c
    where (c.tenant_id, c.id) = (select x.tenant_id, x.conversation_id from turns x where x.id = p_turn) for no key update;
  perform 1 from turns where id = p_turn for no key update;
  v_at := clock_timestamp();
  select * into s from steps where turn_id = p_turn and id = p_step;
  if not found then
    return null;
  elsif s.status <> 'waiting_approval' or (p_key is null and s.lapses_at > v_at) then
    return jsonb_build_object('status', s.status, 'approval', s.approval, 'is_new', false, 'events', '[]'::jsonb);
  end if;
  update turns set status = 'running', deadline_at = deadline_at + (v_at - waiting_since), waiting_since = null
   where id = p_turn and status = 'waiting_approval';
  select * into t from turns where id = p_turn;
  v_by := (select name from keys where id = p_key);
  update steps set status = case p_decision when 'approve' then 'pending' else 'failed' end, lapses_at = null,
         not_before = case p_decision when 'approve' then v_at end,
         finished_at = case p_decision when 'reject' then v_at end,
         error = case p_decision when 'reject' then jsonb_build_object('code', 'REJECTED', 'message', concat_ws(': ',
           case when p_key is null then 'nobody approved it in time' else format('%s rejected it', v_by) end, p_reason)) end,
         approval = s.approval || jsonb_build_object(
           'decision', p_decision, 'reason', p_reason, 'by', v_by, 'key_id', p_key, 'decided_at', hot.rfc3339(v_at))
   where turn_id = p_turn and id = p_step returning * into s;
  if p_decision = 'reject' then
    v_events := jsonb_build_array(jsonb_build_object('type', 'step.finished', 'data', jsonb_build_object(
      'step', s.id, 'tool', s.tool, 'status', s.status, 'attempt', s.attempt, 'error', s.error)));
    v_events := v_events || hot.end_impossible(p_turn, t.on_error = 'fail_fast' and s.critical, v_at);
  end if;
  update turns set open_steps = open_steps - jsonb_array_length(v_events) where id = p_turn;
  update turns set status = 'responding', attempt = attempt + 1, responding_at = v_at,
         lease_until = v_at + make_interval(secs => p_lease_ms / 1000.0)
   where id = p_turn and open_steps = 0 returning attempt into v_respond;
  perform hot.rest(p_turn, v_at);
  perform hot.append_audit(t.tenant_id, t.conversation_id, t.id, 'approval.decided', jsonb_build_object(
    'step', s.id, 'tool', s.tool, 'args_sha256', s.approval -> 'args_hash', 'decision', p_decision, 'reason', p_reason,
    'by', v_by, 'key_id', p_key));
  return jsonb_build_object('status', s.status, 'approval', s.approval, 'is_new', true, 'respond', v_respond,
                            'events', hot.append_events(t, v_events, v_at));
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

-- Renews the leases of the steps that other processes work on: [{turn, worker}].
create function hot.renew_held(p_held jsonb, p_lease_ms int) returns void language sql as $$
  update steps s set lease_until = clock_timestamp() + make_interval(secs => p_lease_ms / 1000.0)
    from (select x.turn_id, x.id from steps x join jsonb_to_recordset(p_held) as held(turn uuid, worker text)
              on x.turn_id = held.turn and x.worker = held.worker and x.status = 'running'
             for no key update of x skip locked) free
   where s.turn_id = free.turn_id and s.id = free.id
$$;

-- Finds turns that nobody holds. Kind: plan, respond (the lease has run out), steps (a step's lease has run out; a parked
-- step's time has come since the last compilation; or a step is ready and nobody has taken it for the grace, which doubles with
-- each recovery; but on a busy queue that is only waiting, and so it is for a place within the turn's cap),
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
     exists (select 1 from steps s where s.turn_id = t.id and (
               (s.status = 'running' and s.lease_until < clock_timestamp())
               or (s.status = 'pending' and s.not_before < clock_timestamp() and s.not_before > t.compiled_at)))
     or exists (
       select 1 from steps s
        where s.turn_id = t.id and s.status = 'pending' and s.queue <> all (p_busy_queues)
          and not exists (select 1 from steps n where n.turn_id = t.id and n.id = any (s.needs) and not hot.is_final(n.status))
          and greatest(t.compiled_at, s.not_before, (select max(n.finished_at) from steps n where n.turn_id = t.id and n.id = any (s.needs)))
              < clock_timestamp() - make_interval(secs => p_grace_ms / 1000.0 * power(2, least(t.recoveries, 8)))
          and (t.max_parallel is null or coalesce(
            (select f.sent_at < clock_timestamp() - make_interval(secs => p_grace_ms / 1000.0 * power(2, least(t.recoveries, 8)))
               from fragments f where f.turn_id = t.id and f.generation = t.generation and s.id = any (f.steps)),
            hot.in_flight(t) < t.max_parallel))))
  union all
  select distinct t.id, 'effect'
    from steps s join turns t on t.id = s.turn_id
   where s.status = 'running' and s.effect <> 'read' and s.lease_until < clock_timestamp() and t.status <> 'running'
   limit p_limit
$$;

-- Takes back what was lost of a running turn and starts a new generation, whose fragments the caller compiles and stores with
-- hot.store_fragments in the same transaction. Reads run again; a lost call with an effect is `unsure`; after `p_max_attempts`
-- a step fails, because it seems to kill its workers. The steps of the process `p_gone` are lost before their leases end; if it
-- was ended because it had overrun its time, they end too.
-- Null: the turn does not run. Out: {generation, placement, max_parallel, nodes: [{id, needs, queue, tool, effect, is_pinned}], respond, events}.
-- Pinned are the steps that somebody runs, and those that are parked.
create function hot.reclaim(p_turn uuid, p_max_attempts int, p_lease_ms int, p_gone text, p_overran boolean) returns jsonb
language plpgsql as $$
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
       set status = case when not x.is_over then 'pending' when s.effect = 'read' then 'failed' else 'unknown' end,
           unsure = s.effect <> 'read', lease_until = null, finished_at = case when x.is_over then v_at end,
           error = case when x.overran then jsonb_build_object('code', 'TOOL_TIMEOUT', 'message', format(
                          '%s did not return within its %s ms, and its process was ended', s.tool, s.timeout_ms))
                        when x.is_over then jsonb_build_object('code', 'INTERNAL_ERROR', 'message', format(
                          'the worker was lost in each of %s attempts', s.attempt - s.parked)) end
      from (select y.id, o.overran, o.overran or y.attempt - y.parked >= p_max_attempts as is_over
              from steps y, lateral (select p_overran and y.worker = p_gone as overran) o
             where y.turn_id = p_turn and y.status = 'running'
               and (y.lease_until < v_at or y.worker = p_gone)) x
     where s.turn_id = p_turn and s.id = x.id
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
  elsif t.asked then
    perform hot.rest(p_turn, v_at);
  end if;
  return jsonb_build_object(
    'generation', t.generation, 'placement', t.placement, 'max_parallel', t.max_parallel, 'respond', v_respond, 'events', hot.append_events(t, v_events, v_at),
    'nodes', (select coalesce(jsonb_agg(jsonb_build_object('id', s.id, 'queue', s.queue, 'tool', s.tool, 'effect', s.effect,
                       'inline', s.inline,
                       'limit_ms', case when s.queue = 'tools.cpu' and not s.inline then s.timeout_ms * (1 + jsonb_array_length(s.fallbacks)) end,
                       'is_pinned', s.status <> 'pending' or coalesce(s.not_before > v_at, false),
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
     where s.turn_id = p_turn and s.status = 'running' and s.effect <> 'read' and s.lease_until < v_at
    returning s.*
  )
  select coalesce(jsonb_agg(jsonb_build_object('type', 'step.finished', 'data', jsonb_build_object(
           'step', id, 'tool', tool, 'status', status, 'attempt', attempt, 'error', error))), '[]') into v_events from lost;
  update turns set open_steps = open_steps - jsonb_array_length(v_events) where id = p_turn;
  return hot.append_events(t, v_events, v_at);
end $$;

-- Stores fragments of a turn's generation, under its lock. Those whose needs are all final count as sent, as many as the turn's cap
-- allows, and are the caller's to publish. Out: their numbers.
create function hot.store_fragments(p_turn turns, p_fragments jsonb, p_at timestamptz) returns int[] language plpgsql as $$
declare
  v_sent int[];
begin
  with stored as (
    insert into fragments (turn_id, generation, number, tenant_id, needs, steps, queue, inline, expression, sent_at)
    select p_turn.id, p_turn.generation, f.number, p_turn.tenant_id, f.needs, f.steps, f.queue, f.inline, f.expression,
           case when p_turn.max_parallel is null and not exists (
             select 1 from steps n where n.turn_id = p_turn.id and n.id = any (f.needs) and not hot.is_final(n.status)) then p_at end
      from jsonb_populate_recordset(null::fragments, p_fragments) f
    returning number, sent_at
  )
  select coalesce(array_agg(number order by number), '{}') into v_sent from stored where sent_at is not null;
  if p_turn.max_parallel is not null then
    v_sent := hot.next_within_cap(p_turn);
    update fragments set sent_at = p_at where turn_id = p_turn.id and generation = p_turn.generation and number = any (v_sent);
  end if;
  return v_sent;
end $$;

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

-- What a turn is answered from: of the steps that started early only those that its plan holds.
-- Null: there is no such turn. Out: the fields of models/ledger/replies.py.
create function hot.reply_material(p_turn uuid) returns jsonb language sql stable as $$
  select jsonb_build_object(
    'agent', t.agent, 'message', t.message, 'person', t.person, 'action', t.action, 'synthesis_hint', t.synthesis_hint,
    'on_error', t.on_error, 'ending', t.ending, 'usage', t.usage, 'last_event', t.last_event,
    'left_ms', greatest(0, round(extract(epoch from t.deadline_at - clock_timestamp()) * 1000)),
    'submitted', coalesce((select p.source = 'caller' from plans p where p.turn_id = t.id order by p.revision desc limit 1), false),
    'steps', (select coalesce(jsonb_agg(jsonb_build_object(
                       'id', s.id, 'tool', s.tool, 'args', s.args, 'status', s.status, 'critical', s.critical, 'result', s.result,
                       'error', s.error) order by s.revision, s.position), '[]')
                from steps s where s.turn_id = t.id
                 and (s.revision > 0 or not exists (select 1 from plans p where p.turn_id = t.id))))
    from turns t where t.id = p_turn
$$;

-- Ends a turn under its fence, with its reply, makes the conversation's next queued turn the active one, and hands to the
-- planners what its tenant's window now has room for: one commit. (A turn that was closed while it waited ends without having
-- been active: its conversation stays where it is.)
-- Null: the claim was lost. Out: {events, released: turn ids}.
create function hot.finish_turn(p_turn uuid, p_attempt int, p_status text, p_reply jsonb, p_output jsonb, p_usage jsonb, p_error jsonb,
                                p_window int)
returns jsonb language plpgsql as $$
declare
  t turns;
  r replies := jsonb_populate_record(null::replies, p_reply);
  v_at timestamptz;
  v_dropped jsonb;
  v_events jsonb;
  v_active uuid;
  v_last_sequence bigint;
  n turns;
begin
  select c.active_turn_id into v_active from conversations c
   where (c.tenant_id, c.id) = (select x.tenant_id, x.conversation_id from turns x where x.id = p_turn) for no key update;
  select * into t from turns where id = p_turn and attempt = p_attempt and status in ('planning', 'responding') for no key update;
  if not found then
    return null;
  end if;
  v_at := clock_timestamp();
  v_dropped := case when t.status = 'planning' then hot.cancel_open(p_turn, 'no plan came of it', v_at) else '[]' end;
  v_events := hot.store_events(t, v_dropped || jsonb_build_array(
    jsonb_build_object('type', 'reply.done', 'data', p_reply - 'trace'),
    jsonb_build_object('type', 'turn.' || p_status, 'data', jsonb_build_object('error', p_error)
      || case when p_status = 'superseded' then jsonb_build_object('superseded_by', t.superseded_by) else '{}' end)), v_at);
  update turns set status = p_status, output = p_output, usage = p_usage, error = p_error, finished_at = v_at, lease_until = null,
         open_steps = open_steps - jsonb_array_length(v_dropped), last_event = last_event + jsonb_array_length(v_events),
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
  if v_active = p_turn then
    select * into n from turns
     where tenant_id = t.tenant_id and conversation_id = t.conversation_id and sent_at is null and ending is null
     order by sequence nulls first, seq limit 1 for no key update;
    update conversations
       set active_turn_id = n.id, last_sequence = greatest(last_sequence, t.last_sequence), updated_at = v_at
     where tenant_id = t.tenant_id and id = t.conversation_id returning last_sequence into v_last_sequence;
    update turns set due_at = hot.due_at(n, v_last_sequence, v_at) where id = n.id;
  end if;
  return jsonb_build_object('events', v_events, 'released', hot.release(t.tenant_id, p_window));
end $$;
