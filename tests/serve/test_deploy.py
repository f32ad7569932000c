"""The files of deploy/: they parse, name what is there, and systemd takes the unit."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"


class Step(NamedTuple):
    word: str  # RUN, COPY, ENV, ...
    text: str


def steps() -> list[Step]:
    """The steps of the Dockerfile; lines that end in a backslash go on."""
    joined = re.sub(r"\\\n\s*", "", (DEPLOY / "Dockerfile").read_text())
    lines = [line.strip() for line in joined.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return [Step(*line.split(None, 1)) for line in lines]


def read(name: str) -> Any:
    return yaml.safe_load((DEPLOY / name).read_text())


def test_compose_names_files_and_volumes_that_are_there() -> None:
    compose = read("compose.yml")
    services = compose["services"]
    for name, service in services.items():
        assert ("image" in service) != ("build" in service), name
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert (DEPLOY / source).exists() if source.startswith(".") else source in compose["volumes"], volume
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name
        assert set(service.get("depends_on", {})) <= set(services), name
    build = services["lewa"]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).is_file()
    assert "healthcheck" in services["postgres"]  # lewa waits for it


def test_prometheus_watches_the_service_of_compose_by_rules_that_are_there() -> None:
    prometheus, services = read("prometheus.yml"), read("compose.yml")["services"]
    assert all((DEPLOY / file).is_file() for file in prometheus["rule_files"])
    targets = prometheus["scrape_configs"][0]["static_configs"][0]["targets"]
    assert [target.split(":")[0] for target in targets] == ["lewa"]
    assert "lewa" in services
    rules = [rule for group in read("alerts.yml")["groups"] for rule in group["rules"]]
    assert all({"alert", "expr"} <= set(rule) for rule in rules)
    assert json.loads((DEPLOY / "grafana" / "lewa.json").read_text())["panels"]


def test_grafana_starts_with_its_source_and_its_dashboard() -> None:
    services = read("compose.yml")["services"]
    mounted = dict(volume.removesuffix(":ro").split(":") for volume in services["grafana"]["volumes"])
    (source,) = read("grafana/provisioning/datasources/prometheus.yml")["datasources"]
    assert mounted["./grafana/provisioning"] == "/etc/grafana/provisioning"
    assert (source["type"], source["url"], source["isDefault"]) == ("prometheus", "http://prometheus:9090", True)
    assert "prometheus" in services
    (provider,) = read("grafana/provisioning/dashboards/lewa.yml")["providers"]
    assert mounted["./grafana/lewa.json"] == f"{provider['options']['path']}/lewa.json"
    dashboard = json.loads((DEPLOY / "grafana" / "lewa.json").read_text())
    kinds = [variable["query"] for variable in dashboard["templating"]["list"] if variable["type"] == "datasource"]
    assert kinds == [source["type"]]  # it takes the only source of that kind


def test_compiled_code_of_the_image_can_be_written_where_the_rest_cannot() -> None:
    image = steps()
    pairs = dict(pair.split("=") for step in image if step.word == "ENV" for pair in step.text.split())
    cache = pairs["NUMBA_CACHE_DIR"]
    (volume,) = (n for n, step in enumerate(image) if step.word == "VOLUME")
    assert {cache, "/var/lib/lewa"} <= set(image[volume].text.split())
    assert image.index(Step("RUN", "lewa warm")) < volume  # what comes after it is not in the volume
    lewa = read("compose.yml")["services"]["lewa"]
    assert lewa["read_only"]
    assert not any(
        cache in mount for mount in [*lewa["tmpfs"], *lewa["volumes"]]
    )  # they would be empty, or of an older image


def test_the_image_gets_what_the_wheel_is_built_from_and_nothing_else() -> None:
    lines = [line for line in (DEPLOY.parent / ".dockerignore").read_text().splitlines() if not line.startswith("#")]
    assert lines[0] == "*"
    project = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())
    needed = {"pyproject.toml", project["project"]["readme"], *project["project"]["license-files"]}
    needed |= set(project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])
    copied = {line[1:] for line in lines if line.startswith("!")}
    assert {name.split("/")[0] for name in needed} == copied


def run(*command: str | Path, **environment: str) -> str:
    """Return what a tool says, which accepts the file; skip where the tool is not installed."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed here")
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=DEPLOY, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_compose_accepts_its_file_and_asks_for_a_password() -> None:
    if shutil.which("docker-compose") is None:
        pytest.skip("docker-compose is not installed here")
    file: list[str | Path] = ["docker-compose", "-f", DEPLOY / "compose.yml", "config"]
    without = {name: value for name, value in os.environ.items() if name != "POSTGRES_PASSWORD"}
    refused = subprocess.run(file, capture_output=True, text=True, check=False, env=without)
    assert refused.returncode != 0
    assert "POSTGRES_PASSWORD" in refused.stderr
    whole = yaml.safe_load(run(*file, POSTGRES_PASSWORD="secret"))
    assert set(whole["services"]) == {"lewa", "postgres", "prometheus", "grafana"}


def test_caddy_accepts_its_file() -> None:
    run("caddy", "validate", "--adapter", "caddyfile", "--config", "Caddyfile")


def test_prometheus_accepts_its_rules() -> None:
    assert "SUCCESS: 1 rule files found" in run("promtool", "check", "config", "prometheus.yml")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not there")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "lewa.service"
    text = (DEPLOY / "lewa.service").read_text()
    assert "ExecStart=/opt/lewa/bin/lewa serve" in text
    unit.write_text(text.replace("/opt/lewa/bin/lewa", sys.executable))  # it refuses a program that is not there
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert "lewa.service" not in done.stderr, done.stderr


def test_the_image_compiles_what_its_unprivileged_service_runs() -> None:
    words = [step.word for step in steps()]
    assert words[0] == "FROM"
    assert [step for step in steps() if step.word == "RUN"][-1] == Step("RUN", "lewa warm")
    assert words.index("USER") < words.index("ENTRYPOINT")


def test_the_caddyfile_leads_to_the_port_of_the_service_and_hides_metrics() -> None:
    text = (DEPLOY / "Caddyfile").read_text()
    assert text.count("{") == text.count("}")
    assert re.search(r"reverse_proxy 127\.0\.0\.1:8000", text)
    assert re.search(r"respond @metrics 403", text)
