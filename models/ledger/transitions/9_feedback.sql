-- Feedback: what users think of the replies to their turns.

-- Keeps a user's word about a turn in place of the user's earlier one, with its audit record. `p_user` of null is the
-- turn's own user. The record comes first: it takes the conversation's lock, which erasing the conversation takes too.
-- Null: the tenant has no such turn. Out: {user, at}.
create function hot.give_feedback(p_tenant uuid, p_turn uuid, p_user text, p_rating text, p_comment text) returns jsonb
language plpgsql as $$
declare
  t turns;
  v_user text;
  v_at timestamptz;
begin
  select * into t from turns where id = p_turn and tenant_id = p_tenant;
  if not found then
    return null;
  end if;
  v_user := coalesce(p_user, t.person ->> 'id', '');
  perform hot.append_audit(p_tenant, t.conversation_id, p_turn, 'feedback.given', jsonb_strip_nulls(jsonb_build_object(
    'rating', p_rating, 'user', v_user, 'comment_sha256', encode(sha256(convert_to(p_comment, 'UTF8')), 'hex'))));
  v_at := clock_timestamp();
  insert into feedback as f (tenant_id, turn_id, user_id, rating, comment, at)
  values (p_tenant, p_turn, v_user, p_rating, p_comment, v_at)
  on conflict (tenant_id, turn_id, user_id) do update
     set rating = excluded.rating, comment = excluded.comment, at = excluded.at;
  return jsonb_build_object('user', v_user, 'at', hot.rfc3339(v_at));
end $$;
