"""The module `orrery`: keys, answers as objects, errors, threads, and the command line in it."""

import ast
import importlib.util
import inspect
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import types
import unittest
from unittest import mock
from xml.etree import ElementTree

import orrery

SMALL = {"model": "llama-3-8b", "gpu": "h100-sxm", "isl": 256, "osl": 32}


INTERRUPTED = """
import os, signal, sys, threading, orrery
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    %s
except KeyboardInterrupt:
    print(orrery.memory(model="llama-3-8b", gpu="h100-sxm").points[0].fits)
    sys.exit(7)
"""


class CtrlC(unittest.TestCase):
    """A call that would take minutes ends, the module goes on, and the program can end, too."""

    def interrupted(self, call):
        done = subprocess.run([sys.executable, "-c", INTERRUPTED % call], capture_output=True,
                              text=True, timeout=120)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (7, "True\n", ""))

    def test_simulation(self):
        self.interrupted("orrery.simulate(model='llama-3-8b', gpu='h100-sxm', rate=20, "
                         "requests=5_000_000)")

    def test_plan(self):
        self.interrupted("orrery.plan(model='deepseek-v3', gpu='h100-sxm,h200-sxm,b200-sxm', "
                         "rate=100, slo='ttft:1s,tpot:40ms', requests=20_000)")

    def test_sweep(self):
        self.interrupted("orrery.estimate(model='llama-3-8b', gpu='h100-sxm', isl='1-10000', "
                         "osl='1-10')")


class Keys(unittest.TestCase):
    def test_groups_dotted_keys_and_names_mean_the_same(self):
        by_name = orrery.estimate(**SMALL, tp=2, max_num_seqs=64).to_json()
        for keys in [{"parallel": {"tp": 2}, "max_num_seqs": 64},
                     {"set": {"parallel.tp": 2, "engine.max_num_seqs": 64}},
                     {"parallel.tp": 2, "engine": {"scheduler.max_num_seqs": 64}}]:
            self.assertEqual(orrery.estimate(**SMALL, **keys).to_json(), by_name)

    def test_lists_ranges_and_iterables_are_sweeps(self):
        texts = [orrery.estimate(**SMALL, batch=b).to_json()
                 for b in ([1, 2, 4], "1,2,4", "1-4*2", (2**i for i in range(3)))]
        self.assertEqual(len(set(texts)), 1)
        self.assertEqual(len(orrery.estimate(**SMALL, batch=range(1, 4))), 3)

    def test_none_is_as_not_given(self):
        self.assertEqual(orrery.estimate(**SMALL, tp=None).to_json(),
                         orrery.estimate(**SMALL).to_json())

    def test_numbers_of_other_libraries(self):
        class Whole:
            def __index__(self):
                return 2

        self.assertEqual(orrery.estimate(**SMALL, tp=Whole())[0].at["tp"], 2)

    def test_sweep_of_any_key(self):
        a = orrery.estimate(**{**SMALL, "model": "llama-3-8b"},
                            sweep={"engine.profile": ["vllm", "sglang"]})
        self.assertEqual([p.at["profile"] for p in a], ["vllm", "sglang"])

    def test_words_of_python_end_in_an_underscore(self):
        with self.assertRaisesRegex(orrery.InputError, "as"):
            orrery.network("all-gather", gpu="h100-sxm", as_="nonsense")

    def test_catalog_lays_facts_over_the_bundle(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(orrery.InputError):
                orrery.estimate(**{**SMALL, "gpu": "my-gpu"}, catalog=folder)

    def test_a_changed_file_is_read_again(self):
        found = []
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "config.json"
            config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"],
                      "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
                      "num_key_value_heads": 8, "num_hidden_layers": 8, "vocab_size": 128256,
                      "torch_dtype": "bfloat16", "max_position_embeddings": 8192,
                      "rms_norm_eps": 1e-5, "hidden_act": "silu", "tie_word_embeddings": False}
            for layers in (8, 16):
                file.write_text(json.dumps({**config, "num_hidden_layers": layers}))
                found.append(orrery.memory(model=file, gpu="h100-sxm").memory_breakdown.weights)
        self.assertLess(found[0], found[1])


