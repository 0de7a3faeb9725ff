// What happens when: the pipeline of a training iteration, or the steps of a simulated service. It is asked for when it is
// opened, and then follows the question.
import { useEffect, useState } from "preact/hooks";
import { ApiError, fetchTimeline, type Trace, type TraceEvent } from "./api";
import { axis, Chart, tooltip, type Colours, type Option } from "./chart";
import { duration, number } from "./format";
import { toBody, verbOf, type Question } from "./question";

const kMostBoxes = 6000;

interface Row {
  id: string;
  name: string;
}
interface Box {
  row: number;
  from: number; // ms
  to: number;
  kind: string;
  name: string;
}
interface Drawn {
  rows: Row[];
  kinds: string[];
  boxes: Box[];
  all: number;
  end: number;
  counters: { name: string; points: [number, number][] }[];
}

const rowOf = (e: TraceEvent) => `${e.pid ?? 0}/${e.tid ?? 0}`;
const passes: Record<string, string> = { F: "forward", B: "backward", W: "weight gradients" };
/** The words of a slice's name before its first number. */
const kindOf = (name: string) => {
  const kind = name.replace(/[0-9].*$/, "").trim() || name;
  return passes[kind] ?? kind;
};

export function drawnOf(trace: Trace): Drawn {
  const names = new Map<string, string>();
  for (const e of trace.traceEvents) {
    if (e.ph !== "M") continue;
    if (e.name === "thread_name" || !names.has(rowOf(e))) names.set(rowOf(e), String(e.args?.name ?? ""));
  }
  const slices = trace.traceEvents.filter((e) => e.ph === "X");
  const shown = slices.slice(0, kMostBoxes);
  const rows: Row[] = [...new Set(shown.map(rowOf))]
    .sort((a, b) => a.localeCompare(b, "en", { numeric: true }))
    .map((id) => ({ id, name: names.get(id) ?? id }));
  const place = new Map(rows.map((r, i) => [r.id, i]));
  const kinds = [...new Set(shown.map((e) => kindOf(e.name)))];
  const boxes = shown.map((e) => ({
    row: place.get(rowOf(e))!,
    from: e.ts! / 1e3,
    to: (e.ts! + e.dur!) / 1e3,
    kind: kindOf(e.name),
    name: e.name,
  }));
  const end = boxes.reduce((most, b) => Math.max(most, b.to), 0);
  const counters: Drawn["counters"] = [];
  for (const e of trace.traceEvents) {
    if (e.ph !== "C" || e.name !== "requests" || e.ts! / 1e3 > end) continue;
    for (const what of ["running", "waiting"]) {
      const name = rows.length > 1 ? `${what}, engine ${e.pid}` : what;
      let line = counters.find((c) => c.name === name);
      if (!line) counters.push((line = { name, points: [] }));
      line.points.push([e.ts! / 1e3, Number(e.args?.[what])]);
    }
  }
  return { rows, kinds, boxes, all: slices.length, end, counters };
}

function boxesOption(d: Drawn, zoom: [number, number], c: Colours): Option {
  const left = Math.min(150, 20 + 7 * Math.max(...d.rows.map((r) => r.name.length)));
  return {
    grid: { left, right: 20, top: 8, bottom: 46 },
    dataZoom: [{ type: "inside", start: zoom[0], end: zoom[1], filterMode: "weakFilter" }],
    tooltip: tooltip(c, {
      formatter: (e: { data: { box: Box } }) => {
        const b = e.data.box;
        return `<b>${b.name}</b><br>${d.rows[b.row].name}<br>from ${number(b.from)} ms, ${duration((b.to - b.from) * 1e3)}`;
      },
    }),
    xAxis: { type: "value", min: 0, max: d.end, ...axis(c, "ms") },
    yAxis: { type: "category", inverse: true, data: d.rows.map((r) => r.name), ...axis(c, "", { axisLabel: { color: c.soft, interval: 0 } }) },
    series: [
      {
        type: "custom",
        encode: { x: [1, 2], y: 0 },
        data: d.boxes.map((b) => ({ value: [b.row, b.from, b.to], box: b, itemStyle: { color: c.series[d.kinds.indexOf(b.kind) % c.series.length] } })),
        renderItem: (
          params: { coordSys: { x: number; width: number } },
          api: { value: (i: number) => number; coord: (v: number[]) => number[]; size: (v: number[]) => number[]; visual: (what: string) => string },
        ) => {
          const [from, y] = api.coord([api.value(1), api.value(0)]);
          const [to] = api.coord([api.value(2), api.value(0)]);
          const begin = Math.max(from, params.coordSys.x);
          const end = Math.min(to, params.coordSys.x + params.coordSys.width);
          if (end < begin) return null;
          const height = api.size([0, 1])[1] * 0.72;
          return { type: "rect", shape: { x: begin, y: y - height / 2, width: Math.max(0.5, end - begin), height }, style: { fill: api.visual("color") } };
        },
      },
    ],
  };
}

