// What an answer shows: figures, sweeps, kernels, roofline, memory, timeline, plans, notes.
import { useMemo, useState } from "preact/hooks";
import type { Answer, Facts, Kernel, Metric, Point } from "./api";
import { axis, Chart, legendAbove, tooltip, type Colours, type Option } from "./chart";
import { duration, headline, interval, lowerIsBetter, number, places, placeText, telling, varied, words } from "./format";
import { verbOf } from "./question";

const bounds: Record<string, string> = { compute: "--b1", memory: "--b2", network: "--b3", launch: "--b4", host: "--b5" };
export const boundColour = (bound: string) => `var(${bounds[bound] ?? "--b5"})`;

export function Figures({ verb, point, other }: { verb: string; point: Point; other?: Point }) {
  const names = headline(verb, point);
  return (
    <div class="figures">
      {names.map((name) => {
        const m = point.metrics[name];
        const o = other?.metrics[name];
        return (
          <div class="figure" key={name} data-metric={name}>
            <div class="name">{words(name)}</div>
            <div class="value">
              {number(m.value)} <small>{m.unit}</small>
            </div>
            <div class="between">{interval(m) || "exact"}</div>
            {o && o.value !== 0 && <Change from={o.value} to={m.value} />}
          </div>
        );
      })}
    </div>
  );
}

function Change({ from, to }: { from: number; to: number }) {
  const change = 100 * (to / from - 1);
  const text = Math.abs(change) < 0.05 ? "as A" : `${change > 0 ? "+" : "−"}${number(Math.abs(Number(change.toPrecision(3))))} % of A`;
  return <div class="change">{text}</div>;
}

