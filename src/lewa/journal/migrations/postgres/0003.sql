-- A row's checksum covers the row and the checksum of the row before it; rows of before have none.
ALTER TABLE journal ADD COLUMN checksum bigint;
-- When an agent was retired: it no longer counts among those that a service may have.
ALTER TABLE agents ADD COLUMN retired bigint;
-- Keys of decisions made elsewhere begin with a control character, which no key of a request has.
UPDATE keys SET key = chr(31) || key WHERE EXISTS (
  SELECT 1 FROM journal WHERE journal.agent = keys.agent AND journal.decision = keys.decision
  AND journal.kind = 'decision' AND CASE WHEN journal.body LIKE '%"o":%' THEN (journal.body::json ->> 'o') = 'true' END
);
