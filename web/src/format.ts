// Numbers as people read them.
import type { Metric, Point } from "./api";
import { verbOf } from "./question";

// By the number of digits behind the point. Making a formatter takes longer than using it a hundred times.
const kFormats = [0, 1, 2, 3, 4, 5, 6].map(
  (digits) => new Intl.NumberFormat("en-US", { maximumFractionDigits: digits, minimumFractionDigits: digits > 2 ? 2 : 0 }),
);

export function number(v: number): string {
  if (!Number.isFinite(v)) return String(v);
  const a = Math.abs(v);
  if (a !== 0 && (a >= 1e7 || a < 1e-3)) return v.toExponential(2);
  if (Number.isInteger(v)) return kFormats[0].format(v);
  const digits = Math.min(6, Math.max(0, 3 - Math.floor(Math.log10(a))));
  return kFormats[digits].format(v);
}
/** A number beside an axis. */
export function short(v: number): string {
  const a = Math.abs(v);
  for (const [unit, letter] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e4, "k"]] as const)
    if (a >= unit) return `${Number((v / (letter === "k" ? 1e3 : unit)).toPrecision(4))}${letter}`;
  return String(Number(v.toPrecision(4)));
}
export function interval(m: Metric): string {
  return m.interval90 ? `${number(m.interval90[0])} to ${number(m.interval90[1])}` : "";
}
export function duration(us: number): string {
  if (us >= 1e6) return `${number(us / 1e6)} s`;
  if (us >= 1e3) return `${number(us / 1e3)} ms`;
  return `${number(us)} µs`;
}
export const words = (name: string) => name.replace(/_/g, " ");

/** The values that say where in the sweep a point is: they stand in front of whether it fits. */
export const places = (p: Point): [string, string][] => {
  const all = Object.entries(p);
  return all
    .slice(0, all.findIndex(([k]) => k === "fits"))
    .filter(([, v]) => typeof v !== "object")
    .map(([k, v]) => [k, String(v)]);
};
/** The keys whose values differ between points. */
export function varied(points: Point[]): string[] {
  const keys = new Set(points.flatMap((p) => places(p).map(([k]) => k)));
  return [...keys].filter((k) => new Set(points.map((p) => String(p[k] ?? ""))).size > 1);
}
/** Of keys that vary, those that tell points apart which `first` and the ones before do not. */
export function telling(points: Point[], keys: string[], first: string[] = []): string[] {
  const kept = [...first];
  const distinct = (of: string[]) => new Set(points.map((p) => of.map((k) => String(p[k] ?? "")).join("\n"))).size;
  for (const k of keys) if (!kept.includes(k) && distinct([...kept, k]) > distinct(kept)) kept.push(k);
  return kept.filter((k) => !first.includes(k));
}
export const placeText = (p: Point, keys: string[]) => keys.map((k) => `${words(k)} ${p[k] ?? "-"}`).join(", ");

export const lowerIsBetter = (name: string) => !/throughput|mfu|^rate$|bandwidth|busbw|algbw|efficiency|max_|headroom|chance|attainment|goodput|concurrency/.test(name);

/** The metrics that an answer is first asked for. */
export const headline = (verb: string, p: Point) => {
  const own = verbOf(verb).figures.filter((n) => p.metrics[n]);
  return (own.length ? own : Object.keys(p.metrics)).slice(0, 6);
};
