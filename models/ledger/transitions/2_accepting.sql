-- Accepting a message: its turn is opened, merged or refused, and held until it is due.

-- When a turn that its conversation has come to is due: when its burst has ended and, where by its sender's count
-- messages before it are missing, when these are awaited no longer.
create function hot.due_at(p_turn turns, p_last_sequence bigint, p_at timestamptz)
returns timestamptz language sql immutable as $$
  select greatest(p_at, p_turn.settles_at, case when p_turn.sequence > p_last_sequence + 1 then p_turn.awaits_until end)
$$;

-- The limits of a tenant that say how many of its turns are handed to the planners: the deployment's `p_windows`
-- {window, user_window, batch_window}, or those of its own. 0: any number.
create function hot.windows(p_tenant uuid, p_windows jsonb) returns jsonb language plpgsql stable as $$
begin
  return p_windows || (select limits from tenants where id = p_tenant);
end $$;

-- The line that a turn waits in: that of its tenant, class and user. Who is not named is known by the conversation.
create function hot.line_of(p_turn turns) returns bigint language sql stable as $$
  select hashtextextended(p_turn.tenant_id::text || p_turn.priority || coalesce(
           'user ' || (p_turn.person ->> 'id'), 'conversation ' || p_turn.conversation_id), 0)
$$;

-- How many more turns of a line may wait for their tenant's window, or be out. Null: any number.
-- Nothing is locked, so that a few too many may be out where several processes count at once; the same holds of
-- hot.handed_out. Their order is that of the index: without it Postgres, which takes a long backlog for as many turns
-- sent, would rather read the table until it has enough. And one plan serves every window: to plan anew for each costs
-- ten times what the counting does. Who calls from outside sees to both. A line is asked for as a range, because what
-- is equal has every order: to Postgres, while by its statistics nothing is in work, the index of all that is looks as
-- good.
create function hot.line_room(p_line bigint, p_user_window int) returns int language plpgsql as $$
begin
  return case when p_user_window > 0 then p_user_window - (select count(*) from (
    select from turns where line >= p_line and line <= p_line
                        and status in ('queued', 'planning', 'running', 'responding') and lined_up_at is not null
     order by line limit p_user_window) taken) end;
end $$;

-- How many turns of a tenant and class are handed to the planners. Counts at most `p_most`. Without sorting, which the
-- functions called from outside switch off, only the index has their order; to Postgres, while it has no statistics, an
-- index of all of the tenant's turns looks as good.
create function hot.handed_out(p_tenant uuid, p_priority text, p_most int) returns int language plpgsql as $$
begin
  return (select count(*) from (
    select from turns where tenant_id = p_tenant and status in ('queued', 'planning', 'running', 'responding')
                        and sent_at is not null and priority = p_priority
     order by status, sent_at limit p_most) handed_out);
end $$;

-- How many more turns of a tenant and class may be handed to the planners. Null: any number. Batch turns have a window
-- of their own; of that they keep one place while the interactive ones fill theirs.
create function hot.room(p_tenant uuid, p_priority text, p_windows jsonb) returns int language plpgsql as $$
declare
  v_window int := (p_windows ->> 'window')::int;
begin
  if p_priority = 'batch' then
    v_window := case when v_window > 0 and hot.handed_out(p_tenant, 'interactive', v_window) = v_window then 1
                     else (p_windows ->> 'batch_window')::int end;
  end if;
  return case when v_window > 0 then v_window - hot.handed_out(p_tenant, p_priority, v_window) end;
end $$;

-- Gives a turn that is due its place: out with the planners where there is room; else in its tenant's line, if its user
-- has room there; else it waits for its user. The caller writes the row.
create function hot.place(t turns, p_windows jsonb, p_at timestamptz) returns turns language plpgsql as $$
declare
  w jsonb := hot.windows(t.tenant_id, p_windows);
begin
  t.line := hot.line_of(t);
  if coalesce(hot.line_room(t.line, (w ->> 'user_window')::int) > 0, true) then
    t.lined_up_at := p_at;
    t.sent_at := case when coalesce(hot.room(t.tenant_id, t.priority, w) > 0, true) then p_at end;
  end if;
  return t;
end $$;

