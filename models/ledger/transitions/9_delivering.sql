-- Channels: what a provider posts is kept, and replies are sent one part after another to each recipient.
--
-- A part is pending until it is sent. Nobody holds it while it is rendered or waits for its pace; it is claimed in the
-- commit before it is sent, so a lease that runs out means that it may have been sent. Locks as everywhere: the
-- conversation, then the part.

-- Keeps one item of a webhook, and the webhook's body. `p_item` holds columns of `channel_items`, and `body`.
-- Out: whether the item is new.
create function hot.keep_item(p_item jsonb, p_turn uuid) returns boolean language plpgsql as $$
declare
  i channel_items := jsonb_populate_record(null::channel_items, p_item);
  v_at timestamptz := clock_timestamp();
begin
  insert into channel_items (tenant_id, id, webhook_id, channel, kind, provider_id, reference, status, conversation_id,
                             turn_id, recipient, detail, at, created_at)
  values (i.tenant_id, i.id, i.webhook_id, i.channel, i.kind, i.provider_id, i.reference, coalesce(i.status, ''),
          i.conversation_id, p_turn, i.recipient, coalesce(i.detail, '{}'), coalesce(i.at, v_at), v_at)
  on conflict do nothing;
  if not found then
    return false;
  end if;
  insert into webhooks (tenant_id, id, body, created_at)
  values (i.tenant_id, i.webhook_id, (p_item ->> 'body')::bytea, v_at) on conflict do nothing;
  return true;
end $$;

-- How much a status says about a message of ours. A receipt never takes back what a later one has said.
create function hot.receipt_rank(p_status text) returns int language sql immutable as $$
  select array_position(array['pending', 'unknown', 'sent', 'failed', 'delivered', 'read'], p_status)
$$;

-- A receipt may come before the record of what it is about. This lock is what both share.
create function hot.receipt_lock(p_tenant uuid, p_channel text, p_provider_id text) returns bigint
language sql stable as $$
  select hashtextextended(concat_ws('|', 'receipt', p_tenant, p_channel, p_provider_id), 0)
$$;

-- The part that a receipt is about: by the provider's id or, if that never arrived, by the part's own key, which is the
-- turn's id without dashes and the part's number.
create function hot.receipt_part(p_item jsonb) returns deliveries language plpgsql as $$
declare
  i channel_items := jsonb_populate_record(null::channel_items, p_item);
  d deliveries;
begin
  select * into d from deliveries
   where tenant_id = i.tenant_id and channel = i.channel and provider_id = i.provider_id;
  if not found and p_item ->> 'key' ~ '^[0-9a-f]{32}-[0-9]{1,6}$' then
    select * into d from deliveries
     where turn_id = split_part(p_item ->> 'key', '-', 1)::uuid and part = split_part(p_item ->> 'key', '-', 2)::int
       and tenant_id = i.tenant_id and channel = i.channel and provider_id is null and attempt > 0
       and status in ('pending', 'unknown');
  end if;
  perform from conversations where tenant_id = d.tenant_id and id = d.conversation_id for no key update;
  select * into d from deliveries where turn_id = d.turn_id and part = d.part for no key update;
  return d;
end $$;

-- Keeps a receipt, and joins it to the part that it is about. `p_item` may also have the `key` of the part. `p_again`:
-- {wait_ms} to send a part that has failed again, {body} to send this in place of it and of those after it; null if it
-- is not to be sent again.
-- Out: the turn of a part that is to be sent, or null.
create function hot.note_receipt(p_item jsonb, p_again jsonb) returns uuid language plpgsql as $$
declare
  i channel_items := jsonb_populate_record(null::channel_items, p_item);
  d deliveries;
  v_at timestamptz;
