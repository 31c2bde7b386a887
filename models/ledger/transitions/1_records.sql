-- Events and audit records: what every other function appends.

create function hot.is_final(p_status text) returns boolean language sql immutable as $$
  select p_status in ('succeeded', 'needs_input', 'failed', 'skipped', 'cancelled', 'unknown')
$$;

create function hot.rfc3339(p_at timestamptz) returns text language sql stable as $$
  select to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
$$;

-- Stores events [{type, data}] of a turn whose row lock is held, as one row; the caller counts them in `last_event`. A
-- turn that was final takes none: its last event is the last that its readers wait for. Out: {turn_id, at, after: the
-- last event before, events}.
create function hot.store_events(p_turn turns, p_events jsonb, p_at timestamptz) returns jsonb language plpgsql as $$
begin
  if p_turn.finished_at is not null then
    p_events := '[]';
  elsif p_events <> '[]' then
    insert into turn_events (turn_id, seq, tenant_id, type, data, earlier, at)
    values (p_turn.id, p_turn.last_event + jsonb_array_length(p_events), p_turn.tenant_id, p_events -> -1 ->> 'type',
            coalesce(p_events -> -1 -> 'data', '{}'), p_events - -1, p_at);
  end if;
  return jsonb_build_object('turn_id', p_turn.id, 'at', hot.rfc3339(p_at), 'after', p_turn.last_event,
                            'events', p_events);
end $$;

-- The event that a worker has begun a step.
create function hot.step_started(p_step text, p_tool text, p_attempt int, p_worker text) returns jsonb
language sql stable as $$
  select jsonb_build_object('type', 'step.started', 'data', jsonb_build_object(
    'step', p_step, 'tool', p_tool, 'attempt', p_attempt, 'worker', p_worker))
$$;

-- The event that a step is final. `p_run` is what is told of its run: nothing where it was never claimed, the attempt
-- where its worker was lost or an operator decided it, hot.run_of where it ended by itself.
create function hot.step_finished(p_step text, p_tool text, p_status text, p_error jsonb, p_run jsonb) returns jsonb
language sql stable as $$
  select jsonb_build_object('type', 'step.finished', 'data', jsonb_strip_nulls(jsonb_build_object(
    'step', p_step, 'tool', p_tool, 'status', p_status, 'error', p_error)) || p_run)
$$;

-- What is told of the run of a step that has ended: its attempt, why no call was made, how long it took.
create function hot.run_of(p_attempt int, p_cache text, p_took interval) returns jsonb language sql stable as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'attempt', p_attempt, 'cache', p_cache, 'duration_ms', round(extract(epoch from p_took) * 1000, 3)))
$$;

-- How many events hot.store_events has stored.
create function hot.count_events(p_stored jsonb) returns int language sql immutable as $$
  select jsonb_array_length(p_stored -> 'events')
$$;

-- Stores events of a turn whose row lock is held, and counts them.
create function hot.append_events(p_turn turns, p_events jsonb, p_at timestamptz) returns jsonb language plpgsql as $$
declare
  v_events jsonb := hot.store_events(p_turn, p_events, p_at);
begin
  if hot.count_events(v_events) > 0 then
    update turns set last_event = last_event + hot.count_events(v_events) where id = p_turn.id;
  end if;
  return v_events;
end $$;

-- Appends one event to a turn. Null: there is no such turn.
create function hot.note(p_turn uuid, p_type text, p_data jsonb) returns jsonb language plpgsql as $$
declare
  t turns;
begin
  select * into t from turns where id = p_turn for no key update;
  if not found then
    return null;
  end if;
  return hot.append_events(t, jsonb_build_array(jsonb_build_object('type', p_type, 'data', p_data)), clock_timestamp());
end $$;

-- The hash of an audit record. The formula is that of models/ledger/audit.py.
create function hot.audit_hash(p_tenant uuid, p_conversation text, p_seq int, p_turn uuid, p_kind text,
                               p_at timestamptz, p_digest bytea, p_before bytea) returns bytea language sql stable as $$
  select sha256(convert_to(concat_ws('|', p_tenant, p_conversation, p_seq, p_turn, p_kind, hot.rfc3339(p_at),
                                     encode(p_digest, 'hex'), encode(p_before, 'hex')), 'UTF8'))
$$;

-- Stores the next record of a conversation's audit chain. The caller holds the conversation's lock, and writes what
-- comes out to its row. Out: the conversation with the number and the hash of this record.
create function hot.store_audit(c conversations, p_turn uuid, p_kind text, p_content jsonb, p_at timestamptz)
returns conversations language plpgsql as $$
declare
  v_digest bytea := sha256(convert_to(p_content::text, 'UTF8'));
begin
  c.audit_seq := c.audit_seq + 1;
  c.audit_hash := hot.audit_hash(c.tenant_id, c.id, c.audit_seq, p_turn, p_kind, p_at, v_digest, c.audit_hash);
  insert into audit (tenant_id, conversation_id, seq, turn_id, kind, content, digest, hash, at)
  values (c.tenant_id, c.id, c.audit_seq, p_turn, p_kind, p_content, v_digest, c.audit_hash, p_at);
  return c;
end $$;

-- Takes the lock of a turn's conversation, which whoever appends to its audit chain takes before the turn's.
create function hot.lock_conversation(p_turn uuid) returns void language plpgsql as $$
begin
  perform from conversations c
   where (c.tenant_id, c.id) = (select x.tenant_id, x.conversation_id from turns x where x.id = p_turn)
     for no key update;
end $$;

