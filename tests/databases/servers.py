"""Real servers of PostgreSQL and MariaDB, with TLS, in folders of their own.

The programs are the machine's, or those that `hack/databases` has fetched. PostgreSQL
refuses to run as root, so root's tests run it as the user nobody. As in Azure, the
administrators of both servers are not superusers.
"""

import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import attrs

from asoreconcile.testing.ports import free_port
from asoreconcile.testing.throwaway_certificates import certificate_authority

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
SUPERUSER_PASSWORD = "super-secret-of-tests"
ADMIN = "dbadmin"
ADMIN_PASSWORD = 'admin\'s "pass\\word" : %s {x}'
NOBODY = 65534
_START_SECONDS = 60


@attrs.frozen
class Running:
    """A running server.

    ca: PEM that verifies its certificate.
    """

    host: str
    port: int
    ca: str
    process: subprocess.Popen[bytes]
    log: Path

    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=self.ca)

    def pause(self) -> None:
        """Make the server hang: the kernel accepts connections, but there are no
        answers.
        """
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        found = subprocess.run(
            ["pgrep", "-P", str(self.process.pid)],
            capture_output=True,
            text=True,
            check=False,
        )
        for pid in (self.process.pid, *map(int, found.stdout.split())):
            # A backend may end meanwhile.
            with suppress(ProcessLookupError):
                os.kill(pid, number)


def folder() -> Path:
    """Return the folder of hack/databases, whether or not it exists."""
    stated = os.environ.get("ASORECONCILE_DATABASES")
    if stated:
        return Path(stated)
    found = sorted((CACHE / "asoreconcile").glob("databases-*"))
    return found[-1] if found else Path("/nonexistent")


def postgresql_programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, or None."""
    for root in (Path("/"), folder()):
        found = sorted(root.glob("usr/lib/postgresql/*/bin/postgres"))
        if found:
            return found[-1].parent
    return None


def mariadb_programs() -> Path | None:
    """Return the root folder of MariaDB's programs, or None."""
    for root in (Path("/"), folder()):
        if (root / "usr/sbin/mariadbd").exists():
            return root
    return None


@contextmanager
def _home() -> Iterator[Path]:
    """Return a folder that the server's user can reach and own."""
    home = Path(tempfile.mkdtemp(prefix="asoreconcile-db-"))
    try:
        home.chmod(0o755)
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _identity() -> dict[str, Any]:
    return {"user": NOBODY, "group": NOBODY} if os.getuid() == 0 else {}


def _give(path: Path) -> None:
    if os.getuid() == 0:
        for one in (path, *path.rglob("*")):
            os.chown(one, NOBODY, NOBODY)


def _certificate(home: Path, hosts: Sequence[str] = ("localhost", "127.0.0.1")) -> str:
    authority = certificate_authority("databases")
    certificate, key = authority.issue(list(hosts))
    (home / "server.pem").write_bytes(certificate)
    (home / "server.key").write_bytes(key)
    (home / "server.key").chmod(0o600)
    return authority.pem.decode()


def _await(port: int, process: subprocess.Popen[bytes], log: Path, ready: str) -> None:
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            raise AssertionError(f"the server ended: {log.read_text()[-2000:]}")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            if ready in log.read_text():
                return
        except OSError:
            pass
        time.sleep(0.05)
    raise AssertionError(f"the server does not start: {log.read_text()[-2000:]}")


@contextmanager
def _running(
    arguments: Sequence[object],
    home: Path,
    port: int,
    ca: str,
    environment: Mapping[str, str],
    *,
    ready: str = "",
    **identity: Any,
) -> Iterator[Running]:
    log = home / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(one) for one in arguments],
            cwd=home,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            **identity,
        )
    running = Running("localhost", port, ca, process, log)
    try:
        _await(port, process, log, ready)
        yield running
    finally:
        running.go_on()
        # This signal ends PostgreSQL at once, with all processes that it started.
        process.send_signal(signal.SIGQUIT)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