-- Puts the turns that wait for their user, the one that is due longest first, at the end of their tenant's line, as far
-- as the user has room there. `p_windows`: the tenant's. As in hot.release_class, nothing reads all of them.
create function hot.line_up(p_line bigint, p_windows jsonb) returns void language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_sort = off as $$
declare
  v_next uuid[];
begin
  perform from turns where line = p_line and sent_at is null and ending is null and lined_up_at is null
    order by due_at limit 1;
  if not found then
    return;
  end if;
  v_next := array(
    select id from turns where line = p_line and sent_at is null and ending is null and lined_up_at is null
     order by due_at limit least(hot.line_room(p_line, (p_windows ->> 'user_window')::int), 500)
       for no key update skip locked);
  update turns set lined_up_at = clock_timestamp() where id = any (v_next);
end $$;

-- Hands a class of a tenant's turns to the planners, in the order of its line, as far as there is room.
-- Who holds a turn's lock may be about to change when it is due, so such a turn is left for the next time: to wait,
-- with turns of many conversations locked, could be a deadlock. Postgres does not know how few are wanted: it must not
-- sort the whole line, nor join with all of the tenant's turns. Out: their ids.
create function hot.release_class(p_tenant uuid, p_priority text, p_windows jsonb) returns uuid[] language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_sort = off as $$
declare
  v_first uuid[];
begin
  v_first := array(
    select id from turns where tenant_id = p_tenant and priority = p_priority and sent_at is null and ending is null
                           and lined_up_at is not null
     order by lined_up_at limit least(hot.room(p_tenant, p_priority, p_windows), 500) for no key update skip locked);
  update turns set sent_at = clock_timestamp() where id = any (v_first) and tenant_id = p_tenant;
  return v_first;
end $$;

-- Lets the next turns of these lines join their tenant's, and hands the tenant's turns to the planners as far as its
-- windows have room. Whether there is a line is asked in its order, for the reason of hot.handed_out.
-- Out: their ids, which are the caller's to dispatch.
create function hot.release(p_tenant uuid, p_windows jsonb, p_lines bigint[]) returns uuid[] language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_sort = off as $$
declare
  w jsonb := hot.windows(p_tenant, p_windows);
begin
  perform hot.line_up(line, w) from unnest(p_lines) line where line is not null;
  perform from turns where tenant_id = p_tenant and sent_at is null and ending is null and lined_up_at is not null
    order by priority, lined_up_at limit 1;
  if not found then
    return '{}';
  end if;
  return hot.release_class(p_tenant, 'interactive', w) || hot.release_class(p_tenant, 'batch', w);
end $$;

-- Finds users that have room although none of their turns has just ended: a turn began to wait for a person, the limit
-- was raised, or two commits counted at once. A hundred of those whose turns wait are looked at, from any place on.
create function hot.line_up_missed(p_windows jsonb) returns void language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_first bigint := ((random() - 0.5) * 1.8e19)::bigint;
  v_line bigint := v_first;
  v_tenant uuid;
  v_is_round boolean := false;
begin
  for place in 1..100 loop
    select line, tenant_id into v_line, v_tenant from turns
     where sent_at is null and ending is null and lined_up_at is null and line > v_line order by line limit 1;
    if not found and not v_is_round then
      v_is_round := true;
      select line, tenant_id into v_line, v_tenant from turns
       where sent_at is null and ending is null and lined_up_at is null and line is not null order by line limit 1;
    end if;
    exit when not found or (v_is_round and v_line > v_first);
    perform hot.line_up(v_line, hot.windows(v_tenant, p_windows));
  end loop;
end $$;

-- Gives the turns whose time has come their places. Out: the ids of those that are out with the planners.
create function hot.place_due(p_windows jsonb) returns setof uuid language plpgsql as $$
declare
  v_at timestamptz := clock_timestamp();
  t turns;
begin
  for t in select * from turns
            where sent_at is null and ending is null and line is null and due_at <= v_at
            order by due_at limit 500 for no key update skip locked loop
    t := hot.place(t, p_windows, v_at);
    update turns set line = t.line, lined_up_at = t.lined_up_at, sent_at = t.sent_at
     where id = t.id and tenant_id = t.tenant_id;
    if t.sent_at is not null then
      return next t.id;
    end if;
  end loop;
end $$;

