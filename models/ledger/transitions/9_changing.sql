-- Edits and deletions of messages by the people who wrote them.
--
-- A change is applied to the turn that waits with the message. Once that has begun, an edit is a new message, and a
-- deleted text is only kept from later prompts. Locks: the message's reference, the conversation, the turn.

-- A message and its change may arrive together, before their conversation exists. This lock is what both share.
create function hot.reference_lock(p_item jsonb) returns bigint language sql stable as $$
  select hashtextextended(concat_ws('|', 'reference', p_item ->> 'tenant_id', p_item ->> 'channel',
                                    p_item ->> 'reference'), 0)
$$;

-- The messages of a turn, in order: [{sequence, length, message_id, hidden: whether its sender deleted it later}].
create function hot.pieces(t turns) returns jsonb language sql stable as $$
  select coalesce(t.pieces, jsonb_build_array(jsonb_build_object(
    'sequence', t.sequence, 'length', char_length(t.message), 'message_id', t.message_id)))
$$;

-- The same with the text of each.
create function hot.piece_texts(t turns) returns table (place bigint, piece jsonb, said text) language sql stable as $$
  select p.place, p.piece, substr(t.message, p.ends - (p.piece ->> 'length')::int + 1, (p.piece ->> 'length')::int)
    from (select x.place, x.piece,
                 (sum((x.piece ->> 'length')::int + 1) over (order by x.place))::int - 1 as ends
            from jsonb_array_elements(hot.pieces(t)) with ordinality x(piece, place)) p
$$;

-- A turn's messages as later prompts may show them: without those that their sender has deleted.
create function hot.shown_message(t turns) returns text language plpgsql stable as $$
begin
  if not coalesce(jsonb_path_exists(t.pieces, '$[*].hidden'), false) then
    return t.message;
  end if;
  return (select string_agg(case when p.piece ? 'hidden' then '[deleted]' else p.said end, E'\n' order by p.place)
            from hot.piece_texts(t) p);
end $$;

-- What an edit says as a message of its own, at most 8000 characters.
create function hot.correction(p_before text, p_text text) returns text language sql immutable as $$
  select concat('[edited] ', left(p_text, 7700), E'\n[before] ' || left(p_before, 200))
$$;

-- A turn whose message has a new text; null: without that message. What is null afterwards says nothing any more.
create function hot.with_piece(t turns, p_message_id text, p_text text, out message text, out pieces jsonb)
language sql stable as $$
  select string_agg(n.said, E'\n' order by n.place),
         jsonb_agg(n.piece || jsonb_build_object('length', char_length(n.said)) order by n.place)
    from (select p.place, p.piece,
                 case when p.piece ->> 'message_id' = p_message_id then p_text else p.said end as said
            from hot.piece_texts(t) p) n
   where n.said is not null
$$;

-- Applies to a message what its sender changed before it came: the last edit. One that was deleted is kept, and its
-- turn has no message any more.
create function hot.with_early_change(t turns, p_item jsonb) returns turns language plpgsql as $$
declare
  e channel_items;
begin
  perform pg_advisory_xact_lock(hot.reference_lock(p_item));
  select * into e from channel_items
   where tenant_id = t.tenant_id and channel = t.channel and reference = p_item ->> 'reference' and kind = 'kept'
   order by detail ? 'deleted' desc, (detail ->> 'order')::bigint desc nulls last, id desc limit 1;
  if not found then
    return t;
  elsif e.detail ? 'deleted' then
    perform hot.keep_item((p_item - 'reference' - 'conversation_id') || jsonb_build_object('kind', 'kept', 'detail',
      jsonb_build_object('kind', 'message', 'why', 'its sender deleted it before it came')), null);
    t.message := null;
    return t;
  end if;
  update channel_items set kind = 'edit', conversation_id = t.conversation_id
   where tenant_id = t.tenant_id and channel = t.channel and reference = e.reference and kind = 'kept';
  t.message := e.detail ->> 'text';
  return t;
end $$;

-- Whether a change of a message comes too late: a later one of its sender's is known, or the message was deleted.
create function hot.is_outdated(i channel_items) returns boolean language plpgsql stable as $$
begin
  return exists (select from channel_items
                  where tenant_id = i.tenant_id and channel = i.channel and reference = i.reference
                    and (detail ? 'deleted' or (detail ->> 'order')::bigint > (i.detail ->> 'order')::bigint));
end $$;

-- Puts a new text in place of a message whose turn has not begun; null: takes the message out of it. The caller holds
-- the locks. Null: that is not possible, because the turn has begun or the text does not fit.
-- Out: {outcome: changed, same or removed, closed: what hot.close_turn says of a turn that has no other message}.
create function hot.change_piece(t turns, m channel_items, p_text text, p_lease_ms int) returns jsonb
language plpgsql as $$
declare
  v_before text := (select p.said from hot.piece_texts(t) p where p.piece ->> 'message_id' = m.provider_id);
  v_message text;
  v_pieces jsonb;
