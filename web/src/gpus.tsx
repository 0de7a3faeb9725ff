// The GPUs or the devices of an answer, the best first: each by its best point.
import { useState } from "preact/hooks";
import type { Facts, Point } from "./api";
import { headline, interval, lowerIsBetter, number, words } from "./format";
import { verbOf } from "./question";

export function Gpus({ verb, points, facts, pick }: { verb: string; points: Point[]; facts: Facts; pick: (i: number) => void }) {
  const [wanted, setWanted] = useState("");
  const key = verbOf(verb).compared || "gpu";
  const ids = [...new Set(points.map((p) => String(p[key] ?? "")))].filter((id) => id);
  if (ids.length < 3) return null;
  const names = [...new Set(points.flatMap((p) => Object.keys(p.metrics)))];
  const metric = names.includes(wanted) ? wanted : (headline(verb, points.find((p) => headline(verb, p).length) ?? points[0])[0] ?? names[0]);
  if (!metric) return null;
  const sign = lowerIsBetter(metric) ? 1 : -1;
  const of = (id: string) => {
    const own = points.map((p, i) => ({ p, i })).filter(({ p }) => p[key] === id && p.fits && p.metrics[metric]);
    own.sort((a, b) => sign * (a.p.metrics[metric].value - b.p.metrics[metric].value));
    return { id, best: own[0], gpu: facts.gpus.find((g) => g.id === id) };
  };
  const rows = ids.map(of).sort((a, b) => {
    if (!a.best || !b.best) return Number(!a.best) - Number(!b.best);
    return sign * (a.best.p.metrics[metric].value - b.best.p.metrics[metric].value);
  });
  const known = 2 * rows.filter((r) => r.gpu).length > rows.length;
  const first = rows[0].best?.p.metrics[metric].value;
  const most = Math.max(...rows.map((r) => r.best?.p.metrics[metric].value ?? 0), 1e-300);
  const unit = rows[0].best?.p.metrics[metric].unit ?? "";
  const peak = (r: (typeof rows)[number]) => r.gpu?.peaks_tflop_s.bf16 ?? r.gpu?.peaks_tflop_s.fp16;
  return (
    <section class="card" data-view="gpus">
      <div class="head">
        <h2>
          {ids.length} {key === "gpu" ? "GPUs" : "devices"}, the best first
        </h2>
        <label class="inline">
          by
          <select value={metric} onChange={(e) => setWanted(e.currentTarget.value)}>
            {names.map((n) => (
              <option key={n} value={n}>
                {words(n)}
              </option>
            ))}
          </select>
        </label>
      </div>
      <div class="wide" tabIndex={0} role="region" aria-label={key === "gpu" ? "GPUs compared" : "devices compared"}>
        <table class="gpus">
          <thead>
            <tr>
              <th>{key === "gpu" ? "GPU" : "device"}</th>
              <th class="n">
                {words(metric)} <small>{unit}</small>
              </th>
              <th class="barhead">beside the others</th>
              <th class="n">of the best</th>
              {known && <th class="n">GB</th>}
              {known && <th class="n">GB/s</th>}
              {known && <th class="n">bf16 TFLOP/s</th>}
            </tr>
          </thead>
          <tbody>
            {rows.map((r) => {
              const m = r.best?.p.metrics[metric];
              return (
                <tr key={r.id} class={m ? "" : "misfit"} title={r.gpu?.name}>
                  <td>
                    {r.best ? (
                      <button class="quiet" onClick={() => pick(r.best.i)}>
                        {r.id}
                      </button>
                    ) : (
                      r.id
                    )}
                  </td>
                  <td class="n" title={m ? `90 %: ${interval(m)}` : ""}>
                    {m ? number(m.value) : "does not fit"}
                  </td>
                  <td>
                    <div class="bar">{m && <span style={{ width: `${(100 * m.value) / most}%`, background: "var(--s1)" }} />}</div>
                  </td>
                  <td class="n">{m && first ? `${number(Number((m.value / first).toPrecision(3)))} x` : ""}</td>
                  {known && <td class="n soft">{r.gpu ? number(Math.round(r.gpu.memory_gb)) : ""}</td>}
                  {known && <td class="n soft">{r.gpu ? number(Math.round(r.gpu.bandwidth_gb_s)) : ""}</td>}
                  {known && <td class="n soft">{peak(r) ? number(Math.round(peak(r)!)) : ""}</td>}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}
