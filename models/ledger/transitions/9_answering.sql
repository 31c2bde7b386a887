-- Answers in chat: the person of a channel is asked to decide about a call, and a message that takes an answer which a
-- message of ours offers decides it, or stands for a choice of a question.
--
-- A request is a part of its turn that says {ask: step, args_hash}. A part that says {tell: why} is the word to an
-- answer that changed nothing. `offers` of what was shown are [{payload, title, number}]: `number` is there if the
-- answer may be given by it. The payloads of a request are `approve KEY` and `reject KEY`, with the key of the part
-- that asked: a tapped button tells what was shown. A typed answer is one to the last that was shown.

-- Queues a part that is no reply: its text is written when it is rendered. False: nobody is known to send it to. The
-- caller holds the locks of the conversation and the turn.
create function hot.queue_word(t turns, p_says jsonb, p_at timestamptz) returns boolean language plpgsql as $$
begin
  insert into deliveries (turn_id, part, tenant_id, conversation_id, channel, recipient, says, status, queued_at,
                          due_at)
  select t.id, hot.next_part(t.id), t.tenant_id, t.conversation_id, t.channel, i.recipient, p_says, 'pending', p_at,
         p_at + interval '2 seconds'
    from channel_items i where i.turn_id = t.id and i.kind = 'message' order by i.at desc, i.id desc limit 1;
  return found;
end $$;

-- The step that a request asks about, if it still waits for a decision about these arguments.
create function hot.asked_step(d deliveries) returns steps language plpgsql stable as $$
declare
  s steps;
begin
  select * into s from steps x
   where x.turn_id = d.turn_id and x.id = d.says ->> 'ask' and x.status = 'waiting_approval'
     and x.approval ->> 'args_hash' = d.says ->> 'args_hash' and x.lapses_at > clock_timestamp();
  return s;
end $$;

-- Has the person of a channel asked about a call that their turn waits for. They are asked about one after another, so
-- that "yes" means one. The caller holds the locks of the conversation and the turn. Out: whether there is a new
-- request, which the caller has sent.
create function hot.request_decision(t turns, p_at timestamptz) returns boolean language plpgsql as $$
declare
  s steps;
begin
  if t.channel = 'api' or exists (
       select from deliveries d where d.turn_id = t.id and d.says ? 'ask' and (hot.asked_step(d)).id is not null) then
    return false;
  end if;
  select * into s from steps x where x.turn_id = t.id and x.status = 'waiting_approval'
   order by x.approval ->> 'asked_at', x.position limit 1;
  return found and hot.queue_word(t, jsonb_build_object('ask', s.id, 'args_hash', s.approval -> 'args_hash'), p_at);
end $$;

-- What a request shows: {tool, args}, with what the tool hides masked. Null: it is no longer to be decided, and so not
-- to be sent.
create function hot.shown_request(d deliveries) returns jsonb language plpgsql stable as $$
declare
  s steps := hot.asked_step(d);
begin
  return case when s.id is not null then jsonb_build_object('tool', s.tool, 'args', s.approval -> 'shown') end;
end $$;

-- What tells the language of a turn's person: {person, messages: the last ones, the newest first}.
create function hot.spoken(p_turn uuid) returns jsonb language plpgsql stable as $$
begin
  return (
    select jsonb_build_object('person', t.person, 'messages', (
             select jsonb_agg(x.message order by x.seq desc) from turns x
              where x.tenant_id = t.tenant_id and x.conversation_id = t.conversation_id
                and x.seq between t.seq - 4 and t.seq))
      from turns t where t.id = p_turn);
end $$;

-- Whether a button of a request was tapped.
create function hot.is_request_payload(a jsonb) returns boolean language sql immutable as $$
  select coalesce(a ->> 'payload' ~ '^(approve|reject) [0-9a-f]{32}-[0-9]{1,6}$', false)
$$;

-- The part that a message with an answer is about: the one whose button was tapped, the one that the message quotes, or
-- the last that was shown. It may be one that offers nothing. One that was typed before the part was sent is no answer
-- to it; a second is left for clocks.
create function hot.answered_part(p_message turns, p_new jsonb) returns deliveries language plpgsql stable as $$
declare
  a jsonb := p_new -> 'answer';
  d deliveries;