class Errors(unittest.TestCase):
    def test_four_kinds(self):
        with self.assertRaisesRegex(orrery.InputError, "did you mean 'llama-?3-8b'"):
            orrery.estimate(**{**SMALL, "model": "llama-3-8bb"})
        with self.assertRaises(orrery.Infeasible):
            orrery.estimate(**SMALL, tp=7)
        with self.assertRaises(orrery.NoData):
            orrery.simulate(model="bert-large", gpu="h100-sxm", rate=1)
        for kind, code in [(orrery.InputError, 2), (orrery.Infeasible, 3), (orrery.NoData, 4),
                           (orrery.InternalError, 1)]:
            self.assertTrue(issubclass(kind, orrery.Error))
            self.assertEqual(kind.code, code)

    def test_an_unknown_key_names_the_nearest(self):
        with self.assertRaisesRegex(orrery.InputError, "did you mean 'max_num_seqs'"):
            orrery.estimate(**SMALL, max_num_seq=4)

    def test_values_of_no_use(self):
        for value in (object(), b"8", {1: 2}):
            with self.assertRaises(orrery.InputError):
                orrery.estimate(**SMALL, tp=value)
        with self.assertRaises(TypeError):
            orrery.estimate("llama-3-8b")

    def test_what_is_missing(self):
        with self.assertRaisesRegex(orrery.InputError, "--model and --gpu missing"):
            orrery.estimate()


class Answers(unittest.TestCase):
    def test_attributes(self):
        a = orrery.estimate(**SMALL)
        self.assertEqual(a.tpot.unit, "ms")
        self.assertLess(a.tpot.interval90[0], float(a.tpot))
        self.assertIs(a[0].metrics["tpot"], a.tpot)
        self.assertEqual(a.batch, 1)
        self.assertGreater(a.kernels[0].time_us, 0)
        self.assertEqual(a.to_dict()["points"][0]["metrics"]["tpot"], a.tpot.to_dict())
        self.assertIn("tpot", dir(a))
        with self.assertRaisesRegex(AttributeError, "did you mean 'tpot'"):
            _ = a.tpott
        several = orrery.estimate(**SMALL, batch=[1, 2])
        with self.assertRaisesRegex(AttributeError, "2 points"):
            _ = several.tpot

    def test_without_breakdown(self):
        a = orrery.estimate(**SMALL, breakdown=False)
        self.assertEqual(a.kernels, [])

    def test_rows_and_pandas(self):
        a = orrery.estimate(**SMALL, batch=[1, 2])
        rows = a.rows()
        self.assertEqual([r["batch"] for r in rows], [1, 2])
        self.assertEqual(rows[1]["tpot"], a[1].tpot.value)
        if importlib.util.find_spec("pandas"):
            self.assertEqual(list(a.to_pandas()["batch"]), [1, 2])
        else:
            fake = types.SimpleNamespace(DataFrame=list)
            with mock.patch.dict(sys.modules, pandas=fake):
                self.assertEqual(a.to_pandas(), rows)
            with self.assertRaisesRegex(ImportError, "needs pandas"):
                a.to_pandas()

    def test_pictures_of_notebooks_are_well_formed(self):
        for a in (orrery.estimate(**SMALL), orrery.estimate(**SMALL, batch=[1, 2, 4]),
                  orrery.memory(**{k: SMALL[k] for k in ("model", "gpu")}),
                  orrery.estimate(**SMALL, batch=[1, 2], tp=[1, 2]),
                  orrery.kernel("gemm", gpu="h100-sxm,a100-80g-sxm", m=64)):
            page = ElementTree.fromstring(a._repr_html_())
            self.assertIsNotNone(page.find(".//table"))
            self.assertIsNotNone(page.find(".//svg/rect") or page.find(".//svg"))

    def test_pictures_are_those_of_the_command_line(self):
        a = orrery.estimate(**SMALL, batch=[1, 2, 4])
        self.assertTrue(a.svg().startswith("<svg xmlns="))
        self.assertIn("<title>Trade-offs", a.svg())
        self.assertIn("<title>Memory of a GPU", a.svg("memory"))
        self.assertIn(a.svg().replace(' xmlns="http://www.w3.org/2000/svg"', ""), a._repr_html_())
        with self.assertRaisesRegex(orrery.InputError, "`load` needs several rates"):
            a.svg("load")

    def test_other_texts(self):
        a = orrery.estimate(**SMALL)
        self.assertTrue(a.to_csv().startswith("scenario,"))
        self.assertIn("| tpot |", a.to_markdown())
        self.assertIn("</html>", a.to_html())
        self.assertIn("tpot", str(a).lower())


