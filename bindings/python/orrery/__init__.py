"""Predicts latency, throughput, memory, energy and cost of LLM inference and training.

    import orrery
    a = orrery.estimate(model="llama-3-70b", gpu="h100-sxm", tp=8, isl=1024, osl=128, batch=[1, 16])
    a[0].tpot                       # 9.3 ms [8.1, 10.6]
    a.to_pandas()                   # a row for each point
    orrery.run("scenario.yaml")     # the same questions, from files

Every function takes the keys of a scenario as keyword arguments, with the names of the flags of
`orrery VERB --help`. A list or a text such as "1-64*2" asks for several values. Groups of a scenario
are dicts (`load={"rate": 4}`), `set` and `sweep` take dicts of dotted keys. `catalog` is a folder of
facts that replace or extend the bundled ones. Calls release the interpreter's lock, and threads may
make them at once.
"""

from orrery import _orrery
from orrery._answer import Answer, Metric, Point, Record
from orrery._errors import Error, Infeasible, InputError, InternalError, NoData

__version__ = _orrery.version().split()[1]

# Keys whose names are words of Python end in "_" here: as_="astra-sim".
_ESCAPED = {"as_": "as", "from_": "from"}


def _keys(keys):
    for escaped, name in _ESCAPED.items():
        if escaped in keys:
            keys[name] = keys.pop(escaped)
    for name in ("breakdown", "intervals"):
        if name in keys and keys[name] is not None:
            keys[name] = bool(keys[name])
    if keys.get("catalog") is not None:
        keys["catalog"] = str(keys["catalog"])
    return keys


# The verbs of all kinds of questions: for each its help, and the keys that may be given without
# their names.
_VERBS = _orrery.verbs()


def _keywords(verb):
    """The keys of a verb by their names here, each once."""
    found = {}
    for key in _orrery.keys(verb):
        name = key["name"] + ("_" if key["name"] + "_" in _ESCAPED else "")
        found.setdefault(name, key)
    return found


def _signature(verb):
    from inspect import Parameter, Signature

    words = _VERBS[verb]["words"]
    parameters = [Parameter(word, Parameter.POSITIONAL_OR_KEYWORD, default=None) for word in words]
    parameters += [Parameter(name, Parameter.KEYWORD_ONLY, default=None)
                   for name in _keywords(verb) if name not in words]
    return Signature(parameters + [Parameter("keys", Parameter.VAR_KEYWORD)])


class _Verb:
    """A verb as a function."""

    def __init__(self, verb):
        self.__name__ = self.__qualname__ = self._verb = verb
        self.__module__ = "orrery"
        self._words = _VERBS[verb]["words"]

    def __call__(self, *words, **keys):
        if len(words) > len(self._words):
            raise TypeError(f"{self._verb}() takes its keys by name")
        keys = dict(zip(self._words, words)) | keys
        return Answer(_orrery.ask(self._verb, _keys(keys)))

    def __getattr__(self, name):
        if name == "__signature__":
            return _signature(self._verb)
        raise AttributeError(name)

    @property
    def __doc__(self):
        return f"{_VERBS[self._verb]['help']}\n{_orrery.doc(self._verb)}"

    def __repr__(self):
        return f"<function orrery.{self._verb}>"


for _verb in _VERBS:
    globals()[_verb] = _Verb(_verb)


def run(scenario, **keys):
    """Answers a scenario: a dict, or the path of a YAML or JSON file. Keys override its own."""
    return Answer(_orrery.run(scenario, _keys(keys)))


def load(path):
    """The scenario of a file, merged with its includes, as a dict for run()."""
    return _orrery.load(path)


def compare(file, *, kind=None, run=0, **keys):
    """Compares the result of a load generator on a real service, or the log of a training job, with
    the prediction of the same run.

    file: written by vLLM's bench serve, sglang.bench_serving, AIPerf or GuideLLM, or the log of
        Megatron-LM, NeMo or torchtitan
    kind: "service" or "training"; by default the content of the file says it
    run: compare only this run of a file with several; 1 is the first
    keys: those of simulate() or of train()
    """
    import json
    import os

    file = os.fspath(file)
    if kind is None:
        try:
            with open(file, encoding="utf-8", errors="replace") as opened:
                kind = "service" if opened.read(4096).lstrip()[:1] in ("{", "[") else "training"
        except OSError as e:
            raise InputError(f"{file}: cannot be read: {e.strerror}") from None
    if kind not in ("service", "training"):
        raise InputError(f"kind: expected service or training, got '{kind}'")
    found = json.loads(_orrery.compare(file, kind, int(run), _keys(keys)))
    return Record.of(found)


def calibrate(gpu, measured, *, framework="", out=None, catalog=None):
    """Calibrates the kernels of a GPU with measured calls, as `orrery fit points` does.

    gpu: its id or the path of its YAML file
    measured: a table of measured calls of one kernel family, 8 to 64 rows for each kernel class
    out: a folder to write the calibration to; it is then a `catalog=` of the other functions
    """
    import json
    import os
    import pathlib

    found = Record.of(json.loads(_orrery.calibrate(
        str(gpu), os.fspath(measured), framework, str(catalog or ""))))
    if out is not None:
        for path, text in found["files"].items():
            file = pathlib.Path(out) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    return found


__all__ = [*_VERBS, "run", "load", "compare", "calibrate", "Answer", "Point", "Metric", "Record",
           "Error", "InputError", "Infeasible", "NoData", "InternalError"]
