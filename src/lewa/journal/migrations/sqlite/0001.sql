-- One journal per agent is the truth; everything else is derived from it or written in the same transaction.
CREATE TABLE agents (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, at INTEGER NOT NULL) STRICT;
CREATE TABLE journal (
  agent INTEGER NOT NULL REFERENCES agents (id),
  seq INTEGER NOT NULL,      -- the agent's own counter, from 1
  kind TEXT NOT NULL,        -- set, change, decision, feedback, close, late, run
  at INTEGER NOT NULL,       -- microseconds since 1970
  decision INTEGER,          -- the decision that the row is about
  body TEXT NOT NULL,        -- JSON
  PRIMARY KEY (agent, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX journal_decision ON journal (agent, decision) WHERE decision IS NOT NULL;
CREATE TABLE keys (
  agent INTEGER NOT NULL, key TEXT NOT NULL, decision INTEGER NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (agent, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX keys_at ON keys (agent, at);
CREATE TABLE snapshots (
  agent INTEGER NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, body BLOB NOT NULL, sha256 TEXT NOT NULL, state TEXT NOT NULL,
  PRIMARY KEY (agent, seq)
) STRICT;
CREATE TABLE api_keys (
  id TEXT PRIMARY KEY, sha256 TEXT NOT NULL, label TEXT NOT NULL, scopes TEXT NOT NULL, agents TEXT NOT NULL,
  rate REAL NOT NULL, at INTEGER NOT NULL, revoked INTEGER
) STRICT;
CREATE TABLE audit (
  id INTEGER PRIMARY KEY, at INTEGER NOT NULL, who TEXT NOT NULL, what TEXT NOT NULL, agent TEXT, before TEXT, after TEXT
) STRICT;
CREATE TABLE leases (
  agent INTEGER PRIMARY KEY, owner TEXT NOT NULL, address TEXT NOT NULL, epoch INTEGER NOT NULL, until INTEGER NOT NULL
) STRICT;