@contextmanager
def postgresql() -> Iterator[Running]:
    programs = postgresql_programs()
    assert programs
    with _home() as home:
        root = programs.parents[4]
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        if root != Path("/"):
            # the user nobody cannot enter another user's cache folder.
            shutil.copytree(root / "usr", home / "usr", symlinks=True)
            programs = home / programs.relative_to(root)
            libraries = [str(one) for one in (home / "usr/lib").glob("*-linux-gnu")]
            environment["LD_LIBRARY_PATH"] = ":".join(libraries)
        ca = _certificate(home)
        (home / "password").write_text(SUPERUSER_PASSWORD)
        data = home / "data"
        data.mkdir()
        _give(home)
        subprocess.run(
            [
                *(programs / "initdb", "-D", data, "-U", "postgres", "-E", "UTF8"),
                *("--no-sync", "--auth=scram-sha-256", f"--pwfile={home}/password"),
            ],
            cwd=home,
            env=environment,
            check=True,
            capture_output=True,
            **_identity(),
        )
        access = "hostssl all all 127.0.0.1/32 scram-sha-256\n"
        (data / "pg_hba.conf").write_text(access)
        port = free_port()
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": port,
            "unix_socket_directories": home,
            "ssl": "on",
            "ssl_cert_file": home / "server.pem",
            "ssl_key_file": home / "server.key",
            "fsync": "off",
            "log_statement": "all",
            "max_connections": 40,
        }
        options = [part for k, v in settings.items() for part in ("-c", f"{k}={v}")]
        arguments = [programs / "postgres", "-D", data, *options]
        # The server accepts connections earlier, and refuses each sign-in.
        ready = "ready to accept connections"
        with _running(
            arguments, home, port, ca, environment, ready=ready, **_identity()
        ) as running:
            yield running


@contextmanager
def mariadb(
    *,
    tls: bool = True,
    hosts: Sequence[str] = ("localhost", "127.0.0.1"),
    folds_names: bool = False,
) -> Iterator[Running]:
    """folds_names: whether names of databases and tables are kept in lower case."""
    root = mariadb_programs()
    assert root
    with _home() as home:
        libraries = [str(one) for one in (root / "usr/lib").glob("*-linux-gnu")]
        environment = {
            "PATH": os.environ["PATH"],
            "LD_LIBRARY_PATH": ":".join(libraries),
        }
        ca = _certificate(home, hosts)
        data = home / "data"
        data.mkdir()
        share = root / "usr/share/mysql"
        user = ["--user=root"] if os.getuid() == 0 else []
        options = [
            *(
                "--no-defaults",
                *user,
                f"--datadir={data}",
                f"--lc-messages-dir={share}",
            ),
            *(f"--character-sets-dir={share}/charsets", f"--plugin-dir={home}"),
            *("--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=8M"),
            # Kernels have few of these contexts, and several servers run at once.
            "--innodb-use-native-aio=0",
            "--skip-log-bin",
            f"--lower-case-table-names={int(folds_names)}",
        ]
        program = root / "usr/sbin/mariadbd"
        first = "\n".join(
            [
                "CREATE DATABASE IF NOT EXISTS mysql;",
                "USE mysql;",
                "SET @auth_root_socket=NULL, @skip_auth_anonymous=1;",
                "SET @current_hostname='localhost';",
                *(
                    (share / name).read_text()
                    for name in (
                        "mysql_system_tables.sql",
                        "mysql_performance_tables.sql",
                        "mysql_system_tables_data.sql",
                    )
                ),
            ]
        )
        made = subprocess.run(
            [program, *options, "--bootstrap"],
            cwd=home,
            env=environment,
            input=first.encode(),
            check=False,
            capture_output=True,
        )
        assert made.returncode == 0, made.stderr.decode(errors="replace")[-3000:]
        port = free_port()
        greeting = home / "first.sql"
        greeting.write_text(
            f"CREATE USER 'super'@'%' IDENTIFIED BY '{SUPERUSER_PASSWORD}';\n"
            "GRANT ALL PRIVILEGES ON *.* TO 'super'@'%' WITH GRANT OPTION;\n"
        )
        arguments = [
            *(program, *options, "--bind-address=127.0.0.1", f"--port={port}"),
            *(f"--socket={home}/socket", f"--init-file={greeting}"),
            *("--skip-name-resolve", "--general-log", f"--general-log-file={home}/sql"),
        ]
        if tls:
            arguments += [
                f"--ssl-cert={home}/server.pem",
                f"--ssl-key={home}/server.key",
            ]
        with _running(arguments, home, port, ca, environment) as running:
            yield running