begin
  d := hot.receipt_part(p_item);  -- first, because who records a part has the conversation's lock before this one
  perform pg_advisory_xact_lock(hot.receipt_lock(i.tenant_id, i.channel, i.provider_id));
  if not hot.keep_item(case when p_again is null then p_item
                            else jsonb_set(p_item, '{detail, again}', p_again) end, null) then
    return null;
  end if;
  if d.turn_id is null then
    d := hot.receipt_part(p_item);
  end if;
  if not coalesce(hot.receipt_rank(i.status) > hot.receipt_rank(d.status), false) then
    return null;
  end if;
  v_at := clock_timestamp();
  if i.status <> 'failed' then
    update deliveries set status = i.status, provider_id = i.provider_id, error = null, lease_until = null,
           due_at = null, finished_at = coalesce(finished_at, v_at)
     where turn_id = d.turn_id and part = d.part;
    perform hot.append_audit(d.tenant_id, d.conversation_id, d.turn_id, 'delivery.confirmed', jsonb_build_object(
      'part', d.part, 'status', i.status, 'provider_id', i.provider_id));
    return null;
  elsif not hot.fail_delivery(d, i.provider_id, i.detail -> 'error', p_again, v_at) then
    return null;
  end if;
  return d.turn_id;
end $$;

-- Ends a part that the provider took and then did not deliver, or has it sent again; `p_again` as for hot.note_receipt.
-- Who is still about to record the attempt loses the claim. Out: whether something is to be sent. The caller holds the
-- conversation's lock.
create function hot.fail_delivery(d deliveries, p_provider_id text, p_error jsonb, p_again jsonb, p_at timestamptz)
returns boolean language plpgsql as $$
declare
  v_due timestamptz := p_at + make_interval(secs => (p_again ->> 'wait_ms')::int / 1000.0);
begin
  if p_again ? 'body' then
    perform hot.replace_delivery(d, p_again -> 'body', p_error, p_at);
  elsif p_again is null or d.failures >= 20 then
    perform hot.end_delivery(d, 'failed', p_provider_id, p_error, p_at);
    return false;
  else
    update deliveries set status = 'pending', provider_id = null, failures = failures + 1, unsure = false,
           not_before = v_due, due_at = v_due, finished_at = null, error = p_error,
           attempt = attempt + (lease_until is not null)::int, lease_until = null
     where turn_id = d.turn_id and part = d.part;
  end if;
  return true;
end $$;

-- Puts the reply of a turn that a channel's message has opened into the outbox: one part, which is not rendered yet.
-- It is withheld unless it is told, and where the turn was cancelled because its messages were deleted. The caller
-- holds the locks of the conversation and the turn.
create function hot.queue_delivery(t turns, p_is_told boolean, p_at timestamptz) returns void language plpgsql as $$
declare
  v_made deliveries;
begin
  insert into deliveries (turn_id, part, tenant_id, conversation_id, channel, recipient, status, queued_at, due_at,
                          finished_at)
  select t.id, hot.next_part(t.id), t.tenant_id, t.conversation_id, t.channel, i.recipient,
         case when i.is_unwanted then 'withheld' else 'pending' end, p_at,
         case when not i.is_unwanted then p_at + interval '2 seconds' end, case when i.is_unwanted then p_at end
    from (select m.recipient, not p_is_told or (t.ending = 'cancelled' and m.detail ? 'deleted') as is_unwanted
            from channel_items m where m.turn_id = t.id and m.kind = 'message'
           order by m.detail ? 'deleted', m.at desc, m.id desc limit 1) i
   where not exists (select from deliveries d where d.turn_id = t.id and d.says is null)
  returning * into v_made;
  if v_made.status = 'withheld' then
    perform hot.append_audit(t.tenant_id, t.conversation_id, t.id, 'delivery.ended', jsonb_build_object(
      'part', v_made.part, 'status', v_made.status));
  end if;
end $$;

-- The number of a turn's next part.
create function hot.next_part(p_turn uuid) returns int language plpgsql stable as $$
begin
  return (select coalesce(max(part), 0) + 1 from deliveries where turn_id = p_turn);
end $$;

-- The next part for the recipient of a turn. Null: there is none, its time has not come, or somebody sends it.
-- Out: its columns, {age_s: since it was queued, silent_s: since the person wrote last, reply: what is to be rendered,
-- request: hot.shown_request, spoken: hot.spoken}.
create function hot.next_delivery(p_turn uuid) returns jsonb language plpgsql stable as $$
declare
  d deliveries;
  v_at timestamptz := clock_timestamp();
