-- Takeover: a person writes in a conversation in place of its agent. While it is paused, turns are recorded and not
-- answered. What the person writes is a turn of its own, final at once, without a message of the user's.

-- Whether a conversation was erased, and nobody has written in it since.
create function hot.is_blank(c conversations) returns boolean language sql immutable as $$
  select coalesce(c.erased_at >= c.updated_at, false)
$$;

-- Withholds the parts of an agent's replies that nobody has begun to send, or that were not taken yet. The caller holds
-- the conversation's lock. Out: how many.
create function hot.withhold_replies(p_tenant uuid, p_conversation text, p_at timestamptz)
returns int language plpgsql as $$
declare
  v_withheld int;
begin
  update deliveries d
     set status = 'withheld', due_at = null, not_before = null, finished_at = p_at, error = jsonb_build_object(
           'code', 'paused', 'message', 'a person took the conversation over before it was sent')
   where d.tenant_id = p_tenant and d.conversation_id = p_conversation and d.status = 'pending'
     and d.lease_until is null and not d.unsure
     and not exists (select from turns t where t.id = d.turn_id and t.author is not null);
  get diagnostics v_withheld = row_count;
  return v_withheld;
end $$;

-- Pauses a conversation: its open turns are closed, and what is still to be sent of its replies is withheld.
-- Null: there is no such conversation. Out: {outcome: paused, unchanged (it was paused before) or erased, closed: [what
-- hot.close_turn says of each turn]}. The caller has the closed turns answered.
create function hot.pause_conversation(p_tenant uuid, p_conversation text, p_key uuid, p_by text, p_lease_ms int)
returns jsonb language plpgsql as $$
declare
  c conversations;
  t record;
  v_at timestamptz;
  v_who jsonb := hot.who(p_key, p_by);
  v_closed jsonb := '[]';
begin
  select * into c from conversations where tenant_id = p_tenant and id = p_conversation for no key update;
  if not found then
    return null;
  elsif c.paused_at is not null or hot.is_blank(c) then
    return jsonb_build_object('outcome', case when c.paused_at is null then 'erased' else 'unchanged' end,
                              'closed', v_closed);
  end if;
  v_at := clock_timestamp();
  for t in
    select id, last_sequence from turns
     where tenant_id = p_tenant and conversation_id = p_conversation and finished_at is null order by seq
  loop
    v_closed := v_closed || hot.close_turn(t.id, 'paused', null, p_lease_ms);
    c.last_sequence := greatest(c.last_sequence, t.last_sequence);
  end loop;
  -- What that has cancelled is audited.
  select audit_seq, audit_hash into c.audit_seq, c.audit_hash from conversations
   where tenant_id = p_tenant and id = p_conversation;
  c := hot.store_audit(c, null, 'conversation.paused', v_who || jsonb_build_object(
    'closed', jsonb_array_length(v_closed), 'withheld', hot.withhold_replies(p_tenant, p_conversation, v_at)), v_at);
  update conversations
     set paused_at = v_at, paused_by = v_who ->> 'by', last_sequence = c.last_sequence, updated_at = v_at,
         audit_seq = c.audit_seq, audit_hash = c.audit_hash
   where tenant_id = p_tenant and id = p_conversation;
  return jsonb_build_object('outcome', 'paused', 'closed', v_closed);
end $$;

-- Lets the agent answer again, from the next message on. Null: there is no such conversation. Out: whether it was
-- paused.
create function hot.resume_conversation(p_tenant uuid, p_conversation text, p_key uuid, p_by text)
returns boolean language plpgsql as $$
declare
  c conversations;
  v_at timestamptz;
begin
  select * into c from conversations where tenant_id = p_tenant and id = p_conversation for no key update;
  if not found then
    return null;
  elsif c.paused_at is null then
    return false;
  end if;
  v_at := clock_timestamp();
  c := hot.store_audit(c, null, 'conversation.resumed', hot.who(p_key, p_by), v_at);
  update conversations
     set paused_at = null, paused_by = null, updated_at = v_at, audit_seq = c.audit_seq, audit_hash = c.audit_hash
   where tenant_id = p_tenant and id = p_conversation;
  return true;
end $$;

-- Stores what a person writes as a turn that is final, with its events and its reply. It counts as sent to the
-- planners, because it waits for none.
create function hot.store_written(t turns, p_text text, p_at timestamptz) returns void language plpgsql as $$
declare
  v_reply jsonb := jsonb_build_object('text', p_text, 'artifacts', '[]'::jsonb, 'question', null, 'grounded', null,
                                      'sources', '[]'::jsonb, 'suggestions', '[]'::jsonb);
  v_events jsonb;
