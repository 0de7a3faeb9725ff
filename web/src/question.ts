// A question as the page holds it: a verb and the text of each key that was given. The whole of it
// is in the address, and is written as a command, as YAML and as Python.
import type { Facts, Key, Keys } from "./api";

export interface Question {
  verb: string;
  values: Record<string, string>;
}

export const verbs = ["estimate", "simulate", "memory", "train", "plan", "network", "kernel", "edge"];
export const titles: Record<string, string> = {
  estimate: "Estimate",
  simulate: "Simulate",
  memory: "Memory",
  train: "Train",
  plan: "Plan",
  network: "Network",
  kernel: "Kernel",
  edge: "Edge",
};
/** Verbs whose answers may take long wait for a press of Run; the others follow each key stroke. */
export const waits = (verb: string) => verb === "simulate" || verb === "plan";

/** Whether a plan is of a training run, and not of a service. */
export const isRun = (q: Question) => q.verb === "plan" && q.values.train === "true";

/** Whether a question about the edge is about an LLM, as far as its name is written. */
export function isLlm(q: Question, facts: Facts): boolean {
  const name = (q.values.network ?? "").split(",")[0].trim();
  if (q.verb !== "edge" || !name || facts.networks.some((n) => n.startsWith(name))) return false;
  return facts.models.some((m) => m.id.startsWith(name) || m.aliases.some((a) => a.startsWith(name)));
}

/** The keys that a form shows first. */
export const usualOf = (q: Question, facts: Facts) => usual[isRun(q) ? "run" : isLlm(q, facts) ? "llm" : q.verb] ?? [];
const usual: Record<string, string[]> = {
  estimate: ["model", "gpu", "tp", "pp", "isl", "osl", "batch", "quantization", "kv-cache-dtype", "engine"],
  memory: ["model", "gpu", "tp", "pp", "isl", "osl", "batch", "max-model-len", "quantization", "kv-cache-dtype"],
  simulate: ["model", "gpu", "tp", "replicas", "rate", "requests", "isl", "osl", "slo-ttft", "slo-tpot", "quantization", "engine"],
  train: ["model", "gpu", "gpus", "tp", "pp", "seq", "micro-batch", "global-batch", "stack", "precision", "recompute", "zero"],
  plan: ["model", "gpu", "rate", "isl", "osl", "slo-ttft", "slo-tpot", "gpus", "engines", "formats", "objective", "requests"],
  run: ["model", "gpu", "tokens", "by", "gpu-counts", "global-batch", "seq", "stack", "formats", "objective", "budget", "confidence"],
  network: ["kind", "bytes", "gpus", "gpu", "node", "algorithm"],
  kernel: ["op", "gpu", "m", "n", "k", "format", "context", "heads", "kv-heads"],
  edge: ["network", "device", "gpu", "threads", "precision", "runtime", "batch"],
  llm: ["network", "device", "format", "prompt", "generate", "depth", "devices", "memory", "backend", "draft"],
};

export const examples: Record<string, Record<string, string>> = {
  estimate: { model: "llama-3-70b", gpu: "h100-sxm", tp: "8", isl: "1024", osl: "128", batch: "1-64*2" },
  memory: { model: "llama-3-70b", gpu: "h100-sxm", tp: "2,4,8" },
  simulate: { model: "llama-3-8b", gpu: "h100-sxm", rate: "2,8,16,24,32", requests: "500", isl: "1024", osl: "128" },
  train: { model: "gpt-3-175b", gpu: "h100-sxm", gpus: "64", tp: "8", pp: "1-8*2", "global-batch": "64" },
  plan: {
    model: "llama-3.1-8b",
    gpu: "h100-sxm,l40s",
    rate: "5",
    isl: "500",
    osl: "100",
    "slo-ttft": "1s",
    "slo-tpot": "40ms",
    objective: "cost",
  },
  run: {
    train: "true",
    model: "llama-3-70b",
    gpu: "h100-sxm",
    tokens: "1T",
    "gpu-counts": "256,512,1024,2048",
    "global-batch": "1024",
    seq: "8192",
    stack: "megatron",
    objective: "pareto",
  },
  network: { kind: "all-reduce", bytes: "1K-1G*4", gpus: "8,64", gpu: "h100-sxm" },
  kernel: { op: "gemm", gpu: "h100-sxm,a100-80g-sxm", m: "1-4096*2", n: "8192", k: "8192" },
  edge: { network: "mobilenet_v2,resnet50", device: "raspberry-pi-5,rk3588,jetson-nano", threads: "1,4" },
  llm: { network: "llama-3.1-8b", device: "m4-max-40,rtx-4090,ryzen-ai-max-395", format: "Q4_K_M,Q8_0", prompt: "1024" },
};

export const start = (verb: string): Question => ({ verb, values: { ...examples[verb] } });

/** The question with another verb: keys that both have stay. */
export function turned(q: Question, verb: string, keys: Keys): Question {
  const type = (of: string, name: string) => keys[of]?.find((k) => k.name === name)?.type;
  const values = { ...examples[verb] };
  for (const name of ["model", "gpu", "tp", "isl", "osl", "quantization", "engine"])
    if (q.values[name] && type(verb, name) && type(verb, name) === type(q.verb, name)) values[name] = q.values[name];
  return { verb, values };
}