begin
  select x.* into d
    from turns t join deliveries x on x.tenant_id = t.tenant_id and x.conversation_id = t.conversation_id
   where t.id = p_turn and x.status = 'pending' order by x.queued_at, x.turn_id, x.part limit 1;
  if not found or d.lease_until > v_at or d.not_before > v_at then
    return null;
  end if;
  return to_jsonb(d) || jsonb_build_object(
    'age_s', extract(epoch from v_at - d.queued_at),
    'silent_s', (select extract(epoch from v_at - max(i.at)) from channel_items i
                  where i.tenant_id = d.tenant_id and i.conversation_id = d.conversation_id
                    and i.kind in ('message', 'answer')),
    'request', case when d.says ? 'ask' then hot.shown_request(d) end,
    'spoken', case when d.body is null and d.says is not null then hot.spoken(d.turn_id) end,
    'reply', case when d.body is null and d.says is null then (
      select jsonb_build_object('text', r.text, 'artifacts', r.artifacts, 'question', r.question,
                                'grounded', r.grounded, 'sources', r.sources, 'suggestions', r.suggestions)
        from replies r where r.turn_id = d.turn_id) end);
end $$;

-- Stores the messages that a part was rendered to, unless somebody else has: the first one in its place, the others
-- after it, with the same `queued_at`. The last one has the answers that are offered.
create function hot.store_parts(p_turn uuid, p_part int, p_bodies jsonb, p_offers jsonb) returns void
language plpgsql as $$
declare
  d deliveries;
  v_last int := jsonb_array_length(p_bodies);
begin
  perform hot.lock_conversation(p_turn);
  update deliveries set body = p_bodies -> 0, offers = case v_last when 1 then p_offers end
   where turn_id = p_turn and part = p_part and status = 'pending' and body is null returning * into d;
  if found then
    insert into deliveries (turn_id, part, tenant_id, conversation_id, channel, recipient, says, body, offers, status,
                            queued_at, due_at)
    select d.turn_id, n.next + b.number - 2, d.tenant_id, d.conversation_id, d.channel, d.recipient, d.says, b.body,
           case b.number when v_last then p_offers end, 'pending', d.queued_at, d.due_at
      from (select hot.next_part(d.turn_id) as next) n,
           jsonb_array_elements(p_bodies) with ordinality as b(body, number) where b.number > 1;
  end if;
end $$;

-- Leaves a part alone until it may be sent.
create function hot.delay_delivery(p_turn uuid, p_part int, p_wait_ms int) returns void language plpgsql as $$
declare
  v_due timestamptz := clock_timestamp() + make_interval(secs => p_wait_ms / 1000.0);
begin
  update deliveries set not_before = v_due, due_at = v_due, nudges = 0
   where turn_id = p_turn and part = p_part and status = 'pending' and lease_until is null;
end $$;

-- Claims a part that is the next of its recipient, in the commit before it is sent.
-- Null: it is not the next, not due, or somebody else sends it. Out: {attempt, unsure: whether it may have been sent,
-- begun_at: when it was first claimed}.
create function hot.claim_delivery(p_turn uuid, p_part int, p_lease_ms int) returns jsonb language plpgsql as $$
declare
  d deliveries;
  v_at timestamptz;
begin
  select * into d from deliveries where turn_id = p_turn and part = p_part for no key update;
  v_at := clock_timestamp();
  if not found or d.status <> 'pending' or d.lease_until > v_at or d.not_before > v_at or exists (
    select from deliveries e where e.tenant_id = d.tenant_id and e.conversation_id = d.conversation_id
       and e.status = 'pending' and (e.queued_at, e.turn_id, e.part) < (d.queued_at, d.turn_id, d.part)) then
    return null;
  end if;
  update deliveries
     set attempt = d.attempt + 1, unsure = d.unsure or d.lease_until is not null, nudges = 0,
         begun_at = coalesce(d.begun_at, v_at), lease_until = v_at + make_interval(secs => p_lease_ms / 1000.0),
         due_at = v_at + make_interval(secs => p_lease_ms / 1000.0)
   where turn_id = p_turn and part = p_part;
  return jsonb_build_object('attempt', d.attempt + 1, 'unsure', d.unsure or d.lease_until is not null,
                            'begun_at', hot.rfc3339(coalesce(d.begun_at, v_at)));
