"""Make .venv with all that the project needs: `make setup` runs this with the system's Python.

It is written for any Python 3, so that a too old one is answered by one line and not by a syntax error.
"""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

OLDEST = (3, 11)
ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / ".set-up"
MADE = VENV / ".made"
"""Written once .venv is whole: one whose making was interrupted has a Python, but perhaps no pip."""


def refuse(problem: str, remedy: str) -> None:
    sys.exit(f"setup: {problem}: {remedy}")


def check_system() -> None:
    """Refuse a system on which the rest can't work, each with its remedy."""
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < OLDEST:
        refuse(f"{sys.executable} is Python {found}, 3.11 or newer is needed", "make PYTHON=/path/to/python3.11 ...")
    if not sys.platform.startswith("linux"):
        refuse(f"this is {sys.platform}, only Linux is supported (CLOCK_BOOTTIME)", "use a Linux machine or container")
    missing = [name for name in ("venv", "ensurepip") if importlib.util.find_spec(name) is None]
    if missing:
        package = "python{}.{}-venv".format(*sys.version_info)
        refuse(f"{sys.executable} has no module {missing[0]}", f"apt-get install {package}, or make PYTHON=another ...")


def run(doing: str, *command: object) -> None:
    """Run a step; its own output says what went wrong, the last line which step it was."""
    if subprocess.run([str(part) for part in command], cwd=ROOT, check=False).returncode:
        refuse(f"could not {doing}", "see the lines above; make setup tries again")


def same_python() -> bool:
    """Is .venv whole, with a Python that runs and has this one's version?"""
    if not (MADE.exists() or STAMP.exists()):
        return False
    ask = "import sys; print(sys.version_info[:2])"
    try:
        reply = subprocess.run([str(PYTHON), "-c", ask], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return reply.stdout.strip() == str(sys.version_info[:2])


def main() -> None:
    check_system()
    if not same_python():
        shutil.rmtree(VENV, ignore_errors=True)
        run("make .venv", sys.executable, "-m", "venv", VENV)
        MADE.touch()
    pip = [PYTHON, "-m", "pip", "--disable-pip-version-check", "-qq", "--no-input"]
    install = [*pip, "install"]
    lock = ROOT / "requirements.lock"
    packages = sum("==" in line for line in lock.read_text(encoding="utf-8").splitlines())
    print(f"setup: installing {packages} packages into .venv, about a minute the first time", flush=True)
    run("install requirements.lock", *install, "--require-hashes", "-r", lock)
    # The build tool comes from the lock file too: no isolation, nothing unpinned is fetched.
    run("install the project", *install, "--no-deps", "--no-build-isolation", "--editable", ROOT)
    run("find all that pyproject.toml asks for (make lock pins it)", *pip, "check")
    run("find an etcd", PYTHON, ROOT / "tools" / "etcd.py")
    STAMP.touch()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
