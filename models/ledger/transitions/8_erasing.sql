-- Erasing a conversation: its turns stay, without text. The caller holds its lock, and none of its turns is worked on.

-- Refuses a tenant that the transaction does not serve, if it serves tenants (models/connections/row_security.py). It
-- is for functions with the owner's rights, who is not subject to row-level security.
create function hot.demand_tenant(p_tenant uuid) returns void language plpgsql stable as $$
begin
  if current_setting('role') = 'turnloom_tenant'
     and (p_tenant = any (nullif(current_setting('turnloom.tenants', true), '')::uuid[])) is not true then
    raise insufficient_privilege using message = 'the transaction does not serve this tenant';
  end if;
end $$;

-- Erases what the turns of a conversation say, their replies, and what it remembers. The lock of its memory comes last,
-- as in the record of a step: a call that ends late either finds the conversation erased, or is erased with it.
create function hot.erase_turns(p_tenant uuid, p_conversation text) returns void language plpgsql as $$
declare
  v_turns uuid[] := array(select id from turns where tenant_id = p_tenant and conversation_id = p_conversation);
begin
  update turn_events
     set data = '{}', earlier = (select coalesce(jsonb_agg(e - 'data'), '[]') from jsonb_array_elements(earlier) e)
   where turn_id = any (v_turns);
  update plans set document = '{}', trace = '{}' where turn_id = any (v_turns);
  update steps set args = '{}', result = null, error = null, approval = null where turn_id = any (v_turns);
  delete from replies where turn_id = any (v_turns);
  delete from callbacks where turn_id = any (v_turns);
  delete from feedback where tenant_id = p_tenant and turn_id = any (v_turns);
  update turns set message = '', person = '{}', extra = '{}', callback_url = null, submitted_plan = null, slots = null,
         action = null, output = null, error = null, manner = null, transcript_digest = null, author = null, line = null
   where id = any (v_turns);
  perform hot.erase_channel(p_tenant, p_conversation);
  perform pg_advisory_xact_lock(hot.memory_lock(p_tenant, p_conversation));
  delete from memory where tenant_id = p_tenant and conversation_id = p_conversation;
  perform hot.forget_recordings(p_tenant, p_conversation, null);
end $$;

-- Removes the turns of an erased conversation, with all that belongs to them. The conversation, its audit log and the
-- sums of usage stay. The owner's rights, because the application removes no other turn. Out: how many turns.
create function hot.prune_turns(p_tenant uuid, p_conversation text) returns int language plpgsql
security definer set search_path = public, pg_temp as $$
declare
  v_turns uuid[] := array(select id from turns where tenant_id = p_tenant and conversation_id = p_conversation);
begin
  perform hot.demand_tenant(p_tenant);
  if exists (select from turns where id = any (v_turns) and message <> '') then
    raise exception 'the conversation is not erased';
  end if;
  delete from turn_events where turn_id = any (v_turns);
  delete from plans where turn_id = any (v_turns);
  delete from steps where turn_id = any (v_turns);
  delete from fragments where turn_id = any (v_turns);
  delete from deliveries where turn_id = any (v_turns);
  delete from llm_calls where tenant_id = p_tenant and turn_id = any (v_turns);
  delete from merged_messages where tenant_id = p_tenant and turn_id = any (v_turns);
  delete from turns where id = any (v_turns);
  return cardinality(v_turns);
end $$;
revoke execute on function hot.prune_turns from public;

-- Removes what channels brought so long ago that belongs to no conversation, and bodies of which nothing is left.
-- Out: how many items; fewer than the limit: there are no more.
create function hot.prune_channel_items(p_age_s bigint, p_limit int) returns int language plpgsql as $$
declare
  v_before timestamptz := clock_timestamp() - make_interval(secs => p_age_s);
  v_removed int;
begin
  delete from channel_items where (tenant_id, id) in (
    select tenant_id, id from channel_items where conversation_id is null and created_at < v_before limit p_limit);
  get diagnostics v_removed = row_count;
  if v_removed < p_limit then
    delete from webhooks w where w.created_at < v_before and not exists (
      select from channel_items i where i.tenant_id = w.tenant_id and i.webhook_id = w.id);
  end if;
  return v_removed;
end $$;

-- Erases the contents of a conversation's audit records, and appends the record that says so and who asked for it: its
-- content alone stays. The owner's rights, because the application may do this to the audit log, and nothing else.
create function hot.erase_audit(p_tenant uuid, p_conversation text, p_key uuid, p_by text) returns void language plpgsql
security definer set search_path = public, pg_temp as $$
declare
  v_through int;
begin
  perform hot.demand_tenant(p_tenant);
  select audit_seq into strict v_through from conversations
   where tenant_id = p_tenant and id = p_conversation and active_turn_id is null for no key update;
  perform hot.append_audit(p_tenant, p_conversation, null, 'conversation.erased', jsonb_strip_nulls(
    hot.who(p_key, p_by) || jsonb_build_object('through', v_through)));
  update audit set content = null
   where tenant_id = p_tenant and conversation_id = p_conversation and seq <= v_through
     and kind <> 'conversation.erased';
end $$;
revoke execute on function hot.erase_audit from public;
