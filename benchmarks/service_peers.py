"""What others reach on the same machine: a plain service with one commit per call, and a published router."""

import secrets
from pathlib import Path

from benchmarks.service_load import ROOT, Load, Target

from lewa.serve.loopback import Connection

FASTAPI = """
import sqlite3, json, random
from fastapi import FastAPI
from pydantic import BaseModel
app, db = FastAPI(), sqlite3.connect("peer.sqlite3", isolation_level=None, check_same_thread=False)
db.execute("PRAGMA journal_mode=WAL"); db.execute("PRAGMA synchronous=FULL")
db.execute("CREATE TABLE IF NOT EXISTS journal (id INTEGER PRIMARY KEY, body TEXT)")
class Query(BaseModel):
    key: str | None = None
class Entry(BaseModel):
    decision: str
    reward: float
    cost: float
@app.get("/ready")
def ready(): return "ready"
@app.post("/v1/agents/router/decide")
async def decide(query: Query):
    action = random.choice(["small", "medium", "large"])
    row = db.execute("INSERT INTO journal (body) VALUES (?)", (json.dumps({"action": action}),))
    return {"decision": f"router:{row.lastrowid}", "action": action, "probability": 1/3}
@app.post("/v1/agents/router/feedback")
async def feedback(entries: list[Entry]):
    for entry in entries:
        db.execute("INSERT INTO journal (body) VALUES (?)", (entry.model_dump_json(),))
    return {"told": [{"decision": entry.decision, "result": "learned"} for entry in entries]}
"""
LITELLM = """
model_list:
  - {model_name: router, litellm_params: {model: openai/small, api_key: none, mock_response: "yes"}}
  - {model_name: router, litellm_params: {model: openai/large, api_key: none, mock_response: "yes"}}
router_settings: {routing_strategy: simple-shuffle}
general_settings: {master_key: KEY}
"""
ASK = b'{"model": "router", "messages": [{"role": "user", "content": "hello"}]}'


def fastapi(folder: Path, port: int) -> Target | None:
    """Start a plain service with FastAPI and one commit per call, without any learner; None where it is not installed."""
    python = ROOT / "build" / "fastapi" / "bin" / "python"
    if not python.exists():
        return None
    folder.mkdir()
    (folder / "peer.py").write_text(FASTAPI)
    command = [str(python), "-m", "uvicorn", "peer:app", "--port", str(port), "--log-level", "critical", "--no-access-log"]
    return Target(command, folder, port, "none")


def litellm(folder: Path, port: int) -> Target | None:
    """Start the proxy of LiteLLM with answers that it makes up itself; None where it is not installed."""
    program = ROOT / "build" / "litellm" / "bin" / "litellm"
    if not program.exists():
        return None
    folder.mkdir()
    key = f"sk-{secrets.token_hex(32)}"
    (folder / "config.yaml").write_text(LITELLM.replace("KEY", key))
    command = [str(program), "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port)]
    try:
        return Target(command, folder, port, key, "/health/liveliness")
    except OSError as error:
        print(f"LiteLLM did not start: {str(error)[-300:]}", flush=True)
        return None


class Completions(Load):
    """Callers that ask a router for a completion: one choice of a model per call, which is written nowhere."""

    entries = 1

    async def round(self, connection: Connection) -> None:
        await self.call(connection, "POST", "/chat/completions", ASK)
        self.done += 1
