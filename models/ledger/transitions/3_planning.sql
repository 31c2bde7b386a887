-- Planning: a claimed turn gets its steps, some of them before the plan is whole.

-- Whether a planner may claim a turn: it is queued and was handed over, or nobody holds it any more.
create function hot.is_to_be_planned(p_turn turns) returns boolean language sql stable as $$
  select (p_turn.status = 'queued' and p_turn.sent_at is not null)
      or (p_turn.status = 'planning' and coalesce(p_turn.lease_until < clock_timestamp(), true))
$$;

-- Claims the planning of a turn that was handed to the planners, for the first time or again, or whose planner's lease
-- has run out. What a planner before us had started early is cancelled, and the new generation keeps messages about it
-- from starting anything. A turn whose plan the language model drafts is claimed only where `p_may_draft`, and not for
-- the tenants `p_crowded`.
-- Null: not ours to plan. {crowded: its tenant}: it is to be planned, but not so. Otherwise the turn, with what its
-- planner is told.
create function hot.claim_turn(p_turn uuid, p_lease_ms int, p_may_draft boolean, p_crowded uuid[], p_exchanges int,
                               p_results int)
returns jsonb language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  t turns;
  v_at timestamptz;
  v_events jsonb;
begin
  -- What an earlier planner has begun may have to be cancelled, which is audited.
  if exists (select from turns where id = p_turn and (status = 'planning' or open_steps > 0)) then
    perform hot.lock_conversation(p_turn);
  end if;
  update turns x set status = 'planning', attempt = x.attempt + 1, generation = x.generation + 1,
         planning_at = clock_timestamp(), begun_at = coalesce(x.begun_at, clock_timestamp()), tries = x.tries + 1,
         last_event = x.last_event + 1, lease_until = clock_timestamp() + make_interval(secs => p_lease_ms / 1000.0)
   where x.id = p_turn and hot.is_to_be_planned(x)
     and (x.submitted_plan is not null or (p_may_draft and x.tenant_id <> all (p_crowded)))
  returning x.* into t;
  if not found then
    return (select jsonb_build_object('crowded', x.tenant_id) from turns x
             where x.id = p_turn and hot.is_to_be_planned(x) and x.submitted_plan is null
               and not (p_may_draft and x.tenant_id <> all (p_crowded)));
  end if;
  v_at := t.planning_at;
  t.last_event := t.last_event - 1;  -- the event of this claim, which most often is the only one
  v_events := case when t.open_steps > 0 then hot.cancel_open(t, 'its planner was lost', v_at) else '[]' end;
  v_events := hot.store_events(
    t, v_events || jsonb_build_object('type', 'plan.started', 'data', jsonb_build_object('revision', t.revision + 1)),
    v_at);
  if t.open_steps > 0 then
    update turns set open_steps = 0, last_event = t.last_event + hot.count_events(v_events) where id = p_turn;
  end if;
  return (to_jsonb(t) - array['body_hash', 'transcript_digest', 'pieces']) || jsonb_build_object(
    'slots', coalesce(t.slots, (select c.slots from conversations c
                                 where c.tenant_id = t.tenant_id and c.id = t.conversation_id)),
    'events', v_events, 'left_ms', greatest(0, round(extract(epoch from t.deadline_at - v_at) * 1000)),
    'allowances', hot.allowances(t),
    'early_attempt', 1 + coalesce((select max(attempt) from steps where turn_id = p_turn and revision = 0), 0),
    'at', extract(epoch from v_at), 'recalled', case when t.submitted_plan is null then hot.recall(t, p_exchanges,
        p_results) end);
end $$;

