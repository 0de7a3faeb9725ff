#!/usr/bin/python3
"""Makes a folder of links to the programs that a bare Debian has after `./dev setup STAGE`.

usage: listed_programs.py FOLDER STAGE...

Programs of the packages that tools/packages.txt lists under the stages, of what these depend on, of Debian's essential
packages, and of git and apt, which the README asks for. Tests run with this folder as their PATH, so that a program of
a package that happens to be installed here fails here, too. Where there is no dpkg, all programs of PATH are linked.
"""
import os
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DPKG = pathlib.Path("/var/lib/dpkg")
FOLDERS = ("/usr/bin", "/usr/sbin", "/bin", "/sbin")
PROMISED = ("bash", "git", "apt", "ca-certificates")  # the README asks for the first three


def listed(stages):
    for line in (ROOT / "tools/packages.txt").read_text().splitlines():
        words = line.split()
        if len(words) == 2 and words[0] in stages:
            yield words[1]


def installed():
    """The installed packages: name -> fields of dpkg's status file."""
    packages = {}
    for paragraph in (DPKG / "status").read_text(errors="replace").split("\n\n"):
        fields = dict(re.findall(r"^([A-Za-z-]+): (.*)$", paragraph, re.M))
        if fields.get("Status", "").endswith(" installed"):
            packages[fields["Package"]] = fields
    return packages


def names(field):
    """The package names of a relation such as "a (>= 1) | b, c"."""
    return [re.split(r"[ (:]", name.strip())[0] for name in re.split(r"[|,]", field) if name.strip()]


def closure(packages, wanted):
    providers = {}
    for name, fields in packages.items():
        for virtual in names(fields.get("Provides", "")):
            providers.setdefault(virtual, []).append(name)
    found, queue = set(), list(wanted)
    while queue:
        name = queue.pop()
        if name in found:
            continue
        if name not in packages:
            queue.extend(providers.get(name, []))
            continue
        found.add(name)
        queue.extend(names(packages[name].get("Depends", "")) + names(packages[name].get("Pre-Depends", "")))
    return found


def files_of(package):
    for listing in (*DPKG.glob(f"info/{package}.list"), *DPKG.glob(f"info/{package}:*.list")):
        yield from listing.read_text().splitlines()


def programs(stages):
    if not (DPKG / "status").exists():
        for folder in os.environ.get("PATH", "").split(":"):
            yield from (path for path in pathlib.Path(folder or ".").glob("*") if os.access(path, os.X_OK))
        return
    packages = installed()
    essential = [name for name, f in packages.items() if f.get("Essential") == "yes" or f.get("Priority") == "required"]
    owned = {os.path.realpath(file) for package in closure(packages, [*listed(stages), *essential, *PROMISED])
             for file in files_of(package) if file.startswith(FOLDERS)}
    for folder in FOLDERS:
        yield from (path for path in pathlib.Path(folder).glob("*") if os.path.realpath(path) in owned)


def main():
    folder = pathlib.Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for program in programs(sys.argv[2:]):
        link = folder / program.name
        if not link.is_symlink():
            link.symlink_to(program)


if __name__ == "__main__":
    main()
