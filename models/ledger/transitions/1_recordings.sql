-- Recordings: what language models were sent and answered. Each call of [p_calls] (1_usage.sql) may have a `recording`:
-- {rules, schema, messages, answer: digests, parameters, now, error, texts: [{digest, role, data, is_shared}]}.
-- A text is stored once for its conversation, and one that is shared, the rules or a schema, once for its tenant.

-- The lock of the texts that a tenant's conversations share. Who adds a call that has them takes it shared and waits
-- for nobody; who removes them takes it alone.
create function hot.texts_lock(p_tenant uuid) returns bigint language sql stable as $$
  select hashtextextended(concat_ws('|', 'texts', p_tenant), 0)
$$;

-- Keeps the recordings of calls of a turn whose row lock is held: nothing of a turn that was erased meanwhile. `p_turn`
-- is the turn before its usage had them. While somebody removes shared texts, they are stored for the conversation:
-- waiting for him, who waits for other conversations, could be a deadlock.
create function hot.store_recordings(p_turn turns, p_calls jsonb) returns void language plpgsql as $$
declare
  v_sharing text;
begin
  if p_turn.message = '' or not p_calls @? '$[*].recording.messages' then
    return;
  end if;
  v_sharing := case when not pg_try_advisory_xact_lock_shared(hot.texts_lock(p_turn.tenant_id))
                    then p_turn.conversation_id else '' end;
  -- No text is sought before: a join with the texts would read all those of the tenant.
  insert into recorded_texts (tenant_id, conversation_id, digest, role, data)
  select p_turn.tenant_id, case when x.is_shared then v_sharing else p_turn.conversation_id end, x.digest, x.role,
         x.data::bytea
    from jsonb_path_query(p_calls, '$[*].recording.texts[*]') e,
         jsonb_to_record(e) as x(digest uuid, role text, data text, is_shared boolean)
   order by 2, 3  -- two who store the same texts in another order would be a deadlock
  on conflict do nothing;
  insert into recorded_calls (tenant_id, turn_id, seq, rules, schema, messages, answer, parameters, now, error)
  select p_turn.tenant_id, p_turn.id, coalesce((p_turn.usage ->> 'llm_calls')::int, 0) + n, x.rules, x.schema,
         x.messages, x.answer, x.parameters, x.now, x.error
    from jsonb_array_elements(p_calls) with ordinality as listed(e, n),
         jsonb_to_record(e -> 'recording') as x(rules uuid, schema uuid, messages uuid[], answer uuid,
                                                parameters jsonb, now text, error text)
   where x.messages is not null;
end $$;

-- Removes the recordings of a conversation's turns whose id is lower than `p_before`, of all of them if it is null,
-- with the texts that no other call has. The caller holds the conversation's lock, and none of its turns is worked on.
-- Out: how many calls.
create function hot.forget_recordings(p_tenant uuid, p_conversation text, p_before uuid) returns int
language plpgsql as $$
declare
  v_turns uuid[] := array(select id from turns where tenant_id = p_tenant and conversation_id = p_conversation);
  v_removed int;
  v_shared uuid[];
begin
  with gone as (
    delete from recorded_calls
     where tenant_id = p_tenant and turn_id = any (v_turns) and (p_before is null or turn_id < p_before)
    returning rules, schema
  )
  select count(*), array(select distinct d from gone, unnest(array[rules, schema]) d where d is not null)
    into v_removed, v_shared from gone;
  delete from recorded_texts
   where tenant_id = p_tenant and conversation_id = p_conversation and digest <> all (array(
           select d from recorded_calls r, unnest(r.messages || array[r.rules, r.schema, r.answer]) d
            where r.tenant_id = p_tenant and r.turn_id = any (v_turns) and d is not null));
  perform hot.forget_shared(p_tenant, v_shared);
  return v_removed;
end $$;

-- Removes those of these shared texts that no call has any more. Its lock is the last that the caller takes of this
-- conversation; who holds it shared waits for nobody.
create function hot.forget_shared(p_tenant uuid, p_digests uuid[]) returns void language plpgsql as $$
declare
  v_unused uuid[] := array(select d from unnest(p_digests) d where not hot.is_recorded(p_tenant, d));
begin
  if v_unused <> '{}' then
    perform pg_advisory_xact_lock(hot.texts_lock(p_tenant));
    delete from recorded_texts
     where tenant_id = p_tenant and conversation_id = '' and digest = any (v_unused)
       and not hot.is_recorded(p_tenant, digest);
  end if;
end $$;

-- Whether a call has a text for its rules or its schema.
create function hot.is_recorded(p_tenant uuid, p_digest uuid) returns boolean language plpgsql as $$
begin
  return exists (select from recorded_calls where tenant_id = p_tenant and rules = p_digest)
      or exists (select from recorded_calls where tenant_id = p_tenant and schema = p_digest);
end $$;