-- Stores steps as pending. One that was started early and cancelled may come again under its id, with another call: it
-- keeps its attempts, so that who ran it then can record nothing now. A step of an earlier revision stays as it is.
create function hot.store_steps(p_turn turns, p_revision int, p_steps jsonb, p_at timestamptz)
returns void language sql as $$
  insert into steps (turn_id, id, tenant_id, revision, position, tool, args, needs, inputs, effect, queue, inline,
                     critical, run_if, fallbacks, on_need_error, timeout_ms, copy_of, ready_at)
  select p_turn.id, s.id, p_turn.tenant_id, p_revision, s.position, s.tool, s.args, s.needs, s.inputs, s.effect,
         s.queue, s.inline, s.critical, s.run_if, s.fallbacks, s.on_need_error, s.timeout_ms, s.copy_of,
         case when s.needs = '{}' then p_at end
    from jsonb_populate_recordset(null::steps, p_steps) s
  on conflict (turn_id, id, tenant_id) do update
     set revision = excluded.revision, position = excluded.position, tool = excluded.tool, args = excluded.args,
         needs = excluded.needs, inputs = excluded.inputs, effect = excluded.effect, queue = excluded.queue,
         inline = excluded.inline, critical = excluded.critical, run_if = excluded.run_if,
         fallbacks = excluded.fallbacks, on_need_error = excluded.on_need_error, timeout_ms = excluded.timeout_ms,
         copy_of = excluded.copy_of, ready_at = excluded.ready_at, status = 'pending',
         lease_until = null, not_before = null, parked = 0, worker = null, cache = null, started_at = null,
         finished_at = null, result = null, error = null
   where steps.revision = 0
$$;

-- Stores reads that their planner has begun, each in the state that it is in: [columns of `steps`, began_at and
-- ended_at in seconds since 1970, remember]. Under the turn's lock and fence. One whose row is of an earlier attempt
-- takes its place. Out: the events of what was not known before, in the order of their times.
create function hot.store_begun(p_turn turns, p_revision int, p_begun jsonb, p_worker text, p_lease_ms int,
                                p_at timestamptz)
returns jsonb language plpgsql as $$
declare
  v_told jsonb;
begin
  with before as materialized (
    select id, attempt, hot.is_final(status) as has_ended from steps where turn_id = p_turn.id and revision = 0
  ), stored as (
    insert into steps as x (turn_id, id, tenant_id, revision, position, tool, args, needs, inputs, effect, queue,
                            inline, critical, run_if, fallbacks, on_need_error, timeout_ms, copy_of, status, attempt,
                            worker, lease_until, ready_at, started_at, finished_at, result, error, cache, input_hash)
    select p_turn.id, s.id, p_turn.tenant_id, p_revision, s.position, s.tool, s.args, s.needs, s.inputs, s.effect,
           s.queue, s.inline, s.critical, s.run_if, s.fallbacks, s.on_need_error, s.timeout_ms, s.copy_of, s.status,
           s.attempt, p_worker,
           case s.status when 'running' then p_at + make_interval(secs => p_lease_ms / 1000.0) end,
           to_timestamp(b.began_at), to_timestamp(b.began_at), to_timestamp(b.ended_at), s.result, s.error, s.cache,
           s.input_hash
      from jsonb_array_elements(p_begun) e, jsonb_populate_record(null::steps, e) s,
           jsonb_to_record(e) as b(began_at float, ended_at float)
    on conflict (turn_id, id, tenant_id) do update
       set revision = excluded.revision, position = excluded.position, tool = excluded.tool, args = excluded.args,
           needs = excluded.needs, inputs = excluded.inputs, effect = excluded.effect, queue = excluded.queue,
           inline = excluded.inline, critical = excluded.critical, run_if = excluded.run_if,
           fallbacks = excluded.fallbacks, on_need_error = excluded.on_need_error, timeout_ms = excluded.timeout_ms,
           copy_of = excluded.copy_of, status = excluded.status, attempt = excluded.attempt, worker = excluded.worker,
           lease_until = excluded.lease_until, not_before = null, parked = 0, ready_at = excluded.ready_at,
           started_at = excluded.started_at, finished_at = excluded.finished_at, result = excluded.result,
           error = excluded.error, cache = excluded.cache, input_hash = excluded.input_hash
     where x.revision = 0
    returning x.*
  ), told as (
    select s.started_at as at, 1 as place, s.id, hot.step_started(s.id, s.tool, s.attempt, s.worker) as event
      from stored s where not exists (select from before b where b.id = s.id and b.attempt = s.attempt)
     union all
    select s.finished_at, 0, s.id, hot.step_finished(
             s.id, s.tool, s.status, s.error, hot.run_of(s.attempt, s.cache, s.finished_at - s.started_at))
      from stored s
     where hot.is_final(s.status) and not exists (
             select from before b where b.id = s.id and b.attempt = s.attempt and b.has_ended)
  )
  select coalesce(jsonb_agg(event order by at, place, id), '[]') into v_told from told;
  if p_begun @? '$[*].remember.tool' then
    perform hot.remember(p_turn, p_begun, array(select e ->> 'id' from jsonb_array_elements(p_begun) e), p_at);
  end if;
  return v_told;
