"""Builds the wheel (PEP 517) with CMake, Ninja and Debian's packages; nothing is downloaded.

The wheel has the module, the libraries that plain Debian lacks (orrery.libs/), and the command
`orrery`. It is built in build/release, which is kept.
"""

import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"
# Libraries that every Debian with Python has.
PLAIN = re.compile(r"/(ld-linux|lib(c|m|gcc_s|stdc\+\+|z|pthread|dl|rt)\.so)")


def get_requires_for_build_wheel(config_settings=None):
    return []


def _version():
    text = (ROOT / "CMakeLists.txt").read_text()
    return re.search(r"project\(orrery VERSION ([0-9.]+)", text)[1]


def _tag():
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"{python}-{python}-{platform}"


def _metadata():
    return {
        "METADATA": "Metadata-Version: 2.1\nName: orrery\nVersion: " + _version() + "\n"
        "Summary: Predicts latency, throughput, memory and cost of LLM inference and training\n"
        "License: Apache-2.0\nRequires-Python: >=3.11\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: orrery\nRoot-Is-Purelib: false\nTag: " + _tag()
        + "\n",
        "entry_points.txt": "[console_scripts]\norrery = orrery.__main__:main\n",
    }


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    name = f"orrery-{_version()}.dist-info"
    folder = pathlib.Path(metadata_directory) / name
    folder.mkdir()
    for file, text in _metadata().items():
        (folder / file).write_text(text)
    return name


def _run(*words):
    subprocess.run([str(w) for w in words], check=True, cwd=ROOT, stdout=sys.stderr)


def _build():
    """The folder of the built package."""
    _run("cmake", "--preset", "release", "-DORRERY_PYTHON=ON",
         f"-DPython_EXECUTABLE={os.path.realpath(sys.executable)}")
    _run("ninja", "-C", BUILD, "orrery_python")
    return BUILD / "python" / "orrery"


def _libraries(module):
    """The libraries that the module loads, as pairs of name and file."""
    text = subprocess.run(["ldd", str(module)], check=True, capture_output=True, text=True).stdout
    for name, file in re.findall(r"^\s*(\S+) => (/\S+)", text, re.M):
        if not PLAIN.search(file):
            yield name, os.path.realpath(file)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    package = _build()
    name = f"orrery-{_version()}-{_tag()}.whl"
    record = []
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:

        def add(path, content, executable=False):
            info = zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (0o755 if executable else 0o644) << 16
            wheel.writestr(info, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            record.append(f"{path},sha256={digest.decode()},{len(content)}")

        for file in sorted(package.iterdir()):
            if file.suffix in (".py", ".pyi", ".so", ".typed"):
                add(f"orrery/{file.name}", file.read_bytes(), file.suffix == ".so")
        module = next(package.glob("_orrery*.so"))
        for library, file in sorted(_libraries(module)):
            add(f"orrery.libs/{library}", pathlib.Path(file).read_bytes(), True)
        dist = f"orrery-{_version()}.dist-info"
        add(f"{dist}/licenses/LICENSE", (ROOT / "LICENSE").read_bytes())
        for file, text in _metadata().items():
            add(f"{dist}/{file}", text.encode())
        wheel.writestr(f"{dist}/RECORD", "\n".join([*record, f"{dist}/RECORD,,"]) + "\n")
    return name
