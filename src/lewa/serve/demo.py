"""A demonstration: one agent, a bounded stream of simulated traffic, and a price shock half-way."""

import asyncio
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from lewa.serve.loopback import Connection

SETUP: dict[str, Any] = {
    "name": "router",
    "actions": ["small", "medium", "large"],
    "constraints": [{"name": "cost", "at_most": 0.004, "range": [0, 0.02]}, {"name": "quality", "at_least": 0.62}],
    "reward": {"range": [0, 1]},
    "seed": 7,
    "answers": {"close_after": "20s", "max_open": 5000},
    "safety": {"fallback": "small"},
    "caps": [{"constraint": "cost", "total": 20, "per": "minute", "worst": {"small": 0.002, "medium": 0.015}}],
}
WORTH = {"small": (0.55, 0.001, 0.6), "medium": (0.70, 0.004, 0.72), "large": (0.88, 0.012, 0.9)}  # reward, cost, quality
SHOCK = 2.5  # by which "medium" is dearer in the second half
LOST = 0.03  # of the answers never come
RATE = 60.0  # decisions a second


async def traffic(port: int, key: str, decisions: int = 6000, rate: float = RATE, callers: int = 4) -> None:
    """Decide and answer, late and in parts, at a steady rate until the count is reached."""
    async with Connection(port, key) as connection:
        status, answer = await connection.call("POST", "/v1/agents", SETUP)
        if status not in (201, 409):
            raise ValueError(f"the demonstration's agent was refused: {answer}")
    rng, counter = random.Random(1), iter(range(decisions))
    await asyncio.gather(*(_caller(port, key, counter, decisions, callers / rate, rng) for _ in range(callers)))


async def _caller(port: int, key: str, counter: Any, decisions: int, pause: float, rng: random.Random) -> None:
    path = f"/v1/agents/{SETUP['name']}"
    waiting: list[tuple[int, dict[str, Any]]] = []
    async with Connection(port, key) as connection:
        for n in counter:
            if n == decisions // 2:
                print(f"From now on medium costs {SHOCK:g} times as much: watch its share and the cost.", flush=True)
            status, made = await connection.call("POST", f"{path}/decide", {"key": f"demo-{rng.getrandbits(64)}"})
            if status != 200:
                await asyncio.sleep(1)
                continue
            reward, cost, quality = WORTH[made["action"]]
            if made["action"] == "medium" and n > decisions / 2:
                cost *= SHOCK
            bill = {"cost": cost * rng.uniform(0.5, 1.5), "quality": min(1.0, max(0.0, rng.gauss(quality, 0.1)))}
            answer = {"decision": made["decision"], "reward": float(rng.random() < reward), **bill}
            if rng.random() > LOST:
                waiting.append((n + rng.randrange(12), answer))
            due = [answer for after, answer in waiting if after <= n]
            waiting = [(after, answer) for after, answer in waiting if after > n]
            if due:
                await connection.call("POST", f"{path}/feedback", due)
            await asyncio.sleep(pause * rng.uniform(0.5, 1.5))


def main(folder: Path = Path("build/demo"), port: int = 8000, decisions: int = 6000, open_for: float = 600.0) -> None:
    """Start a service of its own, send the traffic, leave the page open for a while; Ctrl-C ends it at any time."""
    folder.mkdir(parents=True, exist_ok=True)
    key_file = folder / "admin.key"
    for old in folder.glob("store.sqlite3*"):
        old.unlink()
    command = [sys.executable, "-m", "lewa", "serve", "--store", f"sqlite:///{folder}/store.sqlite3", "--port", str(port)]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with open(folder / "log", "w") as log:  # in a session of its own: Ctrl-C reaches this process, which ends the server
        server = subprocess.Popen([*command, "--key-file", str(key_file)], stderr=log, start_new_session=True)
    print("The service starts and compiles its learner ...", flush=True)
    try:
        asyncio.run(_ready(port, server, folder / "log"))
        key = key_file.read_text().strip()
        print(f"The page: http://127.0.0.1:{port}/\nThe key:  {key}")
        print(f"{decisions} decisions, about {decisions / RATE:.0f} seconds; Ctrl-C stops the demonstration.", flush=True)
        asyncio.run(traffic(port, key, decisions))
        print(f"The traffic is over. The page stays for {open_for / 60:g} minutes, or until Ctrl-C.", flush=True)
        server.wait(open_for)
    except KeyboardInterrupt:
        print("\nThe demonstration has ended.")
    except subprocess.TimeoutExpired:
        print("The demonstration is over.")
    finally:
        server.terminate()
        server.wait()


async def _ready(port: int, server: "subprocess.Popen[bytes]", log: Path) -> None:
    while server.poll() is None:
        try:
            async with Connection(port, "") as connection:
                if (await connection.raw("GET", "/ready"))[0] == 200 and server.poll() is None:
                    return
        except OSError:
            pass
        await asyncio.sleep(0.2)
    raise SystemExit(f"The service did not start: {' '.join(log.read_text().splitlines()[-1:])}")


if __name__ == "__main__":
    main()