end $$;

-- Records under its fence what became of a part. `p_outcome`: {status, provider_id, error}; for `pending`, which is to
-- be tried again, {wait_ms, unsure}; for `withheld` perhaps {body}, to be sent in place of it and of those after it.
-- Null: the claim was lost. Out: the status of the part.
create function hot.record_delivery(p_turn uuid, p_part int, p_attempt int, p_outcome jsonb)
returns text language plpgsql as $$
declare
  d deliveries;
  v_at timestamptz;
  v_due timestamptz;
  v_status text := p_outcome ->> 'status';
  r channel_items;
begin
  perform hot.lock_conversation(p_turn);
  select * into d from deliveries
   where turn_id = p_turn and part = p_part and attempt = p_attempt and status = 'pending' for no key update;
  if not found then
    return null;
  end if;
  v_at := clock_timestamp();
  if v_status = 'pending' then
    v_due := v_at + make_interval(secs => (p_outcome ->> 'wait_ms')::int / 1000.0);
    update deliveries set lease_until = null, not_before = v_due, due_at = v_due, failures = failures + 1,
           unsure = (p_outcome ->> 'unsure')::boolean, error = p_outcome -> 'error'
     where turn_id = p_turn and part = p_part;
    return v_status;
  elsif p_outcome ? 'body' then
    perform hot.replace_delivery(d, p_outcome -> 'body', p_outcome -> 'error', v_at);
    return v_status;
  end if;
  r := hot.early_receipt(d, p_outcome ->> 'provider_id');
  if v_status = 'sent' and r.status = 'failed' then
    perform hot.fail_delivery(d, p_outcome ->> 'provider_id', r.detail -> 'error', r.detail -> 'again', v_at);
    return (select x.status from deliveries x where x.turn_id = p_turn and x.part = p_part);
  end if;
  if hot.receipt_rank(r.status) > hot.receipt_rank(v_status) then
    v_status := r.status;
  end if;
  perform hot.end_delivery(d, v_status, p_outcome ->> 'provider_id', case v_status when r.status then r.detail
                           else p_outcome end -> 'error', v_at);
  return v_status;
end $$;

-- The receipt that says most about a message of ours, if one came before the record of the message.
create function hot.early_receipt(d deliveries, p_provider_id text) returns channel_items language plpgsql as $$
declare
  r channel_items;
begin
  if p_provider_id is not null then
    perform pg_advisory_xact_lock(hot.receipt_lock(d.tenant_id, d.channel, p_provider_id));
    select * into r from channel_items
     where tenant_id = d.tenant_id and channel = d.channel and kind = 'receipt' and provider_id = p_provider_id
     order by hot.receipt_rank(status) desc limit 1;
  end if;
  return r;
end $$;

-- Ends a part, and withholds those after it if it is not sent. The caller holds the conversation's lock.
create function hot.end_delivery(d deliveries, p_status text, p_provider_id text, p_error jsonb, p_at timestamptz)
returns void language plpgsql as $$
declare
  v_withheld int := 0;
begin
  update deliveries
     set status = p_status, provider_id = p_provider_id, error = p_error, lease_until = null, not_before = null,
         due_at = null, finished_at = p_at
   where turn_id = d.turn_id and part = d.part;
  if p_status in ('failed', 'withheld') then
    update deliveries
       set status = 'withheld', due_at = null, finished_at = p_at, error = jsonb_build_object(
             'code', 'earlier_part_failed', 'message', 'a part before it could not be sent')
     where turn_id = d.turn_id and part > d.part and queued_at = d.queued_at and status = 'pending';
    get diagnostics v_withheld = row_count;
  end if;
  perform hot.append_audit(d.tenant_id, d.conversation_id, d.turn_id, 'delivery.ended', jsonb_build_object(
    'part', d.part, 'status', p_status, 'error', p_error -> 'code', 'provider_id', p_provider_id,
    'withheld', nullif(v_withheld, 0),
    'body_sha256', encode(sha256(convert_to(coalesce(d.body::text, ''), 'UTF8')), 'hex')));
