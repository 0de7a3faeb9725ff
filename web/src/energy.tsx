// What the energy of an answer is spent on: by the terms of the law of power, and by kinds of kernels.
import type { Point } from "./api";
import { number, words } from "./format";

type Spent = Record<string, number | string>;

/** The parts of a sum, the largest first; those below a thousandth are one. */
function partsOf(spent: Spent): [string, number][] {
  const whole = Number(spent.total ?? 0);
  const all = Object.entries(spent).filter(
    (e): e is [string, number] => typeof e[1] === "number" && e[0] !== "total" && e[1] > 0,
  );
  const seen = all.filter(([, v]) => v >= 1e-3 * whole).sort((a, b) => b[1] - a[1]);
  const rest = all.reduce((sum, [, v]) => sum + (v < 1e-3 * whole ? v : 0), 0);
  return rest > 0 ? [...seen, ["the rest", rest]] : seen;
}

function Spend({ spent, by }: { spent: Spent; by: string }) {
  const parts = partsOf(spent);
  const whole = parts.reduce((sum, [, v]) => sum + v, 0);
  const unit = String(spent.unit ?? "").replace(/ per .*/, "");
  if (!(whole > 0)) return null;
  const colour = (i: number) => `var(--s${(i % 8) + 1})`;
  const share = (v: number) => `${number(Number(((100 * v) / whole).toPrecision(3)))} %`;
  return (
    <div data-energy={by}>
      <h3>{by}</h3>
      <div class="stack" role="img" aria-label={`${number(whole)} ${spent.unit}: ${parts.map(([k, v]) => `${words(k)} ${share(v)}`).join(", ")}`}>
        {parts.map(([name, v], i) => (
          <span
            key={name}
            style={{ width: `${(100 * v) / whole}%`, background: colour(i) }}
            title={`${words(name)}: ${number(v)} ${spent.unit}, ${share(v)}`}
          />
        ))}
      </div>
      <ul class="legend">
        {parts.map(([name, v], i) => (
          <li key={name} data-part={name}>
            <b style={{ background: colour(i) }} />
            {words(name)} <span>{number(v)} {unit}, {share(v)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

export function Energy({ point }: { point: Point }) {
  const { energy, energy_by_kernel: kinds } = point;
  if (!energy && !kinds) return null;
  const unit = String((energy ?? kinds)?.unit ?? "");
  const whole = Number((energy ?? kinds)?.total ?? 0);
  return (
    <section class="card" data-view="energy">
      <h2>Energy</h2>
      <p class="soft">
        {number(whole)} {unit}, of everything that energy.scope counts
      </p>
      {energy && <Spend spent={energy} by="by what it is spent on" />}
      {kinds && <Spend spent={kinds} by="by kind of kernel" />}
    </section>
  );
}
