-- What the last lookup of a family told beside its answer, so that a restart can show it and goes on backing off.
ALTER TABLE alias_target ADD COLUMN failures INTEGER NOT NULL DEFAULT 0 CHECK (failures BETWEEN 0 AND 255);
-- The state that the last lookup would be by itself, if it brought no answer.
ALTER TABLE alias_target ADD COLUMN error TEXT;
-- Address and port of whoever answered last.
ALTER TABLE alias_target ADD COLUMN upstream TEXT;
-- All names that CNAMEs led to from the target, JSON; NULL if there are none.
ALTER TABLE alias_target ADD COLUMN names TEXT;
ALTER TABLE alias_target ADD COLUMN takeover_risk INTEGER NOT NULL DEFAULT 0 CHECK (takeover_risk IN (0, 1));