end $$;

-- Returns the events [{type, data, after}] that the ledger does not have yet. `after` is there where an earlier commit
-- may have told of an event: the number of the last event before that commit.
create function hot.untold(p_turn turns, p_told jsonb) returns jsonb language plpgsql stable as $$
begin
  if not p_told @? '$[*].after' then
    return p_told;
  end if;
  return (
    select coalesce(jsonb_agg(e - 'after' order by place), '[]')
      from jsonb_array_elements(p_told) with ordinality as listed(e, place)
     where not exists (
       select from turn_events x where x.turn_id = p_turn.id and x.seq > (e ->> 'after')::int
          and x.earlier || jsonb_build_object('type', x.type, 'data', x.data) @> jsonb_build_array(e - 'after')));
end $$;

-- Records reads that their planner has begun while it waits for the rest of their plan, `p_told` before them:
-- hot.untold. Null: the claim was lost. Out: events.
create function hot.keep_begun(p_turn uuid, p_attempt int, p_begun jsonb, p_told jsonb, p_worker text, p_lease_ms int)
returns jsonb language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  t turns;
  v_at timestamptz;
  v_events jsonb;
begin
  perform hot.lock_conversation(p_turn);
  select * into t from turns where id = p_turn and attempt = p_attempt and status = 'planning' for no key update;
  if not found then
    return null;
  end if;
  v_at := clock_timestamp();
  v_events := hot.store_begun(t, 0, p_begun, p_worker, p_lease_ms, v_at);
  perform hot.audit_calls(t, v_events);
  v_events := hot.store_events(t, hot.untold(t, p_told) || v_events, v_at);
  update turns set open_steps = hot.count_open(p_turn), last_event = last_event + hot.count_events(v_events)
   where id = p_turn;
  return v_events;
end $$;

-- How many steps of a turn are not final.
create function hot.count_open(p_turn uuid) returns bigint language sql stable as $$
  select count(*) from steps where turn_id = p_turn and not hot.is_final(status)
$$;

-- How many steps of a capped turn are under way: those that run, whatever message brought them, and those that were
-- sent in this generation and that nobody has claimed yet. One that was parked since it was sent takes no place: that
-- of an early step was sent before the plan was recorded. Each fragment of such a turn is one step.
create function hot.in_flight(p_turn turns) returns bigint language sql stable as $$
  select count(*) from steps s
   where s.turn_id = p_turn.id and (s.status = 'running' or (s.status = 'pending' and (
           (s.not_before is null and s.id in (
              select f.steps[1] from fragments f
               where f.turn_id = p_turn.id and f.generation = p_turn.generation and f.sent_at is not null))
           or (s.not_before <= p_turn.compiled_at and s.id in (
              select f.steps[1] from fragments f
               where f.turn_id = p_turn.id and f.generation = p_turn.generation and f.sent_at >= p_turn.compiled_at)))))
$$;

-- The fragments of a capped turn that are ready and that there is a place for: their numbers, in the order of the plan.
create function hot.next_within_cap(p_turn turns) returns int[] language sql stable as $$
  with open as materialized (
    select array_agg(id) as steps, array_agg(id) filter (where status = 'pending') as pending
      from steps where turn_id = p_turn.id and not hot.is_final(status)
  )
  select array(
    select f.number from fragments f, open
     where f.turn_id = p_turn.id and f.generation = p_turn.generation and f.sent_at is null
       and f.steps && open.pending and not f.needs && open.steps
     order by f.number limit greatest(0, p_turn.max_parallel - hot.in_flight(p_turn)))
