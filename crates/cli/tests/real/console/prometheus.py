"""Lets Prometheus scrape a console beside a running test, and compares what it then answers with the result.

  prometheus.py BRUNT ARGUMENTS-OF-RUN...

in a folder with watched.toml.
"""

import json
import pathlib
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request

BRUNT, ARGUMENTS = sys.argv[1], sys.argv[2:]
# A busy machine is slow; nothing depends on how long it takes.
LOOKS = 600


def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


def main():
    pathlib.Path("runs").mkdir()
    console = subprocess.Popen([BRUNT, "console", "--no-browser"], stdout=subprocess.PIPE, text=True)
    address, token = console.stdout.readline().strip().split("/?token=")
    pathlib.Path("scrape-token").write_text(token)
    pathlib.Path("prometheus.yml").write_text(f"""
scrape_configs:
  - job_name: brunt
    scrape_interval: 1s
    authorization: {{ credentials_file: scrape-token }}
    static_configs: [{{ targets: ["{address.removeprefix('http://')}"] }}]
""")
    port = free_port()
    prometheus = subprocess.Popen(
        ["prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=tsdb", f"--web.listen-address=127.0.0.1:{port}"],
        stdout=subprocess.DEVNULL, stderr=open("prometheus.log", "w"))
    try:
        subprocess.run([BRUNT, "run", "watched.toml", "--quiet", *ARGUMENTS], stdout=subprocess.DEVNULL)
        folder, = pathlib.Path("runs").iterdir()
        rules = json.loads((folder / "result.json").read_text())["rules"]
        wanted, = (rule["measured"] for rule in rules if rule["id"] == "database-read-average")
        query = urllib.parse.quote('brunt_rule_measured{rule="database-read-average"} and on(run) brunt_run_state{state="ended"} == 1')
        found = None
        for _ in range(LOOKS):
            time.sleep(0.5)
            try:
                answer = urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?query={query}").read()
            except OSError:
                continue
            series = json.loads(answer)["data"]["result"]
            found = [1000 * float(one["value"][1]) for one in series if one["metric"]["run"] == folder.name]
            if found and abs(found[0] - wanted) < 1e-6 * max(1.0, wanted):
                return
        raise SystemExit(f"the result says {wanted} ms, Prometheus {found}")
    finally:
        prometheus.kill()
        console.kill()


if __name__ == "__main__":
    main()
