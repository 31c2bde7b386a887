-- Erasing a conversation: its turns stay, without text. The caller holds its lock, and none of its turns is worked on.

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
         action = null, output = null, error = null, manner = null, transcript_digest = null
   where id = any (v_turns);
  perform hot.erase_channel(p_tenant, p_conversation);
  perform pg_advisory_xact_lock(hot.memory_lock(p_tenant, p_conversation));
  delete from memory where tenant_id = p_tenant and conversation_id = p_conversation;
end $$;

-- Erases the contents of a conversation's audit records, and appends the record that says so: its content alone stays.
-- The owner's rights, because the application may do this to the audit log, and nothing else.
create function hot.erase_audit(p_tenant uuid, p_conversation text) returns void language plpgsql
security definer set search_path = public, pg_temp as $$
declare
  v_through int;
begin
  select audit_seq into strict v_through from conversations
   where tenant_id = p_tenant and id = p_conversation and active_turn_id is null for no key update;
  perform hot.append_audit(p_tenant, p_conversation, null, 'conversation.erased',
                           jsonb_build_object('through', v_through));
  update audit set content = null
   where tenant_id = p_tenant and conversation_id = p_conversation and seq <= v_through
     and kind <> 'conversation.erased';
end $$;
revoke execute on function hot.erase_audit from public;
