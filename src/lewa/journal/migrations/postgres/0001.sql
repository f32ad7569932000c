-- One journal per agent is the truth; everything else is derived from it or written in the same transaction.
CREATE TABLE agents (id bigint PRIMARY KEY, name text NOT NULL UNIQUE, at bigint NOT NULL);
CREATE TABLE journal (
  agent bigint NOT NULL REFERENCES agents (id),
  seq bigint NOT NULL,       -- the agent's own counter, from 1; never a sequence, whose numbers appear out of order
  kind text NOT NULL,        -- set, change, decision, feedback, close, late, run
  at bigint NOT NULL,        -- microseconds since 1970
  decision bigint,           -- the decision that the row is about
  body text NOT NULL,        -- JSON
  PRIMARY KEY (agent, seq)
);
CREATE INDEX journal_decision ON journal (agent, decision) WHERE decision IS NOT NULL;
CREATE TABLE keys (
  agent bigint NOT NULL, key text NOT NULL, decision bigint NOT NULL, at bigint NOT NULL, PRIMARY KEY (agent, key)
);
CREATE INDEX keys_at ON keys (agent, at);
CREATE TABLE snapshots (
  agent bigint NOT NULL, seq bigint NOT NULL, at bigint NOT NULL, body bytea NOT NULL, sha256 text NOT NULL,
  state text NOT NULL, PRIMARY KEY (agent, seq)
);
CREATE TABLE api_keys (
  id text PRIMARY KEY, sha256 text NOT NULL, label text NOT NULL, scopes text NOT NULL, agents text NOT NULL,
  rate double precision NOT NULL, at bigint NOT NULL, revoked bigint
);
CREATE TABLE audit (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at bigint NOT NULL, who text NOT NULL, what text NOT NULL,
  agent text, before text, after text
);
-- Who may write an agent's journal. The epoch grows with every change of owner and is checked in every batch.
CREATE TABLE leases (
  agent bigint PRIMARY KEY REFERENCES agents (id), owner text NOT NULL, address text NOT NULL, epoch bigint NOT NULL,
  until timestamptz NOT NULL
);
CREATE TABLE replicas (owner text PRIMARY KEY, address text NOT NULL, until timestamptz NOT NULL);