-- The same as hot.release for all tenants, and for turns that are due by now; only one process at a time does so.
-- Out: the ids of the turns that are the caller's to dispatch.
create function hot.release_due(p_windows jsonb) returns setof uuid language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_sort = off as $$
declare
  v_tenant uuid := '00000000-0000-0000-0000-000000000000';
begin
  if not pg_try_advisory_xact_lock(hashtext('turnloom.release')) then
    return;
  end if;
  perform hot.line_up_missed(p_windows);
  loop
    select tenant_id into v_tenant from turns
     where sent_at is null and ending is null and lined_up_at is not null and tenant_id > v_tenant
     order by tenant_id limit 1;
    exit when not found;
    return query select unnest(hot.release(v_tenant, p_windows, '{}'));
  end loop;
  return query select hot.place_due(p_windows);
end $$;

-- Lets the conversation's active turn wait behind a message that its sender had written before it, if no planner has
-- claimed it; a message about it that is under way then starts nothing. The caller holds the conversation's lock.
create function hot.step_aside(p_active uuid, p_sequence bigint) returns boolean language plpgsql as $$
begin
  update turns set due_at = null, line = null, lined_up_at = null, sent_at = null
   where id = p_active and status = 'queued' and sequence > p_sequence;
  return found;
end $$;

-- Decides what a message does to the turn that its conversation is busy with, under the conversation's lock. `auto`
-- asks what has happened: nothing yet, or another turn waits: merge; a call with an effect is under way or may have
-- been made, or the message was written before that turn's: enqueue; otherwise interrupt.
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

-- Whether a message may become a part of a turn, by its sender's count. A caller of the API counts without gaps. What a
-- channel's messages carry is sparse, or nothing: any of them has its place among the others.
create function hot.may_join(p_message turns, p_turn turns) returns boolean language sql immutable as $$
  select p_message.channel <> 'api' or p_message.sequence is not distinct from p_turn.last_sequence + 1
$$;

-- The turn that a message would become a part of: of those that no planner has claimed, the last one that begins before
-- the message by its sender's count, or else the first; where nobody counts, the last one.
create function hot.turn_to_join(p_active uuid, p_turn turns) returns uuid language sql stable as $$
  select q.id
    from (select id, sequence, seq from turns where id = p_active and status = 'queued'
          union all
          select x.id, x.sequence, x.seq
            from turns a join turns x on x.tenant_id = a.tenant_id and x.conversation_id = a.conversation_id
                                     and x.sent_at is null and x.ending is null
           where a.id = p_active) q
   order by coalesce(q.sequence <= p_turn.sequence, true) desc, abs(q.sequence - p_turn.sequence) nulls last,
            q.sequence desc nulls last, q.seq desc
   limit 1
$$;

-- A turn's messages with one more among them: before the first that its sender has written later, or else at the end.
create function hot.with_message(p_turn turns, p_message turns, out message text, out pieces jsonb)
language plpgsql stable as $$
declare
  v_before int;  -- how many pieces stay before it, and how many characters these take
  v_length int;
begin
  pieces := hot.pieces(p_turn);
  select coalesce(min(piece.n) filter (where (piece.value ->> 'sequence')::bigint > p_message.sequence) - 1, count(*))
    into v_before from jsonb_array_elements(pieces) with ordinality piece(value, n);
  select coalesce(sum((piece.value ->> 'length')::int + 1), 0)
    into v_length from jsonb_array_elements(pieces) with ordinality piece(value, n) where piece.n <= v_before;
  message := case when v_before = jsonb_array_length(pieces) then p_turn.message || E'\n' || p_message.message
                  else overlay(p_turn.message placing p_message.message || E'\n' from v_length + 1 for 0) end;
  pieces := jsonb_insert(pieces, array[v_before::text], jsonb_build_object(
    'sequence', p_message.sequence, 'length', char_length(p_message.message), 'message_id', p_message.message_id));
end $$;

