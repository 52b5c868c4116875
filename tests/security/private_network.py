"""Commands of `kb` in a network of their own, where every address leads back to this machine and packets are noted.

    unshare -rn python -m tests.security.private_network FOLDER

The parent starts a wiki and a model on the loopback device and prints JSON: the addresses of both, every address that
the commands asked, and how each command ended.
"""

import json
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from tests.cli.verbs.rerank.conftest import script
from tests.drawn_birds import drawn_bird
from tests.faults.bench import write_pages
from tests.servers.faulty_wiki import FaultyWiki
from tests.servers.openai_server import OpenAIServer

COMMANDS = (
    ("identify", "owl.png", "--output", "out/names.csv"),
    ("build", "--names", "names.csv", "--api-url", "API", "--kb", "own.kb"),
    ("search", "a white owl", "--kb", "own.kb"),
    ("rerank", "photos", "--query", "a white owl", "--kb", "own.kb", "--judge", "vision"),
)
KB = "import sys; from cli.main import main; sys.exit(main())"
ELSEWHERE = ("192.0.2.1", 9)  # of no machine, asked first to show that questions are noted
ANY_PROTOCOL = 3


def note_questions(packets: socket.socket, asked: set[tuple[str, int]]) -> None:
    while True:
        packet, sender = packets.recvfrom(65535)
        if sender[1] == 0x0800:  # IPv4
            begin, protocol, to = 4 * (packet[0] & 15), packet[9], socket.inet_ntop(socket.AF_INET, packet[16:20])
        elif sender[1] == 0x86DD:  # IPv6
            begin, protocol, to = 40, packet[6], socket.inet_ntop(socket.AF_INET6, packet[24:40])
        else:
            continue
        is_first = protocol == socket.IPPROTO_TCP and packet[begin + 13] & 0b10010 == 0b10  # SYN without ACK
        if is_first or protocol == socket.IPPROTO_UDP:
            asked.add((to, struct.unpack_from("!H", packet, begin + 2)[0]))


def run(arguments: Sequence[str], folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    command = [sys.executable, "-c", KB, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stderr


def main(folder: Path) -> None:
    for line in ("ip link set lo up", "ip route add local default dev lo", "ip -6 route add local default dev lo"):
        subprocess.run(line.split(), check=" -6 " not in line, capture_output=True)
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ANY_PROTOCOL))
    asked: set[tuple[str, int]] = set()
    threading.Thread(target=note_questions, args=(packets, asked), daemon=True).start()
    socket.socket().connect_ex(ELSEWHERE)
    for name in ("home", "temporary", "photos"):
        (folder / name).mkdir()
    for taxon in ("bubo-scandiacus", "agelaius-phoeniceus"):
        (folder / "photos" / f"{taxon}.png").write_bytes(drawn_bird(taxon))
    (folder / "owl.png").write_bytes(drawn_bird("bubo-scandiacus"))
    (folder / "names.csv").write_text("scientific_name\nBubo scandiacus\nCyanocitta cristata\n")
    with FaultyWiki().running() as wiki, OpenAIServer(script) as model:
        write_pages(wiki)
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.environ["PYTHONPATH"],
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "temporary"),
            "FIELDMARK_HOME": str(folder / "fieldmark"),
            "FIELDMARK_LLM_VISION_MODEL": "m",
            "FIELDMARK_LLM_VISION_BASE_URL": model.base_url,
        }
        ended = [
            run([wiki.api_url if word == "API" else word for word in each], folder, environment) for each in COMMANDS
        ]
        servers = [urlsplit(url).port for url in (wiki.api_url, model.base_url)]
        counts = [len(wiki.requests), model.n_calls]
    print(json.dumps({"asked": sorted(asked), "servers": servers, "counts": counts, "ended": ended}))  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]))