const linesOption = (d: Drawn, zoom: [number, number], c: Colours): Option => ({
  grid: { left: 60, right: 20, top: 30, bottom: 46 },
  dataZoom: [{ type: "inside", start: zoom[0], end: zoom[1] }],
  legend: { top: 0, left: 0, textStyle: { color: c.ink }, itemHeight: 9 },
  tooltip: tooltip(c, { trigger: "axis" }),
  xAxis: { type: "value", min: 0, max: d.end, ...axis(c, "ms") },
  yAxis: { type: "value", ...axis(c, "requests", { nameGap: 40 }) },
  series: d.counters.map((line, i) => ({
    name: line.name,
    type: "line",
    step: "end",
    showSymbol: false,
    sampling: "lttb",
    itemStyle: { color: c.series[i % c.series.length] },
    data: line.points,
  })),
});

export function Events({ question, index }: { question: Question; index: number }) {
  const [open, setOpen] = useState(false);
  const [drawn, setDrawn] = useState<Drawn | null>(null);
  const [said, setSaid] = useState("");
  const [zoom, setZoom] = useState<[number, number]>([0, 100]);
  const body = toBody(question);
  useEffect(() => {
    if (!open) return undefined;
    const control = new AbortController();
    setSaid("asking");
    fetchTimeline(question.verb, index, body, control.signal)
      .then((trace) => {
        setDrawn(drawnOf(trace));
        setZoom([0, 100]);
        setSaid("");
      })
      .catch((e: unknown) => {
        if (control.signal.aborted) return;
        setDrawn(null);
        setSaid(e instanceof ApiError ? e.message : "the server does not answer");
      });
    return () => control.abort();
  }, [open, question.verb, body, index]);
  const move = (by: number) => {
    const wide = zoom[1] - zoom[0];
    const from = Math.min(100 - wide, Math.max(0, zoom[0] + by * wide));
    setZoom([from, from + wide]);
  };
  const scale = (by: number) => {
    const wide = Math.min(100, (zoom[1] - zoom[0]) * by);
    const from = Math.min(100 - wide, Math.max(0, zoom[0]));
    setZoom([from, from + wide]);
  };
  return (
    <section class="card" data-view="events">
      <div class="head">
        <h2>{verbOf(question.verb).timeline}</h2>
        <div class="choice" role="group" aria-label="timeline">
          <button aria-pressed={open} onClick={() => setOpen(!open)}>
            {open ? "Hide" : "Show"}
          </button>
          {open && drawn && (
            <>
              <button onClick={() => scale(0.5)}>Zoom in</button>
              <button onClick={() => scale(2)} disabled={zoom[1] - zoom[0] >= 100}>
                Zoom out
              </button>
              <button onClick={() => move(-0.5)} disabled={zoom[0] <= 0}>
                Earlier
              </button>
              <button onClick={() => move(0.5)} disabled={zoom[1] >= 100}>
                Later
              </button>
            </>
          )}
        </div>
      </div>
      {open && said && <p class="note" role="status">{said}</p>}
      {open && drawn && (
        <>
          <ul class="legend">
            {drawn.kinds.map((k, i) => (
              <li key={k}>
                <b style={{ background: `var(--s${(i % 8) + 1})` }} />
                {k}
              </li>
            ))}
          </ul>
          <Chart
            label={`${drawn.boxes.length} slices of ${drawn.rows.map((r) => r.name).join(", ")} in ${duration(drawn.end * 1e3)}`}
            height={70 + Math.max(70, 26 * drawn.rows.length)}
            make={(c) => boxesOption(drawn, zoom, c)}
            deps={[drawn, zoom]}
          />
          {drawn.counters.length > 0 && drawn.counters.length <= 8 && (
            <Chart label="running and waiting requests over time" height={190} make={(c) => linesOption(drawn, zoom, c)} deps={[drawn, zoom]} />
          )}
          {drawn.all > drawn.boxes.length && (
            <p class="note">
              The first {number(drawn.boxes.length)} of {number(drawn.all)}; the command line writes all of them.
            </p>
          )}
        </>
      )}
    </section>
  );
}
