"""Kill a process that writes a journal, again and again, and look for what it had acknowledged."""

import mmap
import os
import random
import signal
import struct
import threading
import time
import warnings
from pathlib import Path

from lewa import Agent, Governor, at_most
from lewa.agent import read_journal

THREADS = 3


def make(path: Path) -> None:
    governor, learner = Governor(debt={"cost": 6.0}), "anytime-loss-lewa"  # it repays, and its proved learner decides too
    limit = at_most("cost", 0.4)
    agent = Agent(["a", "b"], [limit], learner=learner, governor=governor, name="router", journal=path, seed=0)
    agent.stop_journal()


def work(path: Path, acknowledged: mmap.mmap, number: int) -> None:
    """Pull, answer and change until the end comes; each thread counts what was acknowledged to it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agent = Agent.open(path)

    def call(slot: int) -> None:
        dice, count = random.Random(1000 * number + slot), 0
        while True:
            decision = agent.pull(available=["a"] if dice.random() < 0.1 else None)
            count += 1
            struct.pack_into("q", acknowledged, 8 * slot, count)
            if dice.random() < 0.01:
                agent.set_limit("cost", 0.4 + 0.1 * dice.random(), who=f"thread {slot}")
            elif dice.random() < 0.9:
                agent.update(decision, reward=dice.random(), cost=dice.random())
            else:
                agent.close(decision)
            count += 1
            struct.pack_into("q", acknowledged, 8 * slot, count)
            if slot == 0 and dice.random() < 0.002:
                agent.checkpoint()

    threads = [threading.Thread(target=call, args=(slot,)) for slot in range(THREADS)]
    for thread in threads:
        thread.start()
    threads[0].join()


def kill_loop(path: Path, kills: int, seed: int = 0) -> int:
    """Return the number of records that were acknowledged; fail if one of them is not there."""
    make(path)
    dice, before = random.Random(seed), 0
    for number in range(kills):
        acknowledged = mmap.mmap(-1, 8 * THREADS)
        child = os.fork()
        if child == 0:
            try:
                work(path, acknowledged, number)
            finally:
                os._exit(1)
        while not sum(struct.unpack(f"{THREADS}q", acknowledged)):  # it has begun
            assert os.waitpid(child, os.WNOHANG) == (0, 0), "the child has ended by itself"
            time.sleep(0.001)
        time.sleep(0.02 * dice.random())
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WTERMSIG(status) == signal.SIGKILL
        promised = before + sum(struct.unpack(f"{THREADS}q", acknowledged))
        before = sum(1 for _ in read_journal(path))
        assert before >= promised, (number, promised, before)
    return before
