// A question as the page holds it: a verb and the text of each key that was given. The whole of it
// is in the address, and is written as a command, as YAML and as Python.
import type { Facts, Key, Keys, Verb, VerbForm } from "./api";

export interface Question {
  verb: string;
  values: Record<string, string>;
}

/** The verbs of the server, set once before anything is shown. */
export let verbs: Verb[] = [];
export const learn = (all: Verb[]) => (verbs = all);

const none: Verb = {
  name: "", heading: "", help: "", words: [], forms: [], figures: [], across: [], up: [], files: [], compared: "",
  steps: false, waits: false, alternatives: false, timeline: "",
};
const bare: VerbForm = { title: "", when: "", usual: [], values: {} };
export const verbOf = (name: string): Verb => verbs.find((v) => v.name === name) ?? none;
export const titleOf = (name: string) => name.charAt(0).toUpperCase() + name.slice(1);
/** Verbs whose answers may take long wait for a press of Run; the others follow each key stroke. */
export const waits = (verb: string) => verbOf(verb).waits;

/** Whether a question is of a form other than the first, as far as it is written. */
function isOf(q: Question, form: VerbForm, facts: Facts): boolean {
  const [key, list] = form.when.split(" in ");
  if (list === undefined) {
    const [name, value] = form.when.split("=");
    return !!form.when && q.values[name] === value;
  }
  const word = (q.values[key] ?? "").split(",")[0].trim();
  const own = (facts as unknown as Record<string, unknown>)[key + "s"];
  if (!word || (Array.isArray(own) && own.some((n) => String(n).startsWith(word)))) return false;
  const named = (facts as unknown as Record<string, { id: string; aliases?: string[] }[]>)[list] ?? [];
  return named.some((m) => m.id.startsWith(word) || m.aliases?.some((a) => a.startsWith(word)));
}
/** The form that a question has. */
export function formOf(q: Question, facts: Facts): VerbForm {
  const { forms } = verbOf(q.verb);
  return forms.find((f) => isOf(q, f, facts)) ?? forms[0] ?? bare;
}

export const begun = (verb: string, form: VerbForm): Question => ({ verb, values: { ...form.values } });
export const start = (verb: string): Question => begun(verb, verbOf(verb).forms[0] ?? bare);

/** The question with another verb: keys that both have stay. */
export function turned(q: Question, verb: string, keys: Keys): Question {
  const type = (of: string, name: string) => keys[of]?.find((k) => k.name === name)?.type;
  const values = { ...start(verb).values };
  for (const name of ["model", "gpu", "tp", "isl", "osl", "quantization", "engine"])
    if (q.values[name] && type(verb, name) && type(verb, name) === type(q.verb, name)) values[name] = q.values[name];
  return { verb, values };
}

/** The question in another form of its verb: model and GPU stay where both have them. */
export function reformed(q: Question, form: VerbForm): Question {
  const next = begun(q.verb, form);
  for (const name of ["model", "gpu"]) if (q.values[name] && name in form.values) next.values[name] = q.values[name];
  return next;
}

const entries = (q: Question) => Object.entries(q.values).filter(([, v]) => v.trim() !== "");

// ---- the address ----

function writeOne(q: Question): string {
  const parts = entries(q).map(([k, v]) => `${k}=${encodeURIComponent(v).replace(/%2C/g, ",").replace(/%3A/g, ":")}`);
  return `/${q.verb}?${parts.join("&")}`;
}
function readOne(text: string): Question | null {
  const [path, query = ""] = text.replace(/^\//, "").split("?", 2);
  if (!verbs.some((v) => v.name === path)) return null;
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
export function toYaml(q: Question, keys: Key[], facts: Facts): string {
  const byName = new Map(keys.map((k) => [k.name, k]));
  const tree: Tree = {};
  for (const [name, text] of entries(q)) {
    const key = byName.get(name);
    if (!key && /^(true|false)$/.test(text)) continue; // a switch of the verb, which a file has no key for
    const path = (key?.path ?? name).split(".");
    let at = tree;
    for (const part of path.slice(0, -1)) at = (at[part] ??= {}) as Tree;
    at[path[path.length - 1]] = scalar(text);
  }
  const [marked, value] = formOf(q, facts).marker ?? [];
  const [group, leaf] = marked?.split(".") ?? [];
  if (group && value && !tree[group]) tree[group] = { [leaf]: value };
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
  const word = verbOf(q.verb).words[0] ?? "";
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