begin
  t.last_event := 0;
  v_events := hot.store_events(t, jsonb_build_array(
    jsonb_build_object('type', 'turn.queued', 'data', jsonb_build_object(
      'conversation_id', t.conversation_id, 'seq', t.seq)),
    jsonb_build_object('type', 'reply.done', 'data', v_reply),
    jsonb_build_object('type', 'turn.succeeded', 'data', jsonb_build_object('error', null))), p_at);
  insert into turns (id, tenant_id, conversation_id, seq, channel, message_id, body_hash, agent, on_error, on_busy,
                     message, person, extra, author, status, last_event, deadline_at, sent_at, created_at, finished_at)
  values (t.id, t.tenant_id, t.conversation_id, t.seq, t.channel, t.message_id, t.body_hash, t.agent, 'best_effort',
          'auto', '', '{}', '{}', t.author, 'succeeded', hot.count_events(v_events), p_at, p_at, p_at, p_at);
  insert into replies (turn_id, tenant_id, text, artifacts, sources, trace, created_at)
  values (t.id, t.tenant_id, p_text, '[]', '[]', '{"written_by": "person"}', p_at);
end $$;

-- Where the next message to the person of a channel's conversation goes. Null: nobody has written, or it was erased.
create function hot.recipient_of(c conversations) returns text language plpgsql stable as $$
begin
  return (select i.recipient from channel_items i
           where i.tenant_id = c.tenant_id and i.conversation_id = c.id and i.kind = 'message'
           order by i.at desc, i.id desc limit 1);
end $$;

-- What has come of a person's message before: {outcome: repeated or mismatched, turn_id, seq}; null where it is new.
-- The caller holds the conversation's lock.
create function hot.known_written(t turns) returns jsonb language plpgsql stable as $$
begin
  return (select jsonb_build_object(
                   'outcome', case when x.body_hash = t.body_hash then 'repeated' else 'mismatched' end,
                   'turn_id', x.id, 'seq', x.seq, 'deliver', false)
            from turns x where x.tenant_id = t.tenant_id and x.channel = t.channel and x.message_id = t.message_id);
end $$;

-- Records what a person writes in a conversation, and puts it into the outbox if the conversation has a channel.
-- `p_written`: {id, tenant_id, conversation_id, author, message, message_id, body_hash}. Its message id counts within
-- the conversation, and apart from those of users: theirs hold no spaces.
-- Null: there is no such conversation. Out: {outcome: written, repeated, mismatched, erased, or unreachable (nobody has
-- written on the channel), turn_id, seq, deliver: whether it is the caller's to have it sent}.
create function hot.write_message(p_written jsonb, p_key uuid, p_by text) returns jsonb language plpgsql as $$
declare
  t turns := jsonb_populate_record(null::turns, p_written);
  c conversations;
  v_who jsonb := hot.who(p_key, p_by);
  v_at timestamptz;
  v_recipient text;
begin
  select * into c from conversations where tenant_id = t.tenant_id and id = t.conversation_id for no key update;
  if not found then
    return null;
  end if;
  t.channel := c.channel;
  t.message_id := 'person ' || c.id || ' ' || t.message_id;
  if t.message_id is not null and hot.known_written(t) is not null then
    return hot.known_written(t);
  end if;
  v_recipient := case when c.channel <> 'api' then hot.recipient_of(c) end;
  if hot.is_blank(c) or (c.channel <> 'api' and v_recipient is null) then
    return jsonb_build_object('outcome', case when hot.is_blank(c) then 'erased' else 'unreachable' end);
  end if;
  v_at := clock_timestamp();
  t.seq := c.last_seq + 1;
  t.agent := c.agent;
  t.author := coalesce(t.author, v_who ->> 'by');
  perform hot.store_written(t, t.message, v_at);
  if v_recipient is not null then
    insert into deliveries (turn_id, part, tenant_id, conversation_id, channel, recipient, status, queued_at, due_at)
    values (t.id, 1, c.tenant_id, c.id, c.channel, v_recipient, 'pending', v_at, v_at + interval '2 seconds');
  end if;
  c := hot.store_audit(c, t.id, 'message.written', v_who || jsonb_build_object(
    'seq', t.seq, 'author', t.author, 'message_sha256', encode(sha256(convert_to(t.message, 'UTF8')), 'hex')), v_at);
  update conversations set last_seq = t.seq, updated_at = v_at, audit_seq = c.audit_seq, audit_hash = c.audit_hash
   where tenant_id = c.tenant_id and id = c.id;
  return jsonb_build_object('outcome', 'written', 'turn_id', t.id, 'seq', t.seq, 'deliver', v_recipient is not null);
end $$;
