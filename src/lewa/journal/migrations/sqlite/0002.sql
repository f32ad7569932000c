-- A row's checksum covers the row and the checksum of the row before it; rows of before have none.
ALTER TABLE journal ADD COLUMN checksum INTEGER;
-- When an agent was retired: it no longer counts among those that a service may have.
ALTER TABLE agents ADD COLUMN retired INTEGER;
-- Keys of decisions made elsewhere begin with a control character, which no key of a request has.
UPDATE OR IGNORE keys SET key = char(31) || key WHERE EXISTS (
  SELECT 1 FROM journal INDEXED BY journal_decision WHERE journal.agent = keys.agent AND journal.decision = keys.decision
  AND journal.kind = 'decision' AND CASE WHEN json_valid(journal.body) THEN journal.body ->> 'o' END
);