/** A plan of a service as one of a run, or the other way round. */
export function planned(q: Question, run: boolean): Question {
  const values = { ...examples[run ? "run" : "plan"] };
  for (const name of ["model", "gpu"]) if (q.values[name]) values[name] = q.values[name];
  return { verb: "plan", values };
}

/** A question about networks at the edge as one about LLMs, or the other way round. */
export const edgeOf = (llm: boolean): Question => ({ verb: "edge", values: { ...examples[llm ? "llm" : "edge"] } });

const entries = (q: Question) => Object.entries(q.values).filter(([, v]) => v.trim() !== "");

// ---- the address ----

function writeOne(q: Question): string {
  const parts = entries(q).map(([k, v]) => `${k}=${encodeURIComponent(v).replace(/%2C/g, ",").replace(/%3A/g, ":")}`);
  return `/${q.verb}?${parts.join("&")}`;
}
function readOne(text: string): Question | null {
  const [path, query = ""] = text.replace(/^\//, "").split("?", 2);
  if (!verbs.includes(path)) return null;
  const values: Record<string, string> = {};
  for (const part of query.split("&")) {
    const at = part.indexOf("=");
    if (at <= 0) continue;
    try {
      values[part.slice(0, at)] = decodeURIComponent(part.slice(at + 1));
    } catch {
      values[part.slice(0, at)] = part.slice(at + 1);
    }
  }
  return { verb: path, values };
}
export const toAddress = (questions: Question[]) => "#" + questions.map(writeOne).join("|");
export function fromAddress(hash: string): Question[] {
  const found = hash.replace(/^#/, "").split("|").slice(0, 2).map(readOne);
  return found.filter((q): q is Question => q !== null);
}

// ---- as text ----

const plain = /^[A-Za-z0-9._/+-][A-Za-z0-9._/+,*()= :-]*$/;
function scalar(text: string): string {
  const value = text.trim();
  const safe = plain.test(value) && !/: |:$|^-\s| #/.test(value);
  return safe ? value : JSON.stringify(value);
}

/** The map of keys that the server takes for a verb. */
export const toBody = (q: Question) =>
  entries(q)
    .map(([k, v]) => `${JSON.stringify(k)}: ${scalar(v)}\n`)
    .join("") || "{}\n";

interface Tree {
  [key: string]: Tree | string;
}
/** The scenario file: keys at their paths. */
export function toYaml(q: Question, keys: Key[]): string {
  const byName = new Map(keys.map((k) => [k.name, k]));
  const tree: Tree = {};
  for (const [name, text] of entries(q)) {
    if (name === "train") continue; // a file with the group training is one of a run
    const path = (byName.get(name)?.path ?? name).split(".");
    let at = tree;
    for (const part of path.slice(0, -1)) at = (at[part] ??= {}) as Tree;
    at[path[path.length - 1]] = scalar(text);
  }
  if (q.verb === "simulate" && !tree.load) tree.load = { seed: "0" };
  if (q.verb === "train" && !tree.training) tree.training = { gpus: "1" };
  const lines: string[] = [];
  const write = (t: Tree, indent: string) => {
    for (const [k, v] of Object.entries(t)) {
      if (typeof v === "string") lines.push(`${indent}${k}: ${v}`);
      else lines.push(`${indent}${k}:`), write(v, indent + "  ");
    }
  };
  write(tree, "");
  return lines.join("\n") + "\n";
}

const shellSafe = /^[A-Za-z0-9._/:=,+@%-]+$/;
const shell = (v: string) => (shellSafe.test(v) ? v : `'${v.replace(/'/g, `'\\''`)}'`);
/** The command; a key that is a word after the verb has no flag. */
export function toCommand(q: Question): string {
  const words: Record<string, string> = { kernel: "op", network: "kind", edge: "network" };
  const word = words[q.verb] ?? "";
  const parts = ["orrery", q.verb];
  if (word && q.values[word]) parts.push(shell(q.values[word]));
  for (const [k, v] of entries(q)) {
    if (k === word) continue;
    if (v === "true") parts.push(`--${k}`);
    else if (v === "false") parts.push(`--no-${k}`);
    else parts.push(k.length === 1 ? `-${k}` : `--${k}`, shell(v.trim()));
  }
  return parts.join(" ");
}

function python(text: string): string {
  const v = text.trim();
  if (/^-?\d+(\.\d+)?$/.test(v)) return v;
  if (v === "true" || v === "false") return v === "true" ? "True" : "False";
  if (/^[^()*"]+(,[^()*"]+)+$/.test(v) && !/:/.test(v)) return `[${v.split(",").map(python).join(", ")}]`;
  return JSON.stringify(v);
}
export function toPython(q: Question): string {
  const named = entries(q).map(([k, v]) => `    ${k.replace(/-/g, "_")}=${python(v)},\n`);
  return `import orrery\n\nanswer = orrery.${q.verb}(\n${named.join("")})\n`;
}
