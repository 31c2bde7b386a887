-- Memory: what a conversation holds from turn to turn. (In PL/pgSQL, so that a connection plans each statement once.)

-- Says whether a turn is forgotten, because the one that superseded it rolled it back.
create function hot.is_rolled_back(p_superseded_by uuid) returns boolean language sql stable as $$
  select exists (select from turns where id = p_superseded_by and on_busy = 'rollback')
$$;

-- The lock of what a conversation remembers.
create function hot.memory_lock(p_tenant uuid, p_conversation text) returns bigint language sql stable as $$
  select hashtextextended(concat_ws('|', 'memory', p_tenant, p_conversation), 0)
$$;

-- Takes the right to change what a conversation remembers; the caller holds the turn's lock. The conversation's active
-- turn is not alone with it: a call with an effect may end after its turn has. Two who change several rows in another
-- order would be a deadlock.
create function hot.lock_memory(p_turn turns) returns void language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hot.memory_lock(p_turn.tenant_id, p_turn.conversation_id));
end $$;

-- The results that a conversation remembers. `place` counts those of one tool from the newest on: by place, the newest
-- of each tool comes before the second newest of any.
create function hot.ranked_memory(p_tenant uuid, p_conversation text)
returns table (place bigint, tool text, input_hash text, args jsonb, result jsonb, turn_id uuid, step_id text,
               holds boolean, at timestamptz, expires_at timestamptz) language sql stable as $$
  select row_number() over (partition by m.tool order by m.at desc, m.input_hash), m.tool, m.input_hash, m.args,
         m.result, m.turn_id, m.step_id, m.holds, m.at, m.expires_at
    from memory m where m.tenant_id = p_tenant and m.conversation_id = p_conversation
$$;

-- Remembers results of steps that were recorded just now, `p_ended`, and whose tools are remembered: of p_finished
-- those with `remember`, {tool, args, for_s}. What has run out goes, and so does what is beyond the hundred that are
-- shown first. What was read while a call with an effect was under way does not hold, and neither does the result of
-- such a call: it tells what was done, and stands in for no further call. A call with an effect may end late; what was
-- erased or rolled back before remembers nothing of it. The caller holds the turn's lock.
create function hot.remember(p_turn turns, p_finished jsonb, p_ended text[], p_at timestamptz)
returns void language plpgsql as $$
begin
  perform hot.lock_memory(p_turn);
  if hot.is_rolled_back(p_turn.superseded_by) or exists (
       select from conversations c where c.tenant_id = p_turn.tenant_id and c.id = p_turn.conversation_id
                                     and c.erased_at >= p_turn.created_at) then
    return;
  end if;
  delete from memory m
   where m.tenant_id = p_turn.tenant_id and m.conversation_id = p_turn.conversation_id and m.expires_at <= p_at;
  insert into memory as m (tenant_id, conversation_id, tool, input_hash, args, result, turn_id, step_id, holds, at,
                           expires_at)
  select distinct on (e.remember ->> 'tool', e.input_hash)
         p_turn.tenant_id, p_turn.conversation_id, e.remember ->> 'tool', e.input_hash, e.remember -> 'args', e.result,
         p_turn.id, e.id,
         not exists (select from steps w where w.turn_id = p_turn.id and w.effect <> 'read' and w.started_at is not null
                                           and (w.finished_at is null or w.finished_at >= s.started_at)),
         p_at, p_at + make_interval(secs => (e.remember ->> 'for_s')::float)
    from jsonb_to_recordset(p_finished) as e(id text, attempt int, status text, result jsonb, input_hash text,
                                             remember jsonb)
    join steps s on s.turn_id = p_turn.id and s.id = e.id and s.attempt = greatest(e.attempt, 1)
                and s.id = any (p_ended)
   where e.status = 'succeeded' and jsonb_typeof(e.remember) = 'object' and e.input_hash is not null
  on conflict (tenant_id, conversation_id, tool, input_hash) do update
     set args = excluded.args, result = excluded.result, turn_id = excluded.turn_id, step_id = excluded.step_id,
         holds = excluded.holds, at = excluded.at, expires_at = excluded.expires_at;
  delete from memory m
   where m.tenant_id = p_turn.tenant_id and m.conversation_id = p_turn.conversation_id
     and (m.tool, m.input_hash) in (
           select x.tool, x.input_hash from hot.ranked_memory(p_turn.tenant_id, p_turn.conversation_id) x
            order by x.place, x.at desc, x.tool, x.input_hash offset 100);