/** All metrics, of two answers side by side where there are two. */
export function Metrics({ point, other }: { point: Point; other?: Point }) {
  const names = [...new Set([...Object.keys(other?.metrics ?? {}), ...Object.keys(point.metrics)])];
  const cell = (m?: Metric) => (m ? number(m.value) : "");
  return (
    <div class="wide" tabIndex={0} role="region" aria-label="all metrics">
      <table>
        <thead>
          <tr>
            <th>metric</th>
            {other && <th class="n">A</th>}
            <th class="n">{other ? "B" : "value"}</th>
            <th>unit</th>
            {other ? <th class="n">B / A</th> : <th>90 % interval</th>}
            {!other && <th>origin</th>}
          </tr>
        </thead>
        <tbody>
          {names.map((name) => {
            const m = point.metrics[name];
            const o = other?.metrics[name];
            return (
              <tr key={name}>
                <td>{words(name)}</td>
                {other && <td class="n">{cell(o)}</td>}
                <td class="n">{cell(m)}</td>
                <td class="soft">{(m ?? o)?.unit}</td>
                {other ? (
                  <td class="n">{m && o && o.value ? number(m.value / o.value) : ""}</td>
                ) : (
                  <td class="soft">{interval(m)}</td>
                )}
                {!other && <td class="soft">{m.origin}</td>}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

// ---- memory ----

export function Memory({ point }: { point: Point }) {
  const memory = point.memory;
  if (!memory) return null;
  const capacity = Number(memory.capacity ?? 0);
  const of = String(memory.unit ?? "").replace(/^GB per /, "") || "GPU";
  const rows = Object.entries(memory).filter(
    (e): e is [string, number] => typeof e[1] === "number" && e[0] !== "capacity" && e[1] > 0,
  );
  const used = rows.reduce((sum, [, v]) => sum + v, 0);
  const whole = Math.max(capacity, used);
  const colour = (i: number) => `var(--s${(i % 8) + 1})`;
  return (
    <section class="card">
      <h2>Memory of a {of}</h2>
      <div
        class={"stack" + (used > capacity * 1.0001 ? " over" : "")}
        role="img"
        aria-label={`${number(used)} of ${number(capacity)} GB: ${rows.map(([k, v]) => `${words(k)} ${number(v)}`).join(", ")}`}
      >
        {rows.map(([name, v], i) => (
          <span key={name} style={{ width: `${(100 * v) / whole}%`, background: colour(i) }} title={`${words(name)}: ${number(v)} GB`} />
        ))}
        {used > capacity && <i style={{ left: `${(100 * capacity) / whole}%` }} title="capacity" />}
      </div>
      <ul class="legend">
        {rows.map(([name, v], i) => (
          <li key={name}>
            <b style={{ background: colour(i) }} />
            {words(name)} <span>{number(v)} GB</span>
          </li>
        ))}
        <li class="soft">
          {number(used)} of {number(capacity)} GB
        </li>
      </ul>
    </section>
  );
}

// ---- kernels ----

export function Kernels({ point }: { point: Point }) {
  const kernels = point.kernels ?? [];
  const phases = [...new Set(kernels.map((k) => k.phase))];
  const [wanted, setPhase] = useState("decode");
  const [all, setAll] = useState(false);
  if (!kernels.length) return null;
  const phase = phases.includes(wanted) ? wanted : phases[phases.length - 1];
  const rows = kernels.filter((k) => k.phase === phase).sort((a, b) => b.time_us - a.time_us);
  const most = Math.max(...rows.map((k) => k.interval90_us?.[1] ?? k.time_us), 1e-9);
  const shown = all ? rows : rows.slice(0, 10);
  return (
    <section class="card" data-view="kernels">
      <div class="head">
        <h2>{phase === "inference" ? "Kernels of the network" : "Kernels of a step"}</h2>
        {phases.length > 1 && (
          <div class="choice" role="group" aria-label="phase">
            {phases.map((p) => (
              <button key={p} aria-pressed={p === phase} onClick={() => setPhase(p)}>
                {p}
              </button>
            ))}
          </div>
        )}
      </div>
      <Timeline kernels={kernels.filter((k) => k.phase === phase)} phase={phase} />
      <ul class="legend bounds">
        {[...new Set(rows.map((k) => k.bound).filter(Boolean))].map((b) => (
          <li key={b}>
            <b style={{ background: boundColour(b) }} />
            {b} bound
          </li>
        ))}
      </ul>
      <div class="wide" tabIndex={0} role="region" aria-label={`kernels of ${phase}`}>
        <table class="bars">
          <thead>
            <tr>
              <th>kernel</th>
              <th class="n">calls</th>
              <th class="n">time</th>
              <th class="n">share</th>
              <th class="barhead">time, with its 90 % interval</th>
              <th class="n">of peak</th>
              <th>tier</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((k) => (
              <tr key={k.name} title={k.sizes}>
                <td>{k.name}</td>
                <td class="n">{number(k.calls)}</td>
                <td class="n">{duration(k.time_us)}</td>
                <td class="n">{(100 * k.share).toFixed(1)} %</td>
                <td>
                  <div class="bar">
                    <span style={{ width: `${(100 * k.time_us) / most}%`, background: boundColour(k.bound) }} />
                    <i
                      style={{
                        left: `${(100 * k.interval90_us[0]) / most}%`,
                        width: `${(100 * (k.interval90_us[1] - k.interval90_us[0])) / most}%`,
                      }}
                    />
                  </div>
                </td>
                <td class="n">{k.of_peak ? `${Math.round(100 * k.of_peak)} %` : ""}</td>
                <td class="soft">{k.tier}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > 10 && (
        <button class="quiet" onClick={() => setAll(!all)}>
          {all ? "Show the ten longest" : `Show all ${rows.length}`}
        </button>
      )}
    </section>
  );
}

/** The kernels of a step, one after the other. */
function Timeline({ kernels, phase }: { kernels: Kernel[]; phase: string }) {
  const whole = kernels.reduce((sum, k) => sum + k.time_us, 0);
  if (!(whole > 0)) return null;
  return (
    <div class="timeline" role="img" aria-label={`${phase === "inference" ? "network" : `${phase} step`} of ${duration(whole)}, kernel by kernel`}>
      <div>
        {kernels.map((k, i) => (
          <span
            key={i}
            style={{ width: `${(100 * k.time_us) / whole}%`, background: boundColour(k.bound) }}
            title={`${k.name}: ${duration(k.time_us)}${k.bound ? `, ${k.bound} bound` : ""}\n${k.sizes}`}
          >
            {k.time_us / whole > 0.09 ? k.name : ""}
          </span>
        ))}
      </div>
      <p>
        <span>0</span>
        <span>{duration(whole)}</span>
      </p>
    </div>
  );
}

// ---- roofline ----

/** Kernels that were asked for one by one, as those of a step. */
function askedKernels(points: Point[], gpu: unknown): Kernel[] {
  return points
    .filter((p) => p.gpu === gpu && p.metrics.rate && p.metrics.bandwidth)
    .map((p) => {
      const us = p.metrics.time.value;
      return {
        phase: "asked",
        name: String(p.sizes ?? ""),
        part: "",
        sizes: "",
        calls: 1,
        time_us: us,
        interval90_us: p.metrics.time.interval90 ?? [us, us],
        share: 0.05,
        bound: String(p.bound ?? ""),
        tier: p.metrics.time.origin ?? "",
        flops: p.metrics.rate.value * us * 1e6,
        bytes: p.metrics.bandwidth.value * us * 1e3,
      };
    });
}

export function Roofline({ point, points, facts }: { point: Point; points: Point[]; facts: Facts }) {
  const gpu = facts.gpus.find((g) => g.id === point.gpu);
  const kernels = point.kernels ?? askedKernels(points, point.gpu);
  const ofStep = !!point.kernels;
  const dots = kernels.filter((k) => k.flops && k.bytes && k.time_us > 0);
  if (!gpu || !dots.length) return null;
  const phases = [...new Set(dots.map((k) => k.phase))];
  const formats = ["fp4", "fp8", "bf16", "fp16"].filter(
    (f, i, all) => gpu.peaks_tflop_s[f] && !all.slice(0, i).some((g) => gpu.peaks_tflop_s[g] === gpu.peaks_tflop_s[f]),
  );
  const peak = Math.max(...Object.values(gpu.peaks_tflop_s));
  const of = (k: Kernel) => ({
    value: [k.flops! / k.bytes!, k.flops! / k.time_us / 1e6],
    kernel: k,
    symbolSize: 6 + 22 * Math.sqrt(k.share),
  });
  const all = dots.map((k) => of(k).value);
  const least = Math.min(...all.map((v) => v[0]), 1);
  const low = 10 ** Math.floor(Math.log10(Math.min(...all.map((v) => v[1]), 1)));
  const high = 10 ** Math.ceil(Math.log10(peak * 1.01));
  const right = 10 ** Math.ceil(Math.log10(Math.max(...all.map((v) => v[0]), (peak * 1e3) / gpu.bandwidth_gb_s) * 1.5));
  const left = 10 ** Math.floor(Math.log10(least));
  const roof = (format: string) => {
    const top = gpu.peaks_tflop_s[format];
    const ridge = (top * 1e3) / gpu.bandwidth_gb_s;
    return [
      [left, (left * gpu.bandwidth_gb_s) / 1e3],
      [ridge, top],
      [right, top],
    ];
  };
  const make = (c: Colours, width: number): Option => {
    const { legend, top } = legendAbove(c, [...phases, ...formats], width);
    return {
      grid: { left: 64, right: 20, top, bottom: 46 },
      legend,
      tooltip: tooltip(c, {
        formatter: (p: { data: { kernel?: Kernel; value: number[] }; seriesName: string }) => {
          const k = p.data.kernel;
          if (!k) return "";
          const safe = (t: string) => t.replace(/[<&]/g, (x) => (x === "<" ? "&lt;" : "&amp;"));
          return (
            `<b>${safe(k.name)}</b> (${safe(k.phase)})<br>${safe(k.sizes)}<br>` +
            `${number(p.data.value[0])} FLOPs per byte, ${number(p.data.value[1])} TFLOP/s<br>` +
            `${duration(k.time_us)}, ${ofStep ? `${(100 * k.share).toFixed(1)} % of the step, ` : ""}${safe(k.bound)} bound`
          );
        },
      }),
      xAxis: { type: "log", min: left, max: right, ...axis(c, "FLOPs per byte") },
      yAxis: { type: "log", min: low, max: high, ...axis(c, "TFLOP/s", { nameGap: 44 }) },
      series: [
        ...phases.map((phase, i) => ({
          name: phase,
          type: "scatter",
          itemStyle: { color: c.series[i], opacity: 0.8 },
          data: dots.filter((k) => k.phase === phase).map(of),
        })),
        ...formats.map((f, i) => ({
          name: f,
          type: "line",
          showSymbol: false,
          silent: true,
          lineStyle: { color: c.soft, width: 1.5, type: ["solid", "dashed", "dotted", [8, 3, 2, 3]][i % 4] },
          itemStyle: { color: c.soft },
          data: roof(f),
        })),
      ],
    };
  };
  return (
    <section class="card" data-view="roofline">
      <h2>Roofline of {gpu.name}</h2>
      <Chart label={`roofline with ${dots.length} kernels`} height={340} make={make} deps={[point, points]} />
      {ofStep && <p class="note">A dot is one kind of kernel, as large as its share of the step; the time includes launches and waits.</p>}
    </section>
  );
}

// ---- sweeps ----

const xText = (p: Point, key: string) => String(p[key] ?? "");

/** A metric over a swept key, a line with its 90 % band for each combination of the others. */
export function Sweep({ verb, points, picked, pick }: { verb: string; points: Point[]; picked: number; pick: (i: number) => void }) {
  const keys = useMemo(() => varied(points), [points]);
  const names = useMemo(() => [...new Set(points.flatMap((p) => Object.keys(p.metrics)))], [points]);
  const usualName = headline(verb, points.find((p) => Object.keys(p.metrics).length) ?? points[0])[0] ?? names[0];
  const [name, setName] = useState("");
  const [over, setOver] = useState("");
  const metric = names.includes(name) ? name : usualName;
  const numeric = (k: string) => points.every((p) => typeof p[k] === "number");
  const lengths = (k: string) => new Set(points.map((p) => xText(p, k))).size;
  const worth = (k: string) => Number(numeric(k)) * 1e6 + lengths(k) - Number(k === "gpus") / 2;
  const preferred = [...keys].sort((a, b) => worth(b) - worth(a))[0];
  const key = keys.includes(over) ? over : preferred;
  if (!key || !metric) return null;
  const rest = telling(points, keys, [key]);
  const groups = new Map<string, number[]>();
  points.forEach((p, i) => {
    if (!p.metrics[metric]) return;
    const label = rest.length ? placeText(p, rest) : words(metric);
    groups.set(label, [...(groups.get(label) ?? []), i]);
  });
  const unit = points.find((p) => p.metrics[metric])?.metrics[metric].unit ?? "";
  const wide = numeric(key);
  const values = points.map((p) => p.metrics[metric]).filter(Boolean);
  const logY = Math.min(...values.map((m) => m.value)) > 0 && Math.max(...values.map((m) => m.value)) / Math.min(...values.map((m) => m.value)) > 30;
  const xs = [...new Set(points.map((p) => Number(p[key])))];
  const logX = wide && Math.min(...xs) > 0 && Math.max(...xs) / Math.min(...xs) > 30;
  const categories = [...new Set(points.map((p) => xText(p, key)))];
  const make = (c: Colours, width: number): Option => {
    const series: Option[] = [];
    const { legend, top } = legendAbove(c, [...groups.keys()], width);
    [...groups].forEach(([label, of], g) => {
      const colour = c.series[g % c.series.length];
      const data = of.map((i) => {
        const m = points[i].metrics[metric];
        const x = wide ? Number(points[i][key]) : xText(points[i], key);
        return { value: [x, m.value, ...(m.interval90 ?? [m.value, m.value])], index: i };
      });
      if (wide) data.sort((a, b) => Number(a.value[0]) - Number(b.value[0]));
      series.push({
        name: label,
        type: wide ? "line" : "bar",
        data,
        symbolSize: 7,
        itemStyle: { color: colour },
        barMaxWidth: 26,
        encode: { x: 0, y: 1 },
      });
      series.push({
        name: label,
        type: "custom",
        silent: true,
        z: wide ? 1 : 5,
        encode: { x: 0, y: [2, 3] },
        data: data.map((d) => d.value),
        renderItem: (params: { dataIndex: number }, api: { coord: (v: unknown[]) => number[] }) => {
          const at = data[params.dataIndex].value;
          if (wide) {
            const next = data[params.dataIndex + 1]?.value;
            if (!next) return null;
            const shape = [api.coord([at[0], at[2]]), api.coord([next[0], next[2]]), api.coord([next[0], next[3]]), api.coord([at[0], at[3]])];
            return { type: "polygon", shape: { points: shape }, style: { fill: colour, opacity: 0.16 } };
          }
          const [low, high] = [api.coord([at[0], at[2]]), api.coord([at[0], at[3]])];
          return {
            type: "line",
            shape: { x1: low[0], y1: low[1], x2: high[0], y2: high[1] },
            style: { stroke: c.ink, lineWidth: 1.2 },
          };
        },
      });
    });
    const manyGroups = groups.size > 1;
    return {
      grid: { left: 70, right: 20, top: manyGroups ? top : 14, bottom: wide ? 46 : 84 },
      legend: manyGroups ? legend : undefined,
      tooltip: tooltip(c, {
        trigger: "item",
        formatter: (p: { data: { index?: number } }) => {
          const i = p.data?.index;
          if (i === undefined) return "";
          const m = points[i].metrics[metric];
          return `${placeText(points[i], [key, ...rest])}<br><b>${words(metric)} ${number(m.value)} ${m.unit}</b><br>90 %: ${interval(m)}`;
        },
      }),
      xAxis: wide
        ? { type: logX ? "log" : "value", scale: true, ...axis(c, words(key)) }
        : { type: "category", data: categories, ...axis(c, "", { axisLabel: { color: c.soft, rotate: categories.length > 6 ? 40 : 0, interval: 0 } }) },
      yAxis: { type: logY ? "log" : "value", scale: wide, ...axis(c, `${words(metric)} ${unit}`, { nameGap: 52 }) },
      series,
    };
  };
  return (
    <section class="card" data-view="sweep">
      <div class="head">
        <h2>{points.length} points</h2>
        <label class="inline">
          show
          <select value={metric} onChange={(e) => setName(e.currentTarget.value)}>
            {names.map((n) => (
              <option key={n} value={n}>
                {words(n)}
              </option>
            ))}
          </select>
        </label>
        {keys.length > 1 && (
          <label class="inline">
            over
            <select value={key} onChange={(e) => setOver(e.currentTarget.value)}>
              {keys.map((k) => (
                <option key={k} value={k}>
                  {words(k)}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      <Chart
        label={`${words(metric)} over ${words(key)}, ${points.length} points`}
        make={make}
        deps={[points, metric, key]}
        picked={(d) => {
          const i = (d as { index?: number } | undefined)?.index;
          if (i !== undefined) pick(i);
        }}
      />
      <Points points={points} keys={keys} verb={verb} picked={picked} pick={pick} />
    </section>
  );
}

function Points({ points, keys, verb, picked, pick }: { points: Point[]; keys: string[]; verb: string; picked: number; pick: (i: number) => void }) {
  const shown = headline(verb, points.find((p) => headline(verb, p).length) ?? points[0]).slice(0, 5);
  const unit = (n: string) => points.find((p) => p.metrics[n])?.metrics[n].unit ?? "";
  return (
    <div class="wide points" tabIndex={0} role="region" aria-label="points">
      <table>
        <thead>
          <tr>
            {keys.map((k) => (
              <th key={k}>{words(k)}</th>
            ))}
            {shown.map((n) => (
              <th class="n" key={n}>
                {words(n)} <small>{unit(n)}</small>
              </th>
            ))}
            <th>
              <span class="hidden">show</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {points.map((p, i) => (
            <tr key={i} class={(i === picked ? "picked " : "") + (p.fits ? "" : "misfit")} onClick={() => pick(i)}>
              {keys.map((k) => (
                <td key={k}>{String(p[k] ?? "")}</td>
              ))}
              {p.fits || Object.keys(p.metrics).length ? (
                shown.map((n) => (
                  <td class="n" key={n}>
                    {p.metrics[n] ? number(p.metrics[n].value) : ""}
                  </td>
                ))
              ) : (
                <td colSpan={shown.length} title={p.reason}>
                  does not fit
                </td>
              )}
              <td class="n">
                <button class="quiet" aria-pressed={i === picked} onClick={() => pick(i)}>
                  {i === picked ? "shown" : "show"}
                  <span class="hidden"> point {i + 1}</span>
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

// ---- load curves ----

/** Latency percentiles over the request rate. */
export function Load({ points }: { points: Point[] }) {
  const rated = points.filter((p) => typeof p.rate === "number" && p.metrics.ttft_p99).sort((a, b) => Number(a.rate) - Number(b.rate));
  if (new Set(rated.map((p) => p.rate)).size < 2 || varied(rated).some((k) => k !== "rate")) return null;
  const panel = (what: string) => (c: Colours): Option => {
    const line = (name: string, i: number) => ({
      name: name.slice(what.length + 1) || "mean",
      type: "line",
      symbolSize: 6,
      itemStyle: { color: c.series[i] },
      lineStyle: { type: name === what ? "dashed" : "solid" },
      data: rated.map((p) => [Number(p.rate), p.metrics[name]?.value]),
    });
    const p99 = rated.map((p) => p.metrics[`${what}_p99`]);
    return {
      grid: { left: 60, right: 16, top: 34, bottom: 46 },
      legend: { top: 0, left: 0, textStyle: { color: c.ink }, itemHeight: 9 },
      tooltip: tooltip(c, { trigger: "axis", valueFormatter: (v: number) => `${number(v)} ms` }),
      xAxis: { type: "value", scale: true, ...axis(c, "requests per second") },
      yAxis: { type: "log", ...axis(c, `${what.toUpperCase()} ms`, { nameGap: 44 }) },
      series: [
        line(what, 4),
        line(`${what}_p50`, 0),
        line(`${what}_p90`, 2),
        line(`${what}_p99`, 1),
        {
          name: "p99",
          type: "custom",
          silent: true,
          z: 1,
          tooltip: { show: false },
          data: p99.map((m, i) => [Number(rated[i].rate), m.interval90?.[0] ?? m.value, m.interval90?.[1] ?? m.value]),
          encode: { x: 0, y: [1, 2] },
          renderItem: (params: { dataIndex: number }, api: { coord: (v: unknown[]) => number[] }) => {
            const i = params.dataIndex;
            if (i + 1 >= p99.length) return null;
            const at = (k: number, end: 0 | 1) => api.coord([Number(rated[k].rate), p99[k].interval90?.[end] ?? p99[k].value]);
            return {
              type: "polygon",
              shape: { points: [at(i, 0), at(i + 1, 0), at(i + 1, 1), at(i, 1)] },
              style: { fill: c.series[1], opacity: 0.16 },
            };
          },
        },
      ],
    };
  };
  return (
    <section class="card" data-view="load">
      <h2>Latency under load</h2>
      <div class="pair">
        <Chart label="time to first token over the rate" make={panel("ttft")} deps={[points]} height={280} />
        <Chart label="time per output token over the rate" make={panel("tpot")} deps={[points]} height={280} />
      </div>
      <p class="note">The band is the 90 % interval of the 99th percentile.</p>
    </section>
  );
}

// ---- plans and fronts ----

/** Two metrics of each point, and those that no other point beats in both. */
export function Front({ verb, points, picked, pick }: { verb: string; points: Point[]; picked: number; pick: (i: number) => void }) {
  const names = useMemo(() => {
    const has = new Set(points.flatMap((p) => Object.keys(p.metrics)));
    const offered = [
      "cost_per_hour", "cost_per_million_output_tokens", "cost", "time_to_train", "ttft", "ttft_p99", "tpot", "tpot_p99",
      "e2e_p99", "prefill_throughput", "output_throughput", "throughput_per_gpu", "iteration_time", "mfu", "memory", "power", "energy_per_token",
      "request_throughput", "headroom",
    ];
    return offered.filter((n) => has.has(n));
  }, [points]);
  const [xName, setX] = useState("");
  const [yName, setY] = useState("");
  const find = (wanted: string[]) => wanted.find((n) => names.includes(n)) ?? names[0];
  const { across, up, alternatives } = verbOf(verb);
  const x = names.includes(xName) ? xName : find(across);
  const y = names.includes(yName) ? yName : find(up);
  const fit = points.map((p, i) => ({ p, i })).filter(({ p }) => p.fits && p.metrics[x] && p.metrics[y]);
  if (names.length < 2 || fit.length < (alternatives ? 2 : 3) || x === y) return null;
  const keys = alternatives ? varied(points) : telling(points, varied(points).filter((k) => k !== "gpus"));
  const better = (name: string, a: Point, b: Point) => {
    const d = a.metrics[name].value - b.metrics[name].value;
    return lowerIsBetter(name) ? d < 0 : d > 0;
  };
  const beater = (p: Point) => fit.find(({ p: q }) => (better(x, q, p) && !better(y, p, q)) || (better(y, q, p) && !better(x, p, q)))?.p;
  const front = fit
    .filter(({ p }) => !beater(p))
    .sort((a, b) => a.p.metrics[x].value - b.p.metrics[x].value);
  const unit = (n: string) => fit[0].p.metrics[n].unit;
  const make = (c: Colours): Option => ({
    grid: { left: 70, right: 24, top: 16, bottom: 46 },
    tooltip: tooltip(c, {
      formatter: (e: { data: { index?: number } }) => {
        const i = e.data?.index;
        if (i === undefined) return "";
        const p = points[i];
        const beaten = beater(p);
        const why = alternatives ? (p.notes ?? []).slice(0, 2).join("<br>") : (p.limit ?? "");
        const safe = (t: string) => t.replace(/[<&]/g, (s) => (s === "<" ? "&lt;" : "&amp;"));
        return (
          `<b>${safe(placeText(p, keys))}</b><br>${words(x)} ${number(p.metrics[x].value)} ${unit(x)}<br>` +
          `${words(y)} ${number(p.metrics[y].value)} ${unit(y)}` +
          (beaten ? `<br>beaten by ${safe(placeText(beaten, keys))}` : "<br>beaten by none in both") +
          (why ? `<div style="max-width:32em;white-space:normal">${safe(why).replace(/&lt;br>/g, "<br>")}</div>` : "")
        );
      },
    }),
    xAxis: { type: "value", scale: true, ...axis(c, `${words(x)} ${unit(x)}`) },
    yAxis: { type: "value", scale: true, ...axis(c, `${words(y)} ${unit(y)}`, { nameGap: 52 }) },
    series: [
      {
        type: "line",
        silent: true,
        showSymbol: false,
        step: false,
        lineStyle: { color: c.series[1], width: 1.5, type: "dashed" },
        data: front.map(({ p }) => [p.metrics[x].value, p.metrics[y].value]),
      },
      {
        type: "scatter",
        symbolSize: (v: unknown, e: { data: { index: number } }) => (e.data.index === picked ? 15 : 10),
        data: fit.map(({ p, i }) => ({
          value: [p.metrics[x].value, p.metrics[y].value],
          index: i,
          itemStyle: { color: front.some((f) => f.i === i) ? c.series[1] : c.series[0], borderColor: c.ink, borderWidth: i === picked ? 2 : 0 },
        })),
      },
    ],
  });
  const select = (value: string, set: (v: string) => void) => (
    <select value={value} onChange={(e) => set(e.currentTarget.value)}>
      {names.map((n) => (
        <option key={n} value={n}>
          {words(n)}
        </option>
      ))}
    </select>
  );
  return (
    <section class="card" data-view="front">
      <div class="head">
        <h2>Trade-offs</h2>
        <label class="inline">across {select(x, setX)}</label>
        <label class="inline">up {select(y, setY)}</label>
      </div>
      <Chart
        label={`${words(y)} against ${words(x)}: ${front.length} of ${fit.length} points are beaten by none in both`}
        make={make}
        deps={[points, x, y, picked]}
        picked={(d) => {
          const i = (d as { index?: number } | undefined)?.index;
          if (i !== undefined) pick(i);
        }}
      />
      <p class="note">
        {front.length} of {fit.length} points are beaten by none in both.
      </p>
    </section>
  );
}

export function Plans({ points, picked, pick }: { points: Point[]; picked: number; pick: (i: number) => void }) {
  return (
    <section class="card" data-view="plans">
      <h2>{points.length === 1 ? "The plan" : `${points.length} plans, the best first`}</h2>
      <ol class="plans">
        {points.map((p, i) => (
          <li key={i} class={i === picked ? "picked" : ""}>
            <button aria-pressed={i === picked} onClick={() => pick(i)}>
              <b>{places(p).filter(([k]) => !["model", "rate", "gpus"].includes(k)).map(([k, v]) => `${words(k)} ${v}`).join(", ")}</b>
              <span>
                {headline("plan", p)
                  .slice(0, 5)
                  .map((n) => `${words(n)} ${number(p.metrics[n].value)} ${p.metrics[n].unit}`)
                  .join("; ")}
              </span>
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}

export function Notes({ point, answer }: { point: Point; answer: Answer }) {
  return (
    <section class="card">
      {(point.notes?.length ?? 0) > 0 && (
        <>
          <h2>Why, and what was assumed</h2>
          <ul class="notes">
            {point.notes!.map((n) => (
              <li key={n}>{n}</li>
            ))}
          </ul>
        </>
      )}
      {answer.configuration && (
        <details>
          <summary>The whole configuration</summary>
          <pre tabIndex={0}>{JSON.stringify(answer.configuration, null, 1)}</pre>
        </details>
      )}
    </section>
  );
}