-- Folds a message into a turn of its conversation that no planner has claimed, if that one asks for the same (agent,
-- mode, language model, manner, callback, no plan of the caller's), its sender's count allows it, there is room: 8000
-- characters, as in one message. Further messages are awaited for another burst window, until four of them have passed
-- since the first; it is given its place when it is due. It is a batch turn only if all its messages are: the classes'
-- names are in the order of their rank. Out: that turn, or null.
create function hot.merge_message(p_active uuid, p_turn turns, p_burst_ms int) returns turns language plpgsql as $$
declare
  t turns;
  v_window interval := make_interval(secs => nullif(p_burst_ms, 0) / 1000.0);
  v_settles_at timestamptz := clock_timestamp() + v_window;
begin
  update turns x
     set (message, pieces) = (select w.message, w.pieces from hot.with_message(x, p_turn) w),
         sequence = least(x.sequence, p_turn.sequence), last_sequence = greatest(x.last_sequence, p_turn.sequence),
         callback_url = coalesce(x.callback_url, p_turn.callback_url),
         settles_at = greatest(x.settles_at, least(v_settles_at, x.created_at + 4 * v_window)),
         due_at = case when x.due_at is not null then
                    greatest(x.due_at, least(v_settles_at, x.created_at + 4 * v_window)) end,
         priority = greatest(x.priority, p_turn.priority),
         line = case when x.sent_at is not null or (v_window is null and p_turn.priority <= x.priority) then x.line end,
         lined_up_at = case when x.sent_at is not null or (v_window is null and p_turn.priority <= x.priority)
                         then x.lined_up_at end
   where x.id = hot.turn_to_join(p_active, p_turn) and x.status = 'queued'
     and x.submitted_plan is null and p_turn.submitted_plan is null
     and hot.may_join(p_turn, x)
     and coalesce(p_turn.agent, x.agent) = x.agent and coalesce(p_turn.mode, x.mode) is not distinct from x.mode
     and coalesce(p_turn.llm, x.llm) is not distinct from x.llm
     and (p_turn.callback_url = x.callback_url) is not false
     and p_turn.manner is not distinct from x.manner
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

-- Two posts of one message may come with different (new) conversations: this lock, not a row, is what they share.
create function hot.message_lock(p_turn turns) returns bigint language sql stable as $$
  select hashtextextended(concat_ws('|', p_turn.tenant_id, p_turn.channel, p_turn.message_id), 0)
$$;

-- Whether a message can be opened now without waiting for anybody: neither it nor a change of it nor its conversation,
-- which has no active turn, is in somebody else's hands. If so, they are in the caller's.
create function hot.is_free(p_turn turns, p_item jsonb) returns boolean language plpgsql as $$
begin
  if p_turn.message_id is not null and not pg_try_advisory_xact_lock(hot.message_lock(p_turn)) then
    return false;
  elsif p_item ->> 'reference' is not null and not pg_try_advisory_xact_lock(hot.reference_lock(p_item)) then
    return false;
  end if;
  perform from conversations
    where tenant_id = p_turn.tenant_id and id = p_turn.conversation_id and active_turn_id is null
      for no key update skip locked;
  return found or not exists (
    select from conversations where tenant_id = p_turn.tenant_id and id = p_turn.conversation_id);
end $$;

-- What opening a turn has come to.
-- Outcome: opened; merged (into the turn that is told); repeated or mismatched (this message id came before, with the
-- same or another body); full (it did not, and the backlog, or its user's, has no room); busy; moved (the conversation
-- has more turns than the message's sender knew); deleted (by its sender, before it came); later (hot.is_free).
-- `is_sent`: the turn is the caller's to dispatch. `closed` is what hot.close_turn says of the turn that this one takes
-- the place of, or of this one, where a person writes in its conversation.
create type hot.opened as (outcome text, turn_id uuid, conversation_id text, seq int, is_sent boolean, closed jsonb);

-- What has come of a message before. The outcome is null where it is new. The caller holds hot.message_lock.
-- Nothing is joined, and the turn is asked for in an order that only its unique index has: to Postgres, while it has no
-- statistics, to read all of the tenant's turns looks as good, and each message would.
create function hot.known_message(p_tenant uuid, p_channel text, p_message_id text, p_body_hash bytea)
returns hot.opened language plpgsql as $$
declare
  o hot.opened;
  v_body_hash bytea;
begin
  select y.id, y.body_hash into o.turn_id, v_body_hash from turns y
   where y.tenant_id = p_tenant and (y.channel, y.message_id) >= (p_channel, p_message_id)
     and (y.channel, y.message_id) <= (p_channel, p_message_id) order by y.channel, y.message_id limit 1;
  if not found then
    select m.turn_id, m.body_hash into o.turn_id, v_body_hash from merged_messages m
     where m.tenant_id = p_tenant and m.channel = p_channel and m.message_id = p_message_id;
  end if;
  if o.turn_id is not null then
    o.outcome := case when v_body_hash = p_body_hash then 'repeated' else 'mismatched' end;
    o.is_sent := false;
    select x.conversation_id, x.seq into o.conversation_id, o.seq from turns x where x.id = o.turn_id;
  end if;
  return o;
end $$;

-- Lets the batch turns of a conversation that are not handed to the planners yet count as interactive, because an
-- interactive one is to wait behind them. The caller holds the conversation's lock.
create function hot.hasten(p_turn turns) returns void language sql as $$
  update turns set priority = 'interactive', line = null, lined_up_at = null
   where tenant_id = p_turn.tenant_id and conversation_id = p_turn.conversation_id
     and sent_at is null and ending is null and priority = 'batch'
$$;

-- Whether as many turns of a message's user as may be wait for the user's others. `p_most`: how many may; null: any
-- number, and none is counted. Without sorting, for the reason of hot.handed_out.
create function hot.is_crowded(p_turn turns, p_most int) returns boolean language plpgsql as $$
declare
  t turns := p_turn;
begin
  if p_most is null then
    return false;
  elsif t.person ->> 'id' is null then
    select coalesce(c.person, '{}') into t.person from conversations c
     where c.tenant_id = t.tenant_id and c.id = t.conversation_id;
  end if;
  return t.person ->> 'id' is not null and p_most <= (select count(*) from (
    select from turns x where x.line = hot.line_of(t) and x.sent_at is null and x.ending is null
                          and x.lined_up_at is null order by x.due_at limit p_most) behind);
end $$;

-- Brings a message to a conversation that is busy with a turn, and whose lock the caller holds. The outcome is null
-- where a turn is to be opened.
create function hot.meet_active(p_active uuid, p_turn turns, p_new jsonb, p_lease_ms int)
returns hot.opened language plpgsql as $$
declare
  o hot.opened;
  v_merged turns;
  v_policy text := hot.choose_policy(p_turn.on_busy, p_active, p_turn.sequence);
begin
  if v_policy = 'reject' then
    return ('busy', null, p_turn.conversation_id, null, false, null)::hot.opened;
  elsif v_policy = 'merge' then
    v_merged := hot.merge_message(p_active, p_turn, (p_new ->> 'burst_ms')::int);
    if v_merged.id is not null then
      if p_new ? 'item' then
        perform hot.keep_item(p_new -> 'item', v_merged.id);
      end if;
      return ('merged', v_merged.id, p_turn.conversation_id, v_merged.seq, false, null)::hot.opened;
    end if;
  elsif v_policy in ('interrupt', 'rollback') then
    o.closed := hot.close_turn(p_active, 'superseded', p_turn.id, p_lease_ms);
  end if;
  if p_turn.priority = 'interactive' then
    perform hot.hasten(p_turn);
  end if;
  return o;
end $$;

-- Writes a conversation as a message to an agent leaves it, with the audit record of the message. One that has no
-- `created_at` is new. False: somebody else has made it meanwhile.
create function hot.receive(c conversations, p_turn uuid, p_agent text, p_message text, p_at timestamptz)
returns boolean language plpgsql as $$
declare
  v_content jsonb := jsonb_build_object(
    'seq', c.last_seq, 'agent', p_agent,
    'message_sha256', encode(sha256(convert_to(p_message, 'UTF8')), 'hex'));
  v_digest bytea := sha256(convert_to(v_content::text, 'UTF8'));
begin
  c.audit_seq := coalesce(c.audit_seq, 0) + 1;
  c.audit_hash := hot.audit_hash(c.tenant_id, c.id, c.audit_seq, p_turn, 'turn.received', p_at, v_digest,
                                 coalesce(c.audit_hash, ''));
  if c.created_at is null then
    insert into conversations (tenant_id, id, channel, agent, person, past, summary_seq, last_seq, active_turn_id,
                               audit_seq, audit_hash, created_at, updated_at)
    values (c.tenant_id, c.id, c.channel, c.agent, c.person, c.past, c.summary_seq, c.last_seq, c.active_turn_id,
            c.audit_seq, c.audit_hash, p_at, p_at)
    on conflict (tenant_id, id) do nothing;
    if not found then
      return false;
    end if;
  else
    update conversations x
       set last_seq = c.last_seq, last_sequence = c.last_sequence, active_turn_id = c.active_turn_id,
           person = c.person, audit_seq = c.audit_seq, audit_hash = c.audit_hash, updated_at = p_at
     where x.tenant_id = c.tenant_id and x.id = c.id;
  end if;
  insert into audit (tenant_id, conversation_id, seq, turn_id, kind, content, digest, hash, at)
  values (c.tenant_id, c.id, c.audit_seq, p_turn, 'turn.received', v_content, v_digest, c.audit_hash, p_at);
  return true;
end $$;

-- Stores a turn that its conversation has counted, with its first event, and decides when it is due. Out: whether it is
-- the caller's to dispatch.
create function hot.store_turn(t turns, p_new jsonb, p_is_active boolean, p_last_sequence bigint, p_windows jsonb,
                               p_at timestamptz)
returns boolean language plpgsql as $$
begin
  t.settles_at := p_at + make_interval(secs => nullif((p_new ->> 'burst_ms')::int, 0) / 1000.0);
  t.awaits_until := case when t.sequence is not null then
                      p_at + make_interval(secs => (p_new ->> 'order_ms')::int / 1000.0) end;
  if p_is_active then
    t.due_at := hot.due_at(t, p_last_sequence, p_at);
    if t.due_at = p_at then
      t := hot.place(t, p_windows, p_at);
    end if;
  end if;
  insert into turns (id, tenant_id, conversation_id, seq, sequence, last_sequence, channel, message_id, body_hash,
                     agent, mode, llm, manner, transcript_digest, on_error, on_busy, message, person, extra,
                     callback_url, submitted_plan, status, priority, last_event, deadline_at, settles_at, awaits_until,
                     due_at, line, lined_up_at, sent_at, created_at)
  values (t.id, t.tenant_id, t.conversation_id, t.seq, t.sequence, t.sequence, t.channel, t.message_id, t.body_hash,
          t.agent, t.mode, t.llm, t.manner, t.transcript_digest, t.on_error, t.on_busy, t.message, t.person, t.extra,
          t.callback_url, t.submitted_plan, 'queued', t.priority, 1,
          p_at + make_interval(secs => (p_new ->> 'deadline_ms')::int / 1000.0), t.settles_at, t.awaits_until, t.due_at,
          t.line, t.lined_up_at, t.sent_at, p_at);
  insert into turn_events (turn_id, seq, tenant_id, type, data, at)
  values (t.id, 1, t.tenant_id, 'turn.queued', jsonb_build_object('conversation_id', t.conversation_id, 'seq', t.seq),
          p_at);
  if p_new ? 'item' then
    perform hot.keep_item(p_new -> 'item', t.id);
  end if;
  return t.sent_at is not null;
end $$;

-- The conversation that a message opens, with the exchanges that came with it. Its summary covers none of them.
create function hot.new_conversation(p_turn turns, p_new jsonb) returns conversations language plpgsql as $$
declare
  c conversations;
begin
  c.tenant_id := p_turn.tenant_id;
  c.id := p_turn.conversation_id;
  c.channel := p_turn.channel;
  c.agent := coalesce(p_turn.agent, p_new ->> 'default_agent');
  c.past := coalesce(p_new -> 'past', '[]');
  c.summary_seq := - jsonb_array_length(c.past);
  return c;
end $$;

-- Opens a turn in a conversation in which a person writes, and whose lock the caller holds: it is recorded and closed
-- at once, so that it is not planned and waits for nothing, whatever the conversation is still busy with.
create function hot.open_paused(c conversations, t turns, p_new jsonb, p_lease_ms int)
returns hot.opened language plpgsql as $$
declare
  v_at timestamptz := clock_timestamp();
begin
  c.last_seq := c.last_seq + 1;
  c.last_sequence := greatest(c.last_sequence, t.sequence);
  c.person := case when t.person <> '{}' then t.person else c.person end;
  t.seq := c.last_seq;
  t.agent := coalesce(t.agent, c.agent);
  t.person := c.person;
  perform hot.receive(c, t.id, t.agent, t.message, v_at);
  perform hot.store_turn(t, p_new, false, 0, '{}', v_at);
  return ('opened', t.id, c.id, t.seq, false, hot.close_turn(t.id, 'paused', null, p_lease_ms))::hot.opened;
end $$;

-- Opens a turn. `p_new` holds the fields of the request as columns of `turns`, and beside them those of NewTurn; a
-- channel's message has an `item` for hot.keep_item.
-- Who opens several in one transaction, in the order of their conversations, may not wait: what is not free has the
-- outcome `later`. Every row is written once, with all that comes with it: this is what a message costs.
create function hot.open_turn(p_new jsonb, p_lease_ms int, p_windows jsonb, p_may_wait boolean)
returns hot.opened language plpgsql as $$
declare
  t turns := jsonb_populate_record(null::turns, p_new);
  o hot.opened;
begin
  if not p_may_wait and not hot.is_free(t, p_new -> 'item') then
    return ('later', null, t.conversation_id, null, false, null)::hot.opened;
  end if;
  if t.message_id is not null then
    perform pg_advisory_xact_lock(hot.message_lock(t));
    o := hot.known_message(t.tenant_id, t.channel, t.message_id, t.body_hash);
  end if;
  if o.outcome is not null then
    return o;
  elsif not (p_new ->> 'may_open')::boolean or hot.is_crowded(t, (p_new ->> 'user_backlog')::int) then
    return ('full', null, t.conversation_id, null, false, null)::hot.opened;
  elsif p_new -> 'item' ->> 'reference' is not null then
    t := hot.with_early_change(t, p_new -> 'item');
    if t.message is null then
      return ('deleted', null, t.conversation_id, null, false, null)::hot.opened;
    end if;
  end if;
  return hot.add_turn(t, p_new, p_lease_ms, p_windows);
end $$;

-- Adds a turn to its conversation, or its message to a turn that waits there. The caller has found that it is new.
create function hot.add_turn(t turns, p_new jsonb, p_lease_ms int, p_windows jsonb)
returns hot.opened language plpgsql as $$
declare
  c conversations;
  o hot.opened;
  v_at timestamptz;
begin
  -- A second round is for whoever finds no conversation and then loses the race to make it.
  loop
    select * into c from conversations x where x.tenant_id = t.tenant_id and x.id = t.conversation_id for no key update;
    if not found then
      c := hot.new_conversation(t, p_new);
    elsif c.last_seq <> (p_new ->> 'after_seq')::int then
      return ('moved', null, t.conversation_id, null, false, null)::hot.opened;
    elsif c.paused_at is not null then
      return hot.open_paused(c, t, p_new, p_lease_ms);
    elsif c.active_turn_id is not null then
      o := hot.meet_active(c.active_turn_id, t, p_new, p_lease_ms);
      if o.outcome is not null then
        return o;
      end if;
      -- What that has cancelled is audited.
      select * into c from conversations x where x.tenant_id = t.tenant_id and x.id = t.conversation_id;
    end if;
    v_at := clock_timestamp();
    c.last_seq := coalesce(c.last_seq, 0) + 1;
    c.person := case when c.person is null or t.person <> '{}' then t.person else c.person end;
    if c.active_turn_id is null or (t.sequence is not null and hot.step_aside(c.active_turn_id, t.sequence)) then
      c.active_turn_id := t.id;
    end if;
    exit when hot.receive(c, t.id, coalesce(t.agent, c.agent), t.message, v_at);
  end loop;
  t.seq := c.last_seq;
  t.agent := coalesce(t.agent, c.agent);
  t.person := c.person;
  return ('opened', t.id, c.id, t.seq, hot.store_turn(t, p_new, c.active_turn_id = t.id, coalesce(c.last_sequence, 0),
                                                      p_windows, v_at), o.closed)::hot.opened;
end $$;

-- Opens turns: [`p_new` of hot.open_turn], in the order of their conversations.
create function hot.open_turns(p_turns jsonb, p_lease_ms int, p_windows jsonb, p_may_wait boolean)
returns setof hot.opened language sql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_sort = off as $$
  select o.* from jsonb_array_elements(p_turns) new, hot.open_turn(new, p_lease_ms, p_windows, p_may_wait) o
$$;
