-- Callbacks: the documents of final turns are posted to the addresses that callers gave.
--
-- A callback is pending until it is delivered or given up. It may be claimed from `due_at` on; a claim moves that to
-- the end of its lease. So a callback whose sender was lost is due again by itself, and a sender that comes too late
-- has an old attempt.

-- Puts the callback of a turn that becomes final into the outbox. The caller holds the turn's lock.
create function hot.queue_callback(t turns, p_at timestamptz) returns void language plpgsql as $$
begin
  insert into callbacks (turn_id, tenant_id, url, receiver, status, queued_at, due_at)
  values (t.id, t.tenant_id, t.callback_url, lower(split_part(split_part(t.callback_url, '/', 3), '?', 1)), 'pending',
          p_at, p_at);
end $$;

-- Claims the callback that has been due longest, except for the receivers that the caller must not post to now.
-- Null: there is none. Out: its columns, and `now`, in seconds since 1970.
create function hot.claim_callback(p_busy text[], p_lease_ms int) returns jsonb language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  c callbacks;
  v_at timestamptz := clock_timestamp();
begin
  select * into c from callbacks
   where status = 'pending' and due_at <= v_at and receiver <> all (p_busy)
   order by due_at limit 1 for no key update skip locked;
  if not found then
    return null;
  end if;
  update callbacks set attempt = c.attempt + 1, due_at = v_at + make_interval(secs => p_lease_ms / 1000.0)
   where turn_id = c.turn_id and tenant_id = c.tenant_id;
  return jsonb_build_object(
    'turn_id', c.turn_id, 'tenant_id', c.tenant_id, 'url', c.url, 'receiver', c.receiver, 'attempt', c.attempt + 1,
    'failures', c.failures, 'now', extract(epoch from v_at)::bigint);
end $$;

-- Records under its fence what became of an attempt. `p_outcome`: {status, answer, error}; for `pending`, which is to
-- be tried again, {wait_ms}. It is tried for a day, the last time at its end.
-- Null: the claim was lost. Out: the status of the callback.
create function hot.record_callback(p_turn uuid, p_attempt int, p_outcome jsonb) returns text language plpgsql as $$
declare
  c callbacks;
  v_at timestamptz;
  v_end timestamptz;
  v_status text := p_outcome ->> 'status';
begin
  perform hot.lock_conversation(p_turn);
  select * into c from callbacks
   where turn_id = p_turn and attempt = p_attempt and status = 'pending' for no key update;
  if not found then
    return null;
  end if;
  v_at := clock_timestamp();
  v_end := c.queued_at + interval '1 day';
  if v_status = 'pending' and v_at >= v_end then
    v_status := 'failed';
  end if;
  update callbacks
     set status = v_status, answer = (p_outcome ->> 'answer')::int, error = nullif(p_outcome -> 'error', 'null'),
         failures = failures + (v_status <> 'delivered')::int,
         due_at = case v_status when 'pending'
                    then least(v_at + make_interval(secs => (p_outcome ->> 'wait_ms')::int / 1000.0), v_end) end,
         finished_at = case when v_status <> 'pending' then v_at end
   where turn_id = p_turn and tenant_id = c.tenant_id;
  if v_status <> 'pending' then
    perform hot.append_audit(c.tenant_id, t.conversation_id, p_turn, 'callback.ended', jsonb_strip_nulls(
      jsonb_build_object('status', v_status, 'receiver', c.receiver, 'answer', p_outcome -> 'answer',
                         'error', p_outcome #> '{error,code}')))
      from turns t where t.id = p_turn;
  end if;
  return v_status;
end $$;

-- Lets a callback that was given up be sent again, for another day.
-- Null: the turn has none. Out: its status before; only if that is `failed`, anything has changed.
create function hot.redrive_callback(p_turn uuid, p_key uuid, p_by text) returns text language plpgsql as $$
declare
  t turns;
  c callbacks;
  v_at timestamptz;
begin
  perform hot.lock_conversation(p_turn);
  select * into t from turns where id = p_turn;
  select * into c from callbacks where turn_id = p_turn for no key update;
  if not found or c.status <> 'failed' then
    return c.status;
  end if;
  v_at := clock_timestamp();
  update callbacks set status = 'pending', failures = 0, answer = null, error = null, finished_at = null,
         queued_at = v_at, due_at = v_at
   where turn_id = p_turn and tenant_id = c.tenant_id;
  perform hot.append_audit(t.tenant_id, t.conversation_id, p_turn, 'callback.redriven',
                           jsonb_strip_nulls(hot.who(p_key, p_by)));
  return c.status;
end $$;