-- Appends a record to a conversation's audit chain.
create function hot.append_audit(p_tenant uuid, p_conversation text, p_turn uuid, p_kind text, p_content jsonb)
returns void language plpgsql as $$
declare
  c conversations;
begin
  select * into c from conversations where tenant_id = p_tenant and id = p_conversation for no key update;
  c := hot.store_audit(c, p_turn, p_kind, p_content, clock_timestamp());
  update conversations set audit_seq = c.audit_seq, audit_hash = c.audit_hash
   where tenant_id = p_tenant and id = p_conversation;
end $$;

-- Who acts, for the audit log: the name that is given, or that of the key.
create function hot.who(p_key uuid, p_by text) returns jsonb language plpgsql stable as $$
begin
  return jsonb_build_object('by', coalesce(p_by, (select name from keys where id = p_key)), 'key_id', p_key);
end $$;

-- Appends a record to a tenant's own audit chain: what belongs to no conversation. Its conversation is the empty text.
create function hot.append_tenant_audit(p_tenant uuid, p_kind text, p_content jsonb, p_key uuid, p_by text)
returns void language plpgsql as $$
declare
  c conversations;
begin
  c.tenant_id := p_tenant;
  c.id := '';
  select audit_seq, audit_hash into strict c.audit_seq, c.audit_hash from tenants where id = p_tenant for no key update;
  c := hot.store_audit(c, null, p_kind, jsonb_strip_nulls(p_content || hot.who(p_key, p_by)), clock_timestamp());
  update tenants set audit_seq = c.audit_seq, audit_hash = c.audit_hash where id = p_tenant;
end $$;

-- Appends a record of the tool calls among steps that have ended, by their events: who called what for whom, when, and
-- what came of it. A step that was never begun made no call, and one whose condition did not hold made none either. The
-- caller holds the locks of the conversation and the turn.
create function hot.audit_calls(p_turn turns, p_events jsonb) returns void language plpgsql as $$
declare
  v_calls jsonb;
begin
  select jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
           'step', s.id, 'tool', s.tool, 'effect', s.effect, 'status', s.status, 'attempt', s.attempt,
           'worker', s.worker, 'cache', s.cache, 'copy_of', s.copy_of, 'error', s.error -> 'code',
           'input_hash', s.input_hash, 'args_sha256', encode(sha256(convert_to(s.args::text, 'UTF8')), 'hex'),
           'result_sha256', encode(sha256(convert_to(s.result::text, 'UTF8')), 'hex'),
           'started_at', hot.rfc3339(s.started_at), 'ended_at', hot.rfc3339(s.finished_at))) order by s.position)
    into v_calls
    from steps s
   where s.turn_id = p_turn.id and s.started_at is not null and s.status <> 'skipped'
     and s.id = any (array(select e #>> '{data,step}' from jsonb_array_elements(p_events) e
                            where e ->> 'type' = 'step.finished'));
  if v_calls is not null then
    perform hot.append_audit(p_turn.tenant_id, p_turn.conversation_id, p_turn.id, 'calls.ended', jsonb_strip_nulls(
      jsonb_build_object('user', p_turn.person -> 'id', 'calls', v_calls)));
  end if;
end $$;

-- Finds turns of a tenant, the last accepted first, at most p_limit. p_asked has what they must have, each key only if
-- it counts: `status, agent, channel, account, tool, error, user, text` (words, as websearch_to_tsquery reads them),
-- `since, until` (ids). Each query names just what is asked, so that Postgres can choose an index by what it knows of
-- these values. The owner's rights, because under row-level security no index of texts and JSON could be used.
create function hot.find_turns(p_tenant uuid, p_asked jsonb, p_limit int) returns setof uuid
language plpgsql stable security definer set search_path = public, pg_temp as $$
declare
  v_forms constant jsonb := jsonb_build_object(
    'status', 't.status = %L',
    'agent', 't.agent = %L',
    'channel', $f$split_part(t.channel, ':', 1) = %L$f$,
    'account', $f$substr(t.channel, strpos(t.channel, ':') + 1) = %L$f$,
    'error', $f$t.error ->> 'code' = %L$f$,
    'user', $f$t.person ->> 'id' = %L$f$,
    'tool', $f$exists (select from plans p where p.turn_id = t.id and p.tenant_id = t.tenant_id
                        and jsonb_path_query_array(p.document, '$.steps[*].tool') ? %L)$f$,
    'text', $f$to_tsvector('simple',
                           regexp_replace(t.message, '([฀-໿က-႟ក-៿⺀-鿿가-힯豈-﫿])', ' \1 ', 'g'))
               @@ websearch_to_tsquery('simple', %L)$f$,
    'since', 't.id >= %L',
    'until', 't.id < %L');
  v_where text := format('t.tenant_id = %L', p_tenant);
  v_field record;
begin
  perform hot.demand_tenant(p_tenant);
  for v_field in select key, value from jsonb_each_text(p_asked) loop
    v_where := v_where || ' and ' || format(v_forms ->> v_field.key, v_field.value);
  end loop;
  return query execute format(
    $q$(select t.id from turns t where t.finished_at is not null and %1$s order by t.id desc limit %2$s)
       union all
       (select t.id from turns t
         where t.status in ('queued', 'planning', 'running', 'responding') and %1$s order by t.id desc limit %2$s)
       union all
       (select t.id from turns t where t.status = 'waiting_approval' and %1$s order by t.id desc limit %2$s)
       order by 1 desc limit %2$s$q$, v_where, p_limit);
end $$;
