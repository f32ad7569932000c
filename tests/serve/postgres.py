"""A real PostgreSQL server in a temporary folder, run by a user who is not root."""

import os
import pwd
import shutil
import socket
import subprocess
from pathlib import Path


def _programs() -> Path | None:
    found = shutil.which("pg_ctl")
    if found:
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl")) if Path("/usr/lib/postgresql").is_dir() else []
    return versions[-1].parent if versions else None


PROGRAMS = _programs()


def _user() -> dict[str, int]:
    """Return whom to run the server as: PostgreSQL refuses root."""
    if os.getuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            who = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": who.pw_uid, "group": who.pw_gid}
    return {}


class Cluster:
    """One server on a free port of this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._user = folder, _user()
        if self._user:
            os.chown(folder, self._user["user"], self._user["group"])
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._run("initdb", "-D", str(folder / "data"), "-U", "postgres", "-A", "trust", "--no-sync")
        self.start()

    def _run(self, program: str, *arguments: str) -> None:
        assert PROGRAMS is not None
        command = [str(PROGRAMS / program), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self._folder, extra_groups=[], **self._user)  # type: ignore[call-overload]
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self) -> None:
        options = (
            f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self._folder} -c max_connections=50"
        )
        self._run(
            *("pg_ctl", "-D", str(self._folder / "data"), "-l", str(self._folder / "log"), "-w", "-o", options, "start")
        )

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", "-D", str(self._folder / "data"), "-w", "-m", mode, "stop")

    def database(self, name: str) -> str:
        import psycopg

        root = f"postgresql://postgres@127.0.0.1:{self.port}"
        with psycopg.connect(f"{root}/postgres", autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return f"{root}/{name}"