end $$;

-- Withholds a part and those after it, and puts another message in their place. The caller holds the conversation's
-- lock.
create function hot.replace_delivery(d deliveries, p_body jsonb, p_error jsonb, p_at timestamptz)
returns void language plpgsql as $$
begin
  perform hot.end_delivery(d, 'withheld', d.provider_id, p_error, p_at);
  insert into deliveries (turn_id, part, tenant_id, conversation_id, channel, recipient, says, body, status, queued_at,
                          due_at)
  values (d.turn_id, hot.next_part(d.turn_id), d.tenant_id, d.conversation_id, d.channel, d.recipient, d.says, p_body,
          'pending', d.queued_at, p_at + interval '2 seconds');
end $$;

-- Takes the parts that nobody has sent in time, a while longer each time that it finds one. Only one process at a time
-- does so. Out: their turns.
create function hot.take_due_deliveries(p_limit int) returns setof uuid language plpgsql as $$
declare
  v_at timestamptz := clock_timestamp();
begin
  if not exists (select from deliveries where status = 'pending' and due_at <= v_at)
     or not pg_try_advisory_xact_lock(hashtext('turnloom.deliveries')) then
    return;
  end if;
  return query with due as (
    select turn_id, part from deliveries where status = 'pending' and due_at <= v_at
     order by due_at limit p_limit for no key update skip locked
  ), taken as (
    update deliveries d
       set nudges = d.nudges + 1, due_at = v_at + make_interval(secs => 2 * power(2, least(d.nudges, 6)))
      from due where d.turn_id = due.turn_id and d.part = due.part returning d.turn_id
  )
  select distinct turn_id from taken;
end $$;

-- Lets a part that has failed, or whose outcome is unknown, be sent again, with those that were withheld because of it.
-- Null: there is no such part. Out: its status before; only if that is `failed` or `unknown`, anything has changed.
create function hot.redrive_delivery(p_turn uuid, p_part int, p_by text) returns text language plpgsql as $$
declare
  d deliveries;
  v_at timestamptz;
begin
  perform hot.lock_conversation(p_turn);
  select * into d from deliveries where turn_id = p_turn and part = p_part for no key update;
  if not found or d.status not in ('failed', 'unknown') then
    return d.status;
  end if;
  v_at := clock_timestamp();
  update deliveries
     set status = 'pending', failures = 0, unsure = false, provider_id = null, error = null, finished_at = null,
         not_before = null, due_at = v_at, queued_at = v_at
   where turn_id = p_turn and (part = p_part or (
         part > p_part and queued_at = d.queued_at and status = 'withheld'
         and error ->> 'code' = 'earlier_part_failed'));
  perform hot.append_audit(d.tenant_id, d.conversation_id, d.turn_id, 'delivery.redriven', jsonb_build_object(
    'part', p_part, 'status', d.status, 'by', p_by));
  return d.status;
end $$;

-- Erases what was received from a conversation's person and sent to them. What is still to be sent never will be.
create function hot.erase_channel(p_tenant uuid, p_conversation text) returns void language plpgsql as $$
begin
  update deliveries
     set status = case status when 'pending' then 'withheld' else status end, due_at = null, lease_until = null,
         body = null, offers = null, recipient = '', error = null, provider_id = null
   where tenant_id = p_tenant and turn_id in (
         select id from turns where tenant_id = p_tenant and conversation_id = p_conversation);
  delete from webhooks where tenant_id = p_tenant and id in (
    select webhook_id from channel_items where tenant_id = p_tenant and conversation_id = p_conversation);
  delete from channel_items where tenant_id = p_tenant and conversation_id = p_conversation;
end $$;