end $$;

-- Lets nothing hold any more that a conversation has found so far: a call with an effect has ended, and may have
-- changed it. The reply may still speak of it. The caller holds the turn's lock.
create function hot.doubt_memory(p_turn turns) returns void language plpgsql as $$
begin
  perform hot.lock_memory(p_turn);
  update memory m set holds = false
   where m.tenant_id = p_turn.tenant_id and m.conversation_id = p_turn.conversation_id and m.holds;
end $$;

-- Forgets what a turn has found, because it was rolled back. The caller holds the turn's lock.
create function hot.forget_found(p_turn turns) returns void language plpgsql as $$
begin
  perform hot.lock_memory(p_turn);
  delete from memory m
   where m.tenant_id = p_turn.tenant_id and m.conversation_id = p_turn.conversation_id and m.turn_id = p_turn.id;
end $$;

-- What of a conversation's memory has not run out, but for what a turn has found itself: p_most results, the newest of
-- each tool before the second newest of any; in the order of their times, the newest first. What does not hold may have
-- been changed since by a call with an effect, or is what such a call did: a plan cannot build on it, but a reply may
-- still speak of it.
create function hot.fresh_memory(p_tenant uuid, p_conversation text, p_without uuid, p_most int)
returns jsonb language plpgsql stable as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object(
             'tool', m.tool, 'args', m.args, 'result', m.result, 'turn', m.turn_id, 'step', m.step_id, 'holds', m.holds,
             'age_s', greatest(0, floor(extract(epoch from clock_timestamp() - m.at))))
             order by m.at desc, m.tool, m.input_hash), '[]')
      from (select * from hot.ranked_memory(p_tenant, p_conversation) x
             where x.turn_id is distinct from p_without and x.expires_at > clock_timestamp()
             order by x.place, x.at desc, x.tool, x.input_hash limit p_most) m);
end $$;

-- Whether a channel's reply has reached the person, as far as we know.
create function hot.is_seen(p_turn uuid) returns boolean language plpgsql stable as $$
begin
  return not exists (select from deliveries d where d.turn_id = p_turn and d.says is null
                                                and d.status in ('failed', 'withheld'));
end $$;

-- The exchanges [{message, reply}] that a conversation was opened with. They stand before its first turn, so the last
-- of them has the number 0.
create function hot.past(p_past jsonb) returns table (seq int, message text, reply text) language sql immutable as $$
  select (place - jsonb_array_length(p_past))::int, e ->> 'message', e ->> 'reply'
    from jsonb_array_elements(p_past) with ordinality as listed(e, place)
$$;