$$;

-- Stores fragments of a turn's generation, under its lock. Those whose needs are all final count as sent, as many as
-- the turn's cap allows, and are the caller's to publish. Out: their numbers.
create function hot.store_fragments(p_turn turns, p_fragments jsonb, p_at timestamptz)
returns int[] language plpgsql as $$
declare
  v_sent int[];
begin
  with stored as (
    insert into fragments (turn_id, generation, number, tenant_id, needs, steps, queue, inline, expression, sent_at)
    select p_turn.id, p_turn.generation, f.number, p_turn.tenant_id, f.needs, f.steps, f.queue, f.inline, f.expression,
           case when p_turn.max_parallel is null and not exists (
             select 1 from steps n
              where n.turn_id = p_turn.id and n.id = any (f.needs) and not hot.is_final(n.status)) then p_at end
      from jsonb_populate_recordset(null::fragments, p_fragments) f
    returning number, sent_at
  )
  select coalesce(array_agg(number order by number), '{}') into v_sent from stored where sent_at is not null;
  if p_turn.max_parallel is not null then
    v_sent := hot.next_within_cap(p_turn);
    update fragments set sent_at = p_at
     where turn_id = p_turn.id and generation = p_turn.generation and number = any (v_sent);
  end if;
  return v_sent;
end $$;

-- Stores the fragments of the generation that hot.reclaim has begun, in its transaction. Out: as hot.store_fragments.
create function hot.store_canvas(p_turn uuid, p_fragments jsonb) returns int[] language sql as $$
  select hot.store_fragments(t, p_fragments, t.compiled_at) from turns t where t.id = p_turn
$$;

-- Tells of steps that were written, `p_told`, and starts those of them that need not wait for the rest of their plan,
-- each as a fragment of its own in the generation that the plan will have. Revision 0 means that no plan holds them
-- yet. `p_max_parallel` is their agent's cap.
-- Null: the claim was lost. Out: {ready: [numbers of the fragments to publish], events}.
create function hot.start_early(p_turn uuid, p_attempt int, p_steps jsonb, p_fragments jsonb, p_max_parallel int,
                                p_told jsonb)
returns jsonb language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  t turns;
  v_at timestamptz;
  v_ended jsonb;
  v_ready int[];
