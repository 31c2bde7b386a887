-- Exporting a conversation: what its audit records have digests of.

-- The texts of a conversation that there are: messages, replies, plans, arguments, results, bodies of what was sent,
-- comments.
create function hot.texts_of(p_tenant uuid, p_conversation text) returns setof text language sql stable as $$
  with its as materialized (
    select * from turns where tenant_id = p_tenant and conversation_id = p_conversation
  )
  select message from its
  union all
  select p.said from turns t, lateral hot.piece_texts(t) p where t.id in (select id from its)
  union all
  select text from replies where turn_id in (select id from its)
  union all
  select document::text from plans where turn_id in (select id from its)
  union all
  select args::text from steps where turn_id in (select id from its)
  union all
  select result::text from steps where turn_id in (select id from its) and result is not null
  union all
  select body::text from deliveries where turn_id in (select id from its) and body is not null
  union all
  select comment from feedback where tenant_id = p_tenant and turn_id in (select id from its) and comment is not null
$$;