-- The last p_most final exchanges of a turn's conversation that its summary does not cover, oldest first: [{turn, seq,
-- message, reply, seen, author}]; those that it was opened with have no turn. What came later and was planned was
-- written before the turn; what came later and was only stopped is none of its past, nor what was rolled back. A reply
-- to a message that a person has answered is empty: it was not said.
create function hot.history(p_turn turns, p_past jsonb, p_summary_seq int, p_most int) returns jsonb
language plpgsql stable as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('turn', coalesce(e.id::text, ''), 'seq', e.seq, 'message', e.message,
                                                 'reply', e.text, 'seen', e.seen, 'author', e.author)
                              order by e.at nulls first, e.seq), '[]')
      from (select x.id, x.seq, case when x.pieces is null then x.message else hot.shown_message(x) end as message,
                   case when x.ending = 'paused' then '' else r.text end as text,
                   case x.ending when 'paused' then x.responding_at else x.finished_at end as at, x.author,
                   x.channel = 'api' or hot.is_seen(x.id) as seen
              from turns x join replies r on r.turn_id = x.id
             where x.tenant_id = p_turn.tenant_id and x.conversation_id = p_turn.conversation_id
               and x.seq > p_summary_seq and x.seq >= p_turn.seq - p_most
               and (x.seq < p_turn.seq or x.planning_at is not null)
               and not hot.is_rolled_back(x.superseded_by)
             union all
            select null, p.seq, p.message, p.reply, null, null, true
              from hot.past(p_past) p where p.seq > p_summary_seq
             order by seq desc limit p_most) e);
end $$;

-- What the planner of a turn is told of its conversation. Out: {summary, history: hot.history, asked: [{tool, args,
-- needs}], memory, with what may be in doubt}.
create function hot.recall(p_turn turns, p_most int, p_results int) returns jsonb language plpgsql stable as $$
declare
  c conversations;
begin
  select * into c from conversations where tenant_id = p_turn.tenant_id and id = p_turn.conversation_id;
  return jsonb_build_object(
    'summary', c.summary,
    'memory', hot.fresh_memory(p_turn.tenant_id, p_turn.conversation_id, p_turn.id, p_results),
    'asked', (
      select coalesce(jsonb_agg(jsonb_build_object('tool', s.tool, 'args', s.args, 'needs', s.result -> 'needs')
                                order by s.revision, s.position), '[]')
        from steps s join turns x on x.id = s.turn_id
       where x.tenant_id = p_turn.tenant_id and x.conversation_id = p_turn.conversation_id and x.seq = p_turn.seq - 1
         and x.status = 'succeeded' and s.status = 'needs_input'),
    'history', hot.history(p_turn, c.past, c.summary_seq, p_most));
end $$;

-- The oldest exchanges of a turn's conversation that its summary does not cover, up to the first turn that is not
-- final.
-- Null: there is no such turn. Out: {tenant_id, conversation_id, agent, allowances, summary, summary_seq, history:
-- [{seq, message, reply, seen, author}]}.
create function hot.unsummarised(p_turn uuid, p_most int) returns jsonb language plpgsql stable as $$
declare
  t turns;
  c conversations;
begin
  select * into t from turns where id = p_turn;
  select * into c from conversations where tenant_id = t.tenant_id and id = t.conversation_id;
  if not found then
    return null;
  end if;
  return jsonb_build_object(
    'tenant_id', c.tenant_id, 'conversation_id', c.id, 'agent', t.agent, 'allowances', hot.allowances(t),
    'summary', c.summary, 'summary_seq', c.summary_seq, 'history', (
      select coalesce(jsonb_agg(jsonb_build_object('seq', e.seq, 'message', e.message, 'reply', e.text,
                                                   'seen', e.seen, 'author', e.author)
                                order by e.seq), '[]')
        from (select x.seq, case when x.pieces is null then x.message else hot.shown_message(x) end as message,
                     case when x.ending = 'paused' then '' else r.text end as text, x.author,
                     x.channel = 'api' or hot.is_seen(x.id) as seen
                from turns x join replies r on r.turn_id = x.id
               where x.tenant_id = c.tenant_id and x.conversation_id = c.id and x.seq > c.summary_seq
                 and x.seq < coalesce((select min(o.seq) from turns o
                                        where o.tenant_id = c.tenant_id and o.conversation_id = c.id
                                          and o.seq > c.summary_seq and o.finished_at is null), x.seq + 1)
                 and not hot.is_rolled_back(x.superseded_by)
               union all
              select p.seq, p.message, p.reply, null, true from hot.past(c.past) p where p.seq > c.summary_seq
               order by seq limit p_most) e));
end $$;
