"""Command line, file, Python and HTTP give the same bytes for every scenario of the bundle."""

import http.client
import json
import os
import pathlib
import subprocess
import unittest

import orrery

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ["ORRERY_PROGRAM"]
# Simulations that take long. ORRERY_ALL=1 asks them, too.
LONG = {"spot.yaml", "not-spot.yaml", "rack.yaml", "disk-tier.yaml", "I2.3-saturation.yaml"}


def scenario_files():
    everything = os.environ.get("ORRERY_ALL") == "1"
    for file in sorted((ROOT / "scenarios").rglob("*.yaml")):
        path = file.relative_to(ROOT)
        if path.parts[1] == "suites":
            continue
        long = file.name in LONG or (path.parts[1] == "published" and not file.stem.endswith("-1"))
        if everything or not long:
            yield str(path)


def command(*words):
    return subprocess.run([PROGRAM, *words], cwd=ROOT, capture_output=True, text=True)


class Server:
    """`orrery serve` on a free port, for a `with` statement."""

    def __enter__(self):
        self.process = subprocess.Popen([PROGRAM, "serve", "--port", "0"], cwd=ROOT,
                                        stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().rstrip().rsplit(":", 1)[1].rstrip("/"))
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def run(self, body, form):
        """Status and body of the reply to a scenario. `form`: json or yaml."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        try:
            connection.request("POST", "/api/v1/run", body.encode(),
                               {"Content-Type": f"application/{form}"})
            reply = connection.getresponse()
            return reply.status, reply.read().decode()
        finally:
            connection.close()


class SameAnswers(unittest.TestCase):
    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        os.chdir(ROOT)
        cls.answers, cls.errors = {}, {}
        for file in scenario_files():
            try:
                cls.answers[file] = orrery.run(file).to_json()
            except orrery.Error as e:
                cls.errors[file] = e

    def test_the_bundle_has_scenarios(self):
        self.assertGreater(len(self.answers), 100)

    def test_command_line_and_python_by_file(self):
        files = list(self.answers)
        printed = command("run", *files, "-o", "json").stdout
        # Elements of an array stand one column to the right of an answer by itself.
        expected = "[\n" + ",\n".join(
            "\n".join(" " + line for line in self.answers[f].rstrip("\n").split("\n"))
            for f in files) + "\n]\n"
        self.assertEqual(len(printed), len(expected))
        self.assertTrue(printed == expected)

    def test_one_file_alone(self):
        file = "scenarios/llama-3-70b-8xh100.yaml"
        self.assertEqual(command("run", file, "-o", "json").stdout, self.answers[file])

    def test_python_by_dict(self):
        for file in self.answers:
            with self.subTest(file):
                document = orrery.load(file)
                document.setdefault("name", pathlib.Path(file).stem)
                self.assertTrue(orrery.run(document).to_json() == self.answers[file])

    # A scenario goes out as the text of its file, with the name that a file's has by itself. The
    # files that a scenario of the bundle names are those that it includes: a question that does so
    # is refused, and the whole goes out as JSON.
    def test_over_http(self):
        refused = 0
        kinds = {orrery.InputError: (400, "input"), orrery.Infeasible: (422, "infeasible"),
                 orrery.NoData: (422, "no_data")}
        with Server() as server:
            for file in [*self.answers, *self.errors]:
                with self.subTest(file):
                    text, form = (ROOT / file).read_text(), "yaml"
                    if "\nname:" not in "\n" + text:
                        text = f"name: {pathlib.Path(file).stem}\n{text}"
                    if "\ninclude:" in text:
                        status, reply = server.run(text, form)
                        self.assertEqual(status, 400)
                        self.assertIn("only a file can include another", reply)
                        refused += 1
                        document = orrery.load(file)
                        document.setdefault("name", pathlib.Path(file).stem)
                        text, form = json.dumps(document), "json"
                    status, reply = server.run(text, form)
                    if file in self.answers:
                        self.assertEqual(status, 200, reply[:1000])
                        self.assertTrue(reply == self.answers[file])
                    else:
                        kind = json.loads(reply)["error"]["kind"]
                        self.assertEqual((status, kind), kinds[type(self.errors[file])])
        self.assertGreater(refused, 10)

    def test_errors_have_the_message_of_the_command_line(self):
        kinds = {orrery.InputError: "", orrery.Infeasible: "infeasible: ",
                 orrery.NoData: "no data: "}
        self.assertGreater(len(self.errors), 1)
        for file, error in list(self.errors.items())[::4]:
            with self.subTest(file):
                ran = command("run", file)
                self.assertEqual(ran.returncode, error.code)
                self.assertEqual(ran.stderr, f"orrery: {kinds[type(error)]}{error}\n")

    def test_keys_and_flags_of_every_verb(self):
        small = {"model": "llama-3-8b", "gpu": "h100-sxm"}
        flags = ["-m", "llama-3-8b", "-g", "h100-sxm"]
        for words, ask in [
            (["estimate", *flags, "--tp", "1,2", "--isl", "256", "--kv-cache-dtype", "fp8"],
             lambda: orrery.estimate(**small, tp=[1, 2], isl=256, kv_cache_dtype="fp8")),
            (["memory", *flags, "--max-num-seqs", "64"],
             lambda: orrery.memory(**small, max_num_seqs=64)),
            (["simulate", *flags, "--rate", "2", "--requests", "20", "--slo", "ttft:p99:500ms"],
             lambda: orrery.simulate(**small, rate=2, requests=20, slo="ttft:p99:500ms")),
            (["train", *flags, "--gpus", "8-32*2", "--stack", "fsdp"],
             lambda: orrery.train(**small, gpus="8-32*2", stack="fsdp")),
            (["kernel", "gemm", "-g", "h100-sxm,a100-80g-sxm", "-m", "64"],
             lambda: orrery.kernel("gemm", gpu=["h100-sxm", "a100-80g-sxm"], m=64)),
            (["network", "all-to-all", "-g", "h100-sxm", "--gpus", "8", "--bytes", "1M,1G"],
             lambda: orrery.network("all-to-all", gpu="h100-sxm", gpus=8, bytes="1M,1G")),
            (["edge", "mobilenet_v2,resnet50", "-d", "raspberry-pi-5", "--threads", "1,4"],
             lambda: orrery.edge(["mobilenet_v2", "resnet50"], "raspberry-pi-5", threads=[1, 4])),
            (["edge", "llama-3-8b", "-d", "rtx-4090,m4-max-40", "--format", "Q8_0", "--draft",
              "llama-3.2-1b"],
             lambda: orrery.edge("llama-3-8b", device=["rtx-4090", "m4-max-40"], format="Q8_0",
                                 draft="llama-3.2-1b")),
            (["plan", "-m", "llama-3-8b", "-g", "h100-sxm", "--rate", "2", "--slo", "tpot:40ms",
              "--requests", "50"],
             lambda: orrery.plan(**small, rate=2, slo="tpot:40ms", requests=50)),
        ]:
            with self.subTest(words[0]):
                self.assertEqual(command(*words, "-o", "json").stdout, ask().to_json())


if __name__ == "__main__":
    unittest.main()
