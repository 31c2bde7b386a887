-- Usage: the calls of language models, and what they add up to. [p_calls]: LlmCall of models/contracts/usage.py, as a
-- list. Their texts and the sums of a day are the last locks that anybody takes: after the conversation, the turns and
-- their steps.

-- A usage with these calls in it. `cost` is that of the calls whose price is known.
create function hot.add_calls(p_usage jsonb, p_calls jsonb) returns jsonb language plpgsql immutable as $$
begin
  if jsonb_array_length(p_calls) = 0 then
    return p_usage;
  end if;
  return (
    select hot.add_usage(p_usage, jsonb_build_object(
             'llm_calls', count(*), 'prompt_tokens', sum(c.prompt_tokens), 'cached_tokens', sum(c.cached_tokens),
             'completion_tokens', sum(c.completion_tokens), 'cost', coalesce(sum(c.cost), 0),
             'unpriced_calls', count(*) filter (where c.cost is null)))
      from jsonb_to_recordset(p_calls) as c(prompt_tokens bigint, cached_tokens bigint, completion_tokens bigint,
                                            cost numeric));
end $$;

-- The sum of two usages; an empty one is nothing.
create function hot.add_usage(p_usage jsonb, p_more jsonb) returns jsonb language sql immutable as $$
  select case when p_more = '{}' then p_usage when p_usage = '{}' then p_more else jsonb_build_object(
    'llm_calls', (p_usage ->> 'llm_calls')::bigint + (p_more ->> 'llm_calls')::bigint,
    'prompt_tokens', (p_usage ->> 'prompt_tokens')::bigint + (p_more ->> 'prompt_tokens')::bigint,
    'cached_tokens', (p_usage ->> 'cached_tokens')::bigint + (p_more ->> 'cached_tokens')::bigint,
    'completion_tokens', (p_usage ->> 'completion_tokens')::bigint + (p_more ->> 'completion_tokens')::bigint,
    'cost', (p_usage ->> 'cost')::numeric + (p_more ->> 'cost')::numeric,
    'unpriced_calls', (p_usage ->> 'unpriced_calls')::bigint + (p_more ->> 'unpriced_calls')::bigint) end
$$;

-- Keeps the calls of a turn whose row lock is held, and counts them for the day on which it was received. Each
-- connection counts in a row of its own, so that no commit waits for another one: hot.sum_usage adds these rows up.
-- `p_turn` is the turn before its usage had them.
create function hot.store_calls(p_turn turns, p_calls jsonb, p_at timestamptz) returns void language plpgsql as $$
begin
  if jsonb_array_length(p_calls) = 0 then
    return;
  end if;
  perform hot.store_recordings(p_turn, p_calls);
  with stored as (
    insert into llm_calls (tenant_id, turn_id, seq, conversation_id, purpose, model, prompt_tokens, cached_tokens,
                           completion_tokens, cost, duration_ms, finish_reason, at)
    select p_turn.tenant_id, p_turn.id, coalesce((p_turn.usage ->> 'llm_calls')::int, 0) + n, p_turn.conversation_id,
           c.purpose, c.model, c.prompt_tokens, c.cached_tokens, c.completion_tokens, c.cost, c.duration_ms,
           c.finish_reason, p_at
      from jsonb_array_elements(p_calls) with ordinality as listed(e, n),
           jsonb_to_record(e) as c(purpose text, model text, prompt_tokens int, cached_tokens int,
                                   completion_tokens int, cost numeric, duration_ms float, finish_reason text)
    returning *
  )
  insert into usage_days as d (tenant_id, day, agent, model, slot, llm_calls, prompt_tokens, cached_tokens,
                               completion_tokens, cost, unpriced_calls)
  select p_turn.tenant_id, (p_turn.created_at at time zone 'UTC')::date, p_turn.agent, model,
         1 + pg_backend_pid() % 1024, count(*), sum(prompt_tokens), sum(cached_tokens), sum(completion_tokens),
         coalesce(sum(cost), 0), count(*) filter (where cost is null)
    from stored group by model order by model
  on conflict (tenant_id, day, agent, model, slot) do update
     set llm_calls = d.llm_calls + excluded.llm_calls, prompt_tokens = d.prompt_tokens + excluded.prompt_tokens,
         cached_tokens = d.cached_tokens + excluded.cached_tokens,
         completion_tokens = d.completion_tokens + excluded.completion_tokens, cost = d.cost + excluded.cost,
         unpriced_calls = d.unpriced_calls + excluded.unpriced_calls;