begin
  if hot.is_request_payload(a) then
    select * into d from deliveries x
     where x.turn_id = substr(a ->> 'payload', strpos(a ->> 'payload', ' ') + 1, 32)::uuid
       and x.part = split_part(a ->> 'payload', '-', 2)::int and x.tenant_id = p_message.tenant_id
       and x.conversation_id = p_message.conversation_id and x.says ? 'ask' and x.attempt > 0
       and x.status <> 'withheld';
  elsif a ? 'quoted' then
    select * into d from deliveries x
     where x.tenant_id = p_message.tenant_id and x.channel = p_message.channel and x.provider_id = a ->> 'quoted'
       and x.conversation_id = p_message.conversation_id;
  elsif not a ? 'payload' then
    select x.* into d
      from (select id from turns t where t.tenant_id = p_message.tenant_id
               and t.conversation_id = p_message.conversation_id order by t.seq desc limit 20) recent
      join deliveries x on x.turn_id = recent.id
     where x.status in ('sent', 'delivered', 'read', 'unknown')
        or (x.status = 'pending' and (x.lease_until is not null or x.unsure))
     order by x.queued_at desc, x.part desc limit 1;
    if (p_new #>> '{item,at}')::timestamptz < d.begun_at - interval '1 second' then
      return null;
    end if;
  end if;
  return d;
end $$;

-- The answer of those that a part offers which a message takes: by its payload, its very words, its number, or a word
-- for yes or no.
create function hot.taken_offer(d deliveries, a jsonb) returns jsonb language sql stable as $$
  select o from jsonb_array_elements(d.offers) with ordinality as listed(o, place)
   where case when a ? 'payload' then o -> 'payload' = a -> 'payload'
              else o -> 'title' = a -> 'said' or o -> 'number' = a -> 'number'
                or (d.says ? 'ask' and split_part(o ->> 'payload', ' ', 1) = a ->> 'means') end
   order by o -> 'title' = a -> 'said' desc nulls last, place limit 1
$$;

-- Why an answer to a request changes nothing: approved or rejected (before), expired, revised (the call has other
-- arguments now), withdrawn (the work on it was stopped).
create function hot.moot_because(d deliveries) returns text language plpgsql stable as $$
declare
  s steps;
begin
  select * into s from steps x where x.turn_id = d.turn_id and x.id = d.says ->> 'ask';
  return case
    when s.approval ->> 'args_hash' is distinct from d.says ->> 'args_hash' then 'revised'
    when s.approval ->> 'decision' = 'approve' then 'approved'
    when s.status = 'waiting_approval' then 'expired'
    when s.approval ->> 'decision' = 'reject' and coalesce(s.approval ->> 'by', s.approval ->> 'key_id') is null
      then 'expired'
    when s.approval ->> 'decision' = 'reject' then 'rejected'
    else 'withdrawn' end;
end $$;

-- Decides about the call that a request asks about; if it is no longer to be decided, its person is told so. The caller
-- holds the conversation's lock. Out: {turn, why: it changes nothing, or null, decided: hot.decide_approval, deliver}.
create function hot.answer_request(d deliveries, p_decision text, p_lease_ms int) returns jsonb language plpgsql as $$
declare
  s steps;
  t turns;
  v_decided jsonb;
  v_why text;
  v_is_told boolean;
begin
  select * into t from turns where id = d.turn_id for no key update;
  s := hot.asked_step(d);
  if s.id is not null then
    v_decided := hot.decide_approval(t.id, s.id, p_decision, null, null, true, p_lease_ms);
    return jsonb_build_object('turn', t.id, 'decided', v_decided, 'deliver', v_decided -> 'deliver');
  end if;
  v_why := hot.moot_because(d);
  v_is_told := exists (select from deliveries x where x.turn_id = t.id and x.status = 'pending'
                                                  and x.says = jsonb_build_object('tell', v_why))
               or hot.queue_word(t, jsonb_build_object('tell', v_why), clock_timestamp());
  return jsonb_build_object('turn', t.id, 'why', v_why, 'deliver', v_is_told);
end $$;

-- Whether a typed answer is to a request that is moot, and that the person has written after.
create function hot.is_overtaken(d deliveries, a jsonb) returns boolean language plpgsql stable as $$
begin
  return not a ? 'payload' and (hot.asked_step(d)).id is null and exists (
    select from turns x join turns y on y.tenant_id = x.tenant_id and y.conversation_id = x.conversation_id
     where x.id = d.turn_id and y.seq > x.seq);
end $$;

-- What a message decides about the call that a request asks about: approve or reject. Null: it is no answer to it.
create function hot.decision_on(d deliveries, a jsonb) returns text language plpgsql stable as $$
begin
  return case
    when not coalesce(d.says ? 'ask', false) or hot.is_overtaken(d, a) then null
    when hot.is_request_payload(a) then split_part(a ->> 'payload', ' ', 1)
    else split_part(hot.taken_offer(d, a) ->> 'payload', ' ', 1) end;
end $$;

-- Takes a message that may be an answer. `p_new` is that of hot.open_turn, with `answer`: {payload: of the button that
-- was tapped, quoted: the provider's id of our message that it is about, said: its words, number, means: approve or
-- reject}. What is none opens a turn; what chooses from a question opens one with the words of the choice.
-- Out: hot.answer_request, {repeated: true}, {strange: true} (the button was not shown in this conversation), or
-- {opened: hot.opened}.
create function hot.take_answer(p_new jsonb, p_lease_ms int, p_windows jsonb) returns jsonb language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_sort = off as $$
declare
  t turns := jsonb_populate_record(null::turns, p_new);
  d deliveries;
  a jsonb := p_new -> 'answer';
  v_decision text;
begin
  perform pg_advisory_xact_lock(hot.message_lock(t));
  if exists (select from channel_items i where i.tenant_id = t.tenant_id and i.channel = t.channel
                and i.kind = 'answer' and i.provider_id = t.message_id) then
    return '{"repeated": true}';
  elsif (hot.known_message(t.tenant_id, t.channel, t.message_id, t.body_hash)).outcome is null then
    perform from conversations c where c.tenant_id = t.tenant_id and c.id = t.conversation_id for no key update;
    d := hot.answered_part(t, p_new);
    v_decision := hot.decision_on(d, a);
    if v_decision is not null then
      perform hot.keep_item(p_new -> 'item' || '{"kind": "answer"}', d.turn_id);
      return hot.answer_request(d, v_decision, p_lease_ms);
    elsif hot.is_request_payload(a) then
      perform hot.keep_item(p_new -> 'item' || '{"kind": "kept", "detail": {
        "kind": "answer", "why": "the button was shown to nobody in this conversation"}}', null);
      return '{"strange": true}';
    elsif d.says is null then
      p_new := p_new || jsonb_build_object('message', coalesce(hot.taken_offer(d, a) -> 'title', p_new -> 'message'));
    end if;
  end if;
  return jsonb_build_object('opened', to_jsonb(hot.open_turn(p_new, p_lease_ms, p_windows, true)));
end $$;
