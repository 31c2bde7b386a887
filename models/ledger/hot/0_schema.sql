-- The statements of the hot path, one round trip and one commit each.
--
-- They live in a schema of their own that `turnloom migrate` makes anew, after the last revision. Order of locks, everywhere:
-- the conversation's row, then its turns'; steps and fragments only under their turn's lock. Who needs one turn alone takes no
-- more; who needs two, or a turn and its conversation, takes the conversation first. What must see the others' commits (who is
-- last?) takes its lock in a statement of its own first: each statement sees a new snapshot.
-- The time is read after the lock, so that what waited for it does not seem to have happened before.

drop schema if exists hot cascade;
create schema hot;