begin
  if t.status <> 'queued' or t.id is null or v_before is null then
    return null;
  elsif v_before = p_text then
    return '{"outcome": "same"}';
  end if;
  select w.message, w.pieces into v_message, v_pieces from hot.with_piece(t, m.provider_id, p_text) w;
  if char_length(v_message) > 8000 then
    return null;
  end if;
  perform hot.append_audit(t.tenant_id, t.conversation_id, t.id, 'message.changed', jsonb_build_object(
    'message_sha256', encode(sha256(convert_to(p_text, 'UTF8')), 'hex')));
  if v_message is null then
    return jsonb_build_object('outcome', 'removed', 'closed', hot.close_turn(t.id, 'cancelled', null, p_lease_ms));
  end if;
  update turns set message = v_message, pieces = v_pieces where id = t.id;
  return jsonb_build_object('outcome', case when p_text is null then 'removed' else 'changed' end);
end $$;

-- Takes a deletion of a message and of what has corrected it. Out: as hot.change_message.
create function hot.delete_message(i channel_items, p_lease_ms int) returns jsonb language plpgsql as $$
declare
  m channel_items;
  t turns;
  v_done jsonb;
  v_out jsonb := '{"outcome": "noted"}';
begin
  for m in select * from channel_items
            where tenant_id = i.tenant_id and channel = i.channel and reference = i.reference and kind = 'message'
              and conversation_id = i.conversation_id order by created_at, id loop
    select * into t from turns where id = m.turn_id for no key update;
    v_done := hot.change_piece(t, m, null, p_lease_ms);
    v_out := coalesce(v_done, v_out);
    update channel_items set detail = detail || '{"deleted": true}' where tenant_id = m.tenant_id and id = m.id;
    if v_done is null then
      perform hot.append_audit(m.tenant_id, m.conversation_id, m.turn_id, 'message.hidden', jsonb_build_object(
        'message_sha256', (select encode(sha256(convert_to(p.said, 'UTF8')), 'hex') from hot.piece_texts(t) p
                            where p.piece ->> 'message_id' = m.provider_id)));
    end if;
    if v_done is null or v_done ? 'closed' then
      update turns set pieces = (
        select jsonb_agg(case p ->> 'message_id' when m.provider_id then p || '{"hidden": true}' else p end)
          from jsonb_array_elements(hot.pieces(t)) p)
       where id = t.id;
    end if;
  end loop;
  return v_out;
end $$;

-- An edit of a message whose turn has begun, as a message of its own. Out: as hot.change_message.
create function hot.as_correction(t turns, m channel_items, p_text text) returns jsonb language plpgsql stable as $$
declare
  v_before text := coalesce(m.detail ->> 'text', (
    select p.said from hot.piece_texts(t) p where p.piece ->> 'message_id' = m.provider_id));
begin
  if v_before = p_text then
    return '{"outcome": "same"}';
  end if;
  return jsonb_build_object('outcome', 'begun', 'message', hot.correction(v_before, p_text),
                            'before', left(v_before, 200), 'recipient', m.recipient);
end $$;

-- Takes a change of a message by its sender. `p_item`: as for hot.keep_item, with the `reference` of the message and as
-- `detail` {text, or deleted; order: grows with the changes of a message}.
-- Out: {outcome, closed}, and for `begun` {message, before, recipient}. Outcome: repeated (it came before); waiting
-- (for its message); outdated (a later change is known); changed, same, removed (see hot.change_piece); noted (a
-- deletion of a message whose turn has begun); begun (an edit of such a message: nothing is recorded, and the caller
-- opens a turn).
create function hot.change_message(p_item jsonb, p_lease_ms int) returns jsonb language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  i channel_items := jsonb_populate_record(null::channel_items, p_item);
  m channel_items;
  t turns;
  v_is_known boolean;
  v_out jsonb;
begin
  perform pg_advisory_xact_lock(hot.reference_lock(p_item));
  perform from conversations where tenant_id = i.tenant_id and id = i.conversation_id for no key update;
  v_is_known := found;
  select * into m from channel_items
   where tenant_id = i.tenant_id and channel = i.channel and reference = i.reference and kind = 'message'
     and conversation_id = i.conversation_id order by created_at desc, id desc limit 1;
  if exists (select from channel_items where tenant_id = i.tenant_id and channel = i.channel
                and provider_id = i.provider_id and kind in ('edit', 'kept', 'message')) then
    return '{"outcome": "repeated"}';
  elsif m.id is null then
    perform hot.keep_item(p_item || jsonb_build_object('kind', 'kept', 'conversation_id',
                                                       case when v_is_known then i.conversation_id end), null);
    return '{"outcome": "waiting"}';
  elsif hot.is_outdated(i) then
    v_out := '{"outcome": "outdated"}';
  elsif i.detail ? 'deleted' then
    v_out := hot.delete_message(i, p_lease_ms);
  else
    select * into t from turns where id = m.turn_id for no key update;
    v_out := hot.change_piece(t, m, case when m.detail ? 'before'
      then hot.correction(m.detail ->> 'before', i.detail ->> 'text') else i.detail ->> 'text' end, p_lease_ms);
  end if;
  if v_out is null then
    v_out := hot.as_correction(t, m, i.detail ->> 'text');
  end if;
  if v_out ->> 'outcome' = 'begun' then
    return v_out;
  end if;
  if v_out ->> 'outcome' = 'changed' and m.detail ? 'text' then
    update channel_items set detail = detail || jsonb_build_object('text', i.detail ->> 'text')
     where tenant_id = m.tenant_id and id = m.id;
  end if;
  perform hot.keep_item(p_item, m.turn_id);
  return v_out;
end $$;