class Declarations(unittest.TestCase):
    def test_docstrings_and_signatures_have_every_key(self):
        for verb in orrery._VERBS:
            function = getattr(orrery, verb)
            names = inspect.signature(function).parameters
            for name, key in orrery._keywords(verb).items():
                self.assertIn(f"    {key['name']}: ", function.__doc__)
                self.assertIn(name, names)

    def test_stubs_have_every_key(self):
        file = pathlib.Path(orrery.__file__).with_suffix(".pyi")
        functions = {f.name: f for f in ast.parse(file.read_text()).body
                     if isinstance(f, ast.FunctionDef)}
        for verb in orrery._VERBS:
            arguments = functions[verb].args
            names = {a.arg for a in arguments.args + arguments.kwonlyargs}
            words = set(orrery._VERBS[verb]["words"])
            self.assertEqual(names, set(orrery._keywords(verb)) | words)
        self.assertLessEqual(set(orrery.__all__) - set(functions) - set(orrery._VERBS),
                             {c.name for c in ast.parse(file.read_text()).body
                              if isinstance(c, ast.ClassDef)})


class Threads(unittest.TestCase):
    def test_threads_give_the_answers_of_one(self):
        asked = [{**SMALL, "tp": tp, "batch": b} for tp in (1, 2, 4) for b in (1, 8)]
        expected = [orrery.estimate(**q).to_json() for q in asked]
        found = [None] * len(asked)

        def work(i):
            for _ in range(3):
                found[i] = orrery.estimate(**asked[i]).to_json()

        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(asked))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(found, expected)

    def test_other_threads_run_meanwhile(self):
        done = threading.Event()
        thread = threading.Thread(target=lambda: (orrery.simulate(
            model="llama-3-8b", gpu="h100-sxm", rate=10, requests=20000), done.set()))
        thread.start()
        steps = 0
        while not done.is_set():
            steps += 1
        thread.join()
        self.assertGreater(steps, 1000)


class CommandLine(unittest.TestCase):
    def test_it_is_the_program(self):
        for words in (["memory", "-m", "llama-2-7b", "-g", "a100-80g-sxm"], ["--help"],
                      ["estimate", "--modle", "x"], ["nonsense"]):
            ours = subprocess.run([sys.executable, "-B", "-m", "orrery", *words],
                                  capture_output=True, text=True)
            program = subprocess.run([os.environ["ORRERY_PROGRAM"], *words],
                                     capture_output=True, text=True)
            self.assertEqual((ours.returncode, ours.stdout, ours.stderr),
                             (program.returncode, program.stdout, program.stderr))


class Measured(unittest.TestCase):
    def test_calibration(self):
        with self.assertRaisesRegex(orrery.InputError, "nowhere.csv"):
            orrery.calibrate("mi300x", "nowhere.csv")

    def test_comparison(self):
        file = pathlib.Path(__file__).resolve().parents[1] / "golden" / "sglang-runs.jsonl"
        found = orrery.compare(file, model="llama-3-8b", gpu="h100-sxm", run=1)
        self.assertIn("predicted", next(iter(found.figures.values())))


if __name__ == "__main__":
    unittest.main()