end $$;

-- Adds up what the connections have counted, each in rows of its own, into slot 0. A row that somebody counts in just
-- now is left for the next time: to wait for it could be a deadlock. Out: how many rows were added up.
create function hot.sum_usage() returns bigint language sql as $$
  with free as materialized (
    select tenant_id, day, agent, model, slot from usage_days where slot > 0 for update skip locked
  ), taken as (
    delete from usage_days d using free f
     where d.tenant_id = f.tenant_id and d.day = f.day and d.agent = f.agent and d.model = f.model and d.slot = f.slot
    returning d.*
  ), summed as (
    insert into usage_days as d (tenant_id, day, agent, model, slot, llm_calls, prompt_tokens, cached_tokens,
                                 completion_tokens, cost, unpriced_calls)
    select tenant_id, day, agent, model, 0, sum(llm_calls), sum(prompt_tokens), sum(cached_tokens),
           sum(completion_tokens), sum(cost), sum(unpriced_calls)
      from taken group by tenant_id, day, agent, model order by tenant_id, day, agent, model
    on conflict (tenant_id, day, agent, model, slot) do update
       set llm_calls = d.llm_calls + excluded.llm_calls, prompt_tokens = d.prompt_tokens + excluded.prompt_tokens,
           cached_tokens = d.cached_tokens + excluded.cached_tokens,
           completion_tokens = d.completion_tokens + excluded.completion_tokens, cost = d.cost + excluded.cost,
           unpriced_calls = d.unpriced_calls + excluded.unpriced_calls
  )
  select count(*) from taken
$$;

-- Records calls by themselves: those of whoever had lost the turn meanwhile, or made them after its end.
create function hot.record_calls(p_turn uuid, p_calls jsonb) returns void language plpgsql as $$
declare
  t turns;
begin
  perform hot.lock_conversation(p_turn);
  select * into t from turns where id = p_turn for no key update;
  if not found then
    return;
  end if;
  update turns set usage = hot.add_calls(usage, p_calls) where id = p_turn;
  if t.finished_at is not null then  -- before, a turn's usage is not yet in its conversation's
    update conversations set usage = hot.add_calls(usage, p_calls)
     where tenant_id = t.tenant_id and id = t.conversation_id;
  end if;
  perform hot.store_calls(t, p_calls, clock_timestamp());
end $$;

-- What bounds the calls of a turn by its tenant's budget, and how much of it is spent: [{scope, unit, limit, spent}].
create function hot.allowances(p_turn turns) returns jsonb language plpgsql stable as $$
declare
  v_budget jsonb := (select budget from tenants where id = p_turn.tenant_id);
  v_spent jsonb;
begin
  if v_budget = '{}' then
    return '[]';
  end if;
  select jsonb_build_object('day', d.usage, 'conversation', hot.add_usage(c.usage, p_turn.usage),
                            'turn', p_turn.usage) into v_spent
    from conversations c, lateral (
      select jsonb_build_object('cost', sum(x.cost), 'prompt_tokens', sum(x.prompt_tokens),
                                'completion_tokens', sum(x.completion_tokens)) as usage
        from usage_days x
       where x.tenant_id = p_turn.tenant_id and x.day = (p_turn.created_at at time zone 'UTC')::date) d
   where c.tenant_id = p_turn.tenant_id and c.id = p_turn.conversation_id;
  return (
    select coalesce(jsonb_agg(jsonb_build_object(
             'scope', b.scope, 'unit', b.unit, 'limit', b.amount,
             'spent', case b.unit
                        when 'cost' then coalesce((s.usage ->> 'cost')::numeric, 0)
                        else coalesce((s.usage ->> 'prompt_tokens')::numeric, 0)
                             + coalesce((s.usage ->> 'completion_tokens')::numeric, 0) end)), '[]')
      from (select split_part(key, '_', 1) as scope, split_part(key, '_', 2) as unit, value as amount
              from jsonb_each(v_budget)) b,
           lateral (select v_spent -> b.scope as usage) s);
end $$;
