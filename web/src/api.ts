// The server's interface: facts once, and questions with progress that can be cancelled.

export interface Key {
  name: string;
  path: string;
  type: "boolean" | "integer" | "number" | "text" | "quantity" | "list" | "map";
  aliases?: string[];
  unit?: string;
  minimum?: number;
  maximum?: number;
  choices?: string[];
  default?: string;
  needs?: string;
  value?: string;
  help: string;
  heading: string;
}
export type Keys = Record<string, Key[]>;

/** A form of a verb: the keys that are shown first, and values to begin with. */
export interface VerbForm {
  title: string;
  when: string; // the values by which a question is of this form: "train=true", "network in models"
  usual: string[];
  values: Record<string, string>;
  marker?: [string, string]; // a path and a value that make a document ask this kind
}
/** A verb of a kind of question, as the server knows it. */
export interface Verb {
  name: string;
  heading: string;
  help: string;
  words: string[]; // keys that may be given without their names; the first is the word after the verb
  forms: VerbForm[];
  figures: string[]; // metrics that are shown first
  across: string[];
  up: string[];
  files: string[]; // keys that take the text of a file
  compared: string;
  steps: boolean;
  waits: boolean;
  alternatives: boolean;
  timeline: string;
}

export interface GpuFacts {
  id: string;
  name: string;
  vendor: string;
  memory_gb: number;
  bandwidth_gb_s: number;
  peaks_tflop_s: Record<string, number>;
}
export interface Facts {
  models: { id: string; aliases: string[] }[];
  gpus: GpuFacts[];
  nodes: string[];
  devices: string[];
  chips: string[];
  networks: string[];
  engines: string[];
  archs: string[];
  workloads: string[];
  recipes: string[];
}

export interface Metric {
  unit: string;
  value: number;
  interval50?: [number, number];
  interval90?: [number, number];
  origin?: string;
}
export interface Kernel {
  phase: string;
  name: string;
  part: string;
  sizes: string;
  calls: number;
  time_us: number;
  interval90_us: [number, number];
  share: number;
  bound: string;
  tier: string;
  of_peak?: number;
  flops?: number;
  bytes?: number;
}
export interface Point {
  [key: string]: unknown;
  fits: boolean;
  reason?: string;
  metrics: Record<string, Metric>;
  memory?: Record<string, number | string>;
  energy?: Record<string, number | string>;
  energy_by_kernel?: Record<string, number | string>;
  kernels?: Kernel[];
  notes?: string[];
  limit?: string;
  meets_slo?: boolean;
}
export interface Answer {
  format: number;
  scenario: string;
  configuration?: Record<string, unknown>;
  points: Point[];
  complete?: boolean;
}
export interface Progress {
  stage: string;
  done: number;
  all: number;
  best?: string;
}

export class ApiError extends Error {
  constructor(
    readonly kind: string,
    message: string,
    readonly key?: string,
  ) {
    super(message);
  }
}

async function fetched<T>(path: string): Promise<T> {
  const reply = await fetch(path);
  if (!reply.ok) throw new ApiError("internal", `${path}: ${reply.status}`);
  return (await reply.json()) as T;
}
export const fetchKeys = () => fetched<Keys>("/api/v1/keys");
export const fetchVerbs = () => fetched<Verb[]>("/api/v1/verbs");
export const fetchFacts = () => fetched<Facts>("/api/v1/facts");

function errorOf(text: string): ApiError {
  try {
    const { error } = JSON.parse(text);
    return new ApiError(error.kind, error.message, error.key);
  } catch {
    return new ApiError("internal", text.slice(0, 200) || "the server has gone");
  }
}

interface Event {
  name: string;
  data: string;
}
function eventOf(block: string): Event {
  let name = "";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event: ")) name = line.slice(7);
    if (line.startsWith("data: ")) data.push(line.slice(6));
  }
  return { name, data: data.join("\n") };
}

/** Asks a question in YAML; ends when it is answered, refused or cancelled by `signal`. `path`: the verb, or one with a view. */
export async function ask(path: string, yaml: string, signal: AbortSignal): Promise<Answer> {
  const headers = { "content-type": "application/yaml" };
  const reply = await fetch(`/api/v1/${path}`, { method: "POST", headers, body: yaml, signal });
  const text = await reply.text();
  if (!reply.ok) throw errorOf(text);
  return JSON.parse(text) as Answer;
}

/** A timeline in Chrome's trace event format. */
export interface TraceEvent {
  ph: string;
  name: string;
  pid?: number;
  tid?: number;
  ts?: number; // microseconds
  dur?: number;
  args?: Record<string, unknown>;
}
export interface Trace {
  traceEvents: TraceEvent[];
}
/** What happens when at one point of a question. */
export async function fetchTimeline(verb: string, index: number, yaml: string, signal: AbortSignal): Promise<Trace> {
  const headers = { "content-type": "application/yaml" };
  const reply = await fetch(`/api/v1/${verb}/timeline/${index}`, { method: "POST", headers, body: yaml, signal });
  const text = await reply.text();
  if (!reply.ok) throw errorOf(text);
  return JSON.parse(text) as Trace;
}

/** The same of a question that may take long, which says how far it is. */
export async function follow(
  verb: string,
  yaml: string,
  signal: AbortSignal,
  progressed: (p: Progress) => void,
): Promise<Answer> {
  const reply = await fetch(`/api/v1/${verb}`, {
    method: "POST",
    headers: { "content-type": "application/yaml", accept: "text/event-stream" },
    body: yaml,
    signal,
  });
  if (!reply.body || !reply.headers.get("content-type")?.startsWith("text/event-stream"))
    throw errorOf(await reply.text());
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new ApiError("internal", "the server ended the answer");
    rest += value;
    for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
      const event = eventOf(rest.slice(0, end));
      rest = rest.slice(end + 2);
      if (event.name === "progress") progressed(JSON.parse(event.data) as Progress);
      if (event.name === "error") throw errorOf(event.data);
      if (event.name === "answer") return JSON.parse(event.data) as Answer;
    }
  }
}