begin
  select * into t from turns where id = p_turn and attempt = p_attempt and status = 'planning' for no key update;
  if not found then
    return null;
  end if;
  v_at := clock_timestamp();
  perform hot.store_steps(t, 0, p_steps, v_at);
  v_ended := hot.end_impossible(p_turn, false, v_at);
  t.max_parallel := p_max_parallel;
  v_ready := hot.store_fragments(t, p_fragments, v_at);
  update turns set open_steps = open_steps + jsonb_array_length(p_steps) - jsonb_array_length(v_ended),
         max_parallel = p_max_parallel
   where id = p_turn;
  return jsonb_build_object(
    'ready', (select coalesce(jsonb_agg(f.number order by f.number), '[]') from fragments f
               where f.turn_id = p_turn and f.generation = t.generation and f.number = any (v_ready)
                 and not f.steps && array(select e #>> '{data,step}' from jsonb_array_elements(v_ended) e)),
    'events', hot.append_events(t, p_told || v_ended, v_at));
end $$;

-- Cancels the steps that were started early, because their plan is refused or does not hold them; the new generation
-- keeps messages about them from starting anything. Null: the claim was lost. Out: events.
create function hot.drop_early(p_turn uuid, p_attempt int) returns jsonb language plpgsql as $$
declare
  t turns;
  v_at timestamptz;
  v_events jsonb;
begin
  perform hot.lock_conversation(p_turn);
  select * into t from turns where id = p_turn and attempt = p_attempt and status = 'planning' for no key update;
  if not found then
    return null;
  end if;
  v_at := clock_timestamp();
  v_events := hot.cancel_open(t, 'the plan that it was of is refused', v_at);
  update turns set generation = generation + 1, open_steps = open_steps - jsonb_array_length(v_events)
   where id = p_turn;
  return hot.append_events(t, v_events, v_at);
end $$;

-- The steps that a plan has before it is recorded: those that its planner has begun, and those that were started early
-- in this generation.
create function hot.early_steps(p_turn uuid, p_generation int, p_begun jsonb) returns text[] language plpgsql as $$
begin
  return array(select jsonb_array_elements_text(p_begun -> 'known')
               union all select e ->> 'id' from jsonb_array_elements(p_begun -> 'steps') e
               union all select unnest(f.steps) from fragments f
                          where f.turn_id = p_turn and f.generation = p_generation);
end $$;

-- Makes early steps the plan's, and ends what has become impossible. Out: events.
create function hot.adopt_early(p_turn uuid, p_revision int, p_early text[], p_on_error text, p_at timestamptz)
returns jsonb language plpgsql as $$
begin
  update steps set revision = p_revision where turn_id = p_turn and id = any (p_early);
  return hot.end_impossible(p_turn, p_on_error = 'fail_fast' and exists (
    select from steps where turn_id = p_turn and id = any (p_early) and status = 'failed' and critical), p_at);
end $$;

-- The event that a plan is recorded.
create function hot.plan_recorded(p_turn uuid, p_revision int, p_action text) returns jsonb language plpgsql as $$
begin
  return jsonb_build_object(
    'type', case p_revision when 1 then 'plan.ready' else 'plan.revised' end, 'data', jsonb_build_object(
      'revision', p_revision, 'action', p_action,
      'steps', (select coalesce(jsonb_agg(jsonb_build_object(
                         'id', s.id, 'tool', s.tool, 'needs', array_remove(s.needs, s.copy_of)) order by s.position),
                       '[]')
                  from steps s where s.turn_id = p_turn and s.revision = p_revision)));
end $$;

-- Stores a plan, with its audit record. The caller holds the locks of the conversation and the turn.
create function hot.store_plan(t turns, p_plan jsonb, p_at timestamptz) returns void language plpgsql as $$
begin
  insert into plans (turn_id, revision, tenant_id, format, source, document, trace, created_at)
  values (t.id, t.revision + 1, t.tenant_id, (p_plan ->> 'format')::smallint,
          p_plan ->> 'source', p_plan -> 'document', p_plan -> 'trace', p_at);
  perform hot.append_audit(t.tenant_id, t.conversation_id, t.id, 'plan.recorded', jsonb_build_object(
    'revision', t.revision + 1, 'source', p_plan -> 'source',
    'plan_sha256', encode(sha256(convert_to(p_plan ->> 'document', 'UTF8')), 'hex')));
end $$;

-- Lets a turn run the plan that was recorded, or be answered where it has no open steps. Its calls and events are
-- counted.
create function hot.run_plan(p_turn uuid, p_plan jsonb, p_open int, p_calls jsonb, p_told int, p_at timestamptz)
returns void language plpgsql as $$
begin
  update turns t
     set status = case when p_open > 0 then 'running' else 'responding' end, open_steps = p_open,
         compiled_at = p_at, planned_at = p_at, responding_at = case when p_open = 0 then p_at end,
         planning_ms = t.planning_ms + extract(epoch from p_at - t.planning_at) * 1000,
         revision = t.revision + 1, tries = 0, error = null, placement = p_plan ->> 'placement',
         max_parallel = (p_plan ->> 'max_parallel')::int, slots = coalesce(p_plan -> 'slots', t.slots),
         action = p_plan #>> '{document,action}', synthesis_hint = p_plan #>> '{document,synthesis_hint}',
         usage = hot.add_calls(t.usage, p_calls), last_event = t.last_event + p_told
   where t.id = p_turn;
end $$;

-- Records a plan, `p_plan`: {format, source, document, trace, placement, max_parallel, slots}. `max_parallel` is the
-- cap on steps at a time, where the plan could have more; then each fragment is one step. Without `slots` the turn
-- keeps those that it has.
-- `p_begun` are the plan's too, as are the steps that were started early in this generation: `p_steps` and
-- `p_fragments` are the rest.
--   steps       reads that their planner has begun, in the states that they are in: hot.store_begun
--   known       [step ids]: the others that it has begun, whose state is recorded already
--   told        events of steps that were written and that nobody has been told of: hot.untold. They come first
-- Of what is ready the planner takes as much as it has slots for, `p_asked`: {queue, take, worker, lease_ms}, as of
-- hot.take.
-- Where no step is open, the turn is left in our hands, to respond; a worker that has begun its steps gets the reply's
-- `material`.
-- Null: the claim was lost. Out: {generation, open_steps, material, claimed: [{lane, step}], fragments: [expression] to
-- publish, at: the time in seconds since 1970, events}.
create function hot.record_plan(p_turn uuid, p_attempt int, p_plan jsonb, p_steps jsonb, p_fragments jsonb,
                                p_begun jsonb, p_calls jsonb, p_asked jsonb)
returns jsonb language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  t turns;
  v_at timestamptz;
  v_revision int;
  v_has_begun boolean := p_begun -> 'steps' <> '[]' or p_begun -> 'known' <> '[]';
  v_early text[];
  v_told jsonb;
  v_ended jsonb := '[]';
  v_taken jsonb;
  v_open int;
begin
  perform hot.lock_conversation(p_turn);
  select * into t from turns where id = p_turn and attempt = p_attempt and status = 'planning' for no key update;
  if not found then
    return null;
  end if;
  v_at := clock_timestamp();
  v_revision := t.revision + 1;
  perform hot.store_plan(t, p_plan, v_at);
  v_told := hot.untold(t, p_begun -> 'told');
  if p_begun -> 'steps' <> '[]' then
    v_told := v_told || hot.store_begun(
      t, v_revision, p_begun -> 'steps', p_asked ->> 'worker', (p_asked ->> 'lease_ms')::int, v_at);
    perform hot.audit_calls(t, v_told);
  end if;
  v_early := hot.early_steps(p_turn, t.generation, p_begun);
  perform hot.store_steps(t, v_revision, p_steps, v_at);
  if v_early <> '{}' or v_revision > 1 then
    v_ended := hot.adopt_early(p_turn, v_revision, v_early, t.on_error, v_at);
  end if;
  t.max_parallel := (p_plan ->> 'max_parallel')::int;
  v_taken := hot.take_first(t, p_fragments, p_asked, v_at);
  v_open := case when v_has_begun then hot.count_open(p_turn)
                 else t.open_steps + jsonb_array_length(p_steps) - jsonb_array_length(v_ended) end;
  v_told := hot.store_events(
    t, v_told || hot.plan_recorded(p_turn, v_revision, p_plan #>> '{document,action}') || v_ended
       || hot.started(v_taken -> 'claimed', p_asked ->> 'worker'), v_at);
  perform hot.run_plan(p_turn, p_plan, v_open, p_calls, hot.count_events(v_told), v_at);
  perform hot.store_calls(t, p_calls, v_at);
  return v_taken || jsonb_build_object(
    'generation', t.generation, 'open_steps', v_open, 'at', extract(epoch from v_at), 'events', v_told,
    'material', case when v_open = 0 and v_has_begun then hot.reply_material(p_turn) end);
end $$;

-- Gives a turn that was to be answered back to the planners, under its fence. While nobody has claimed it, it has no
-- lease.
-- False: the claim was lost, or the turn was closed.
create function hot.plan_again(p_turn uuid, p_attempt int, p_again text) returns boolean language sql as $$
  with given_back as (
    update turns t set status = 'planning', attempt = t.attempt + 1, again = p_again, sent_at = clock_timestamp(),
           lease_until = null, responding_at = null
     where t.id = p_turn and t.attempt = p_attempt and t.status = 'responding' and t.ending is null
    returning 1
  )
  select exists (select 1 from given_back)
$$;
